// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "nn/scale_kernels.hpp"

namespace portops::impl {

template <class T>
struct SetNumber {
  T* out;
  T number;

  KOKKOS_FUNCTION void operator()(std::int64_t) const { *out = number; }
};

template <class T>
struct SpreadScale {
  const float* scale;
  T* out;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const { out[i] = static_cast<T>(*scale); }
};

struct FollowScale {
  ScaleUpdate its;

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    std::int64_t bad = 0;
    for (int list = 0; list < its.lists; ++list) bad += its.counts[list];
    *its.skip = bad;
    const float scale = *its.scale;
    *its.grad_scale = scale;
    if (bad != 0) {
      // Smaller ones are lost in f16, and gradients that are Inf or NaN with this one always are.
      const float least = 0x1p-24F, next = scale * its.backoff_factor;
      *its.scale = next > least ? next : least;
      *its.good_steps = 0;
    } else if (++*its.good_steps >= its.growth_interval) {
      const float next = scale * its.growth_factor;
      *its.scale = next < its.largest ? next : its.largest;
      *its.good_steps = 0;
    }
  }
};

// One number each: nothing that is worth packs.
template <Backend B, class T>
void ScaleKernels<B, T>::set(const Context& ctx, SumOf<T>* out, SumOf<T> number) {
  static const std::string label = "portops::nn::Optimizer[learning_rate]";
  launch_items<B, 0>(ctx, label, SetNumber<SumOf<T>>{out, number}, 1);
}

template <Backend B, class T>
void ScaleKernels<B, T>::spread(const Context& ctx, const float* scale, T* out, std::int64_t count) {
  static const std::string label = "portops::nn::LossScale[loss_grad]";
  launch_items<B, 0>(ctx, label, SpreadScale<T>{scale, out}, count);
}

template <Backend B, class T>
void ScaleKernels<B, T>::follow(const Context& ctx, const ScaleUpdate& update) {
  static const std::string label = "portops::nn::LossScale[follow]";
  launch_items<B, 0>(ctx, label, FollowScale{update}, 1);
}

}  // namespace portops::impl
