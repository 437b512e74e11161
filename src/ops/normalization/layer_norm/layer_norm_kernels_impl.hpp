// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/launch.hpp"
#include "core/lanes/host_caches.hpp"
#include "ops/normalization/layer_norm/layer_norm_along.hpp"
#include "ops/normalization/layer_norm/layer_norm_columns.hpp"
#include "ops/normalization/layer_norm/layer_norm_host.hpp"
#include "ops/normalization/layer_norm/layer_norm_kernels.hpp"
#include "ops/normalization/norm_finish.hpp"

namespace portops::impl {

template <class T>
bool writes_much(const ReducePlan& plan) {
  return exceeds_host_caches(plan.kept * plan.columns * static_cast<std::int64_t>(sizeof(T)));
}

template <Backend B, class T>
void LayerNormKernels<B, T>::layer_norm(const Context& ctx, const NormLabels& labels, const LayerNormTensors& tensors,
                                        const LayerNormPlan& plan) {
  if constexpr (B == Backend::cuda) {
    const auto launch = [&]<KeptRow kept>() {
      using Kernel = LayerNormAlong<B, T, kept>;
      const Kernel kernel(tensors, plan, multiprocessors(ctx) * Kernel::blocks);
      launch_all_teams<B, Kernel::most_threads>(ctx, labels.rows, kernel, kernel.teams(), kernel.threads(),
                                                kernel.scratch_bytes());
    };
    switch (plan.kept) {
      case KeptRow::none: return launch.template operator()<KeptRow::none>();
      case KeptRow::packs: return launch.template operator()<KeptRow::packs>();
      case KeptRow::few: return launch.template operator()<KeptRow::few>();
    }
  } else {
    launch_by_items<B>(ctx, labels.rows, LayerNormHost<T>(tensors, plan, writes_much<T>(plan.rows)));
  }
}

/// Writes the sums of a column.
template <class T>
struct WriteColumn {
  using A = Arithmetic<T>;

  using Target = std::int64_t;  ///< the column
  KOKKOS_FUNCTION Target at(std::int64_t column) const { return column; }

  KOKKOS_FUNCTION void operator()(Target column, const GradientSums<double>& state) const {
    if (scale_grad.given) scale_grad.set(column * scale_grad.operand.column_stride, static_cast<A>(state.product));
    if (bias_grad.given) bias_grad.set(column * bias_grad.operand.column_stride, static_cast<A>(state.sum));
  }

  Side<T> scale_grad, bias_grad;
};

template <Backend B, class T>
void LayerNormKernels<B, T>::layer_norm_grad(const Context& ctx, const NormLabels& labels,
                                             const LayerNormTensors& tensors, const LayerNormPlan& plan, void* memory) {
  using A = Arithmetic<T>;
  auto* const sums = static_cast<GradientSums<A>*>(tensors.scale_grad || tensors.bias_grad ? memory : nullptr);
  if constexpr (B == Backend::cuda) {
    const auto launch = [&]<bool adds_up>() {
      using Kernel = LayerNormGradAlong<B, T, adds_up>;
      const Kernel kernel(tensors, plan, sums);
      launch_all_teams<B, Kernel::most_threads>(ctx, labels.rows, kernel, kernel.teams(), kernel.threads(),
                                                kernel.scratch_bytes());
    };
    if (!plan.sums_apart) {
      launch.template operator()<true>();
    } else {
      // Before out_grad may become x_grad.
      if (sums != nullptr) launch_by_teams<B>(ctx, labels.down, LayerNormGradColumns<B, T>(tensors, plan, sums));
      if (tensors.x_grad) launch.template operator()<false>();
    }
  } else {
    launch_by_items<B>(ctx, labels.rows, LayerNormGradHost<T>(tensors, plan, sums, writes_much<T>(plan.rows)));
  }
  if (sums == nullptr) return;
  const WriteColumn<T> finish{Side<T>(plan.rows, row_scale_grad, tensors.scale_grad, A(0)),
                              Side<T>(plan.rows, row_bias_grad, tensors.bias_grad, A(0))};
  join_states<B, JoinGradientSums<double>>(ctx, labels, sums, plan.rows.columns, plan.parts(), 1, finish);
}

}  // namespace portops::impl
