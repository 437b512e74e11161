// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "core/exec/launch.hpp"
#include "core/lanes/host_caches.hpp"
#include "ops/normalization/layer_norm/layer_norm_along.hpp"
#include "ops/normalization/layer_norm/layer_norm_columns.hpp"
#include "ops/normalization/layer_norm/layer_norm_grad_means.hpp"
#include "ops/normalization/layer_norm/layer_norm_grad_rows.hpp"
#include "ops/normalization/layer_norm/layer_norm_host.hpp"
#include "ops/normalization/layer_norm/layer_norm_kernels.hpp"
#include "ops/normalization/layer_norm/layer_norm_rows.hpp"
#include "ops/normalization/norm_finish.hpp"

#include <algorithm>
#include <type_traits>

namespace portops::impl {

template <class T>
bool writes_much(const ReducePlan& plan) {
  return exceeds_host_caches(plan.kept * plan.columns * static_cast<std::int64_t>(sizeof(T)));
}

template <Backend B, class T>
void LayerNormKernels<B, T>::layer_norm(const Context& ctx, const NormLabels& labels, const LayerNormTensors& tensors,
                                        const LayerNormPlan& plan) {
  if constexpr (B == Backend::cuda) {
    const auto launch = [&](const auto& kernel) {
      constexpr int most_threads = std::remove_cvref_t<decltype(kernel)>::most_threads;
      launch_all_teams<B, most_threads>(ctx, labels.rows, kernel, kernel.teams(), kernel.threads(),
                                        kernel.scratch_bytes());
    };
    switch (plan.kept) {
      case KeptRow::none: return launch(LayerNormAlong<B, T, KeptRow::none>(tensors, plan));
      case KeptRow::packs: return launch(LayerNormAlong<B, T, KeptRow::packs>(tensors, plan));
      case KeptRow::wide:
      case KeptRow::shifted: break;
    }
    const auto launch_rows = [&]<class P>() {
      constexpr int most = layer_norm_batch(gpu_pack_bytes, sizeof(T)), few = std::min(layer_norm_few_packs, most);
      constexpr int lanes = layer_norm_most_lanes, more_lanes = layer_norm_shifted_lanes(sizeof(T));
      const auto launch_with = [&]<int batch, int most_lanes, bool shifts>() {
        launch(LayerNormRows<B, T, P, batch, most_lanes, shifts>(tensors, plan));
      };
      if (plan.kept == KeptRow::shifted) {
        plan.lanes <= lanes ? launch_with.template operator()<most, lanes, true>()
                            : launch_with.template operator()<most, more_lanes, true>();
        return;
      }
      const std::int64_t packs = plan.rows.columns / plan.rows.pack;
      packs <= few* plan.lanes ? launch_with.template operator()<few, lanes, false>()
                               : launch_with.template operator()<most, lanes, false>();
    };
    const TensorRef& parameter = tensors.scale ? tensors.scale : tensors.bias;
    const bool are_sums = parameter && parameter.type() == sum_type(tensors.x.type());
    are_sums ? launch_rows.template operator()<Arithmetic<T>>() : launch_rows.template operator()<T>();
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
  auto* const states = static_cast<GradientSums<A>*>(memory);
  auto* const sums = tensors.scale_grad || tensors.bias_grad ? states : nullptr;
  if constexpr (B == Backend::cuda) {
    const auto launch = [&](const auto& kernel) {
      constexpr int most_threads = std::remove_cvref_t<decltype(kernel)>::most_threads;
      launch_all_teams<B, most_threads>(ctx, labels.rows, kernel, kernel.teams(), kernel.threads(),
                                        kernel.scratch_bytes());
    };
    const bool are_sums = tensors.scale && tensors.scale.type() == sum_type(tensors.x.type());
    if (plan.twice) {
      auto* const means = states + (sums != nullptr ? plan.parts() * plan.rows.columns : 0);
      if (tensors.x_grad) {
        are_sums ? launch(LayerNormGradMeans<B, T, A>(tensors, plan, means))
                 : launch(LayerNormGradMeans<B, T, T>(tensors, plan, means));
      }
      const auto launch_columns = [&]<bool neighbours>() {
        launch_by_teams<B>(ctx, labels.down, LayerNormGradColumns<B, T, neighbours>(tensors, plan, means, sums));
      };
      plan.wide ? launch_columns.template operator()<true>() : launch_columns.template operator()<false>();
    } else if (!plan.wide) {
      launch(LayerNormGradAlong<B, T>(tensors, plan, sums));
    } else {
      const auto launch_rows = [&]<int threads>() {
        are_sums ? launch(LayerNormGradRows<B, T, A, threads>(tensors, plan, sums))
                 : launch(LayerNormGradRows<B, T, T, threads>(tensors, plan, sums));
      };
      constexpr int few = norm_most_threads, most = layer_norm_grad_most_threads(sizeof(T));
      plan.lanes <= few ? launch_rows.template operator()<few>() : launch_rows.template operator()<most>();
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
