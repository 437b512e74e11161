// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map.hpp"
#include "ops/lerp/lerp_kernels.hpp"

#include <array>

namespace portops::impl {

// Every product that joins a sum is an explicit fma: compilers are told not to contract, so that the bits are the same
// on all backends.

struct Lerp {
  static constexpr int inputs = 3;
  static constexpr int outputs = 1;
  static constexpr bool sums = false;
  /// x alone, with y, with weight.
  static constexpr std::array inputs_in_packs{InputSet{0}, InputSet{0, 1}, InputSet{0, 2}};

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    const auto& [x, y, weight] = in;
    out[0] = Kokkos::fma(weight, y - x, x);
  }
};

struct LerpGradXY {
  static constexpr int inputs = 2;
  static constexpr int outputs = 2;
  static constexpr bool sums = true;

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    const auto& [weight, out_grad] = in;
    out[0] = Kokkos::fma(-weight, out_grad, out_grad);
    out[1] = weight * out_grad;
  }
};

struct LerpGradXYW {
  static constexpr int inputs = 4;
  static constexpr int outputs = 3;
  static constexpr bool sums = true;
  /// x and out_grad alone, with y, with weight, with both.
  static constexpr std::array inputs_in_packs{InputSet{0, 3}, InputSet{0, 1, 3}, InputSet{0, 2, 3},
                                              InputSet{0, 1, 2, 3}};

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    const auto& [x, y, weight, out_grad] = in;
    out[0] = Kokkos::fma(-weight, out_grad, out_grad);
    out[1] = weight * out_grad;
    out[2] = out_grad * (y - x);
  }
};

template <Backend B, class T>
void LerpKernels<B, T>::lerp(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("lerp");
  map<B, T>(ctx, labels, Lerp{}, loop);
}

template <Backend B, class T>
void LerpKernels<B, T>::lerp_grad_xy(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("lerp_grad");
  map<B, T>(ctx, labels, LerpGradXY{}, loop);
}

template <Backend B, class T>
void LerpKernels<B, T>::lerp_grad_xyw(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("lerp_grad");
  map<B, T>(ctx, labels, LerpGradXYW{}, loop);
}

}  // namespace portops::impl
