// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/reduce/sum.hpp"
#include "ops/pool2d/pool2d_kernels.hpp"
#include "ops/pool2d/pool_windows.hpp"
#include "ops/pool2d/spread_windows.hpp"

namespace portops::impl {

/// A sum, divided at the end, as a reduction; see reduce().
template <class A>
struct Mean : Sum<A> {
  A size;

  KOKKOS_FORCEINLINE_FUNCTION A finish(const Partial<A>& value) const { return value.total / size; }
};

template <Backend B, class T, bool is_max>
void pool_windows(const Context& ctx, const PoolPlan& plan) {
  static const std::string planes = "portops::pool2d::pool[planes]", channels = "portops::pool2d::pool[channels]";
  const std::string& label = plan.by_channels ? channels : planes;
  if constexpr (B != Backend::cuda) {
    launch_by_items<B>(ctx, label, PoolWindows<B, T, pool_neighbours<B, T>, 0, is_max>(plan));
  } else {
    const auto launch = [&]<int K>() {
      plan.by_channels ? launch_by_items<B>(ctx, label, PoolWindows<B, T, pool_neighbours<B, T>, K, is_max>(plan))
                       : launch_by_items<B>(ctx, label, PoolWindows<B, T, 1, K, is_max>(plan));
    };
    const bool square = plan.down.kernel == plan.across.kernel;
    if (square && plan.down.kernel == 2) return launch.template operator()<2>();
    if (square && plan.down.kernel == 3) return launch.template operator()<3>();
    launch.template operator()<0>();
  }
}

template <Backend B, class T>
void Pool2dKernels<B, T>::pool(const Context& ctx, const PoolPlan& plan) {
  plan.is_max ? pool_windows<B, T, true>(ctx, plan) : pool_windows<B, T, false>(ctx, plan);
}

template <Backend B, class T>
void Pool2dKernels<B, T>::mean(const Context& ctx, const ReducePlan& plan, double size) {
  static const ReduceLabels labels("pool2d");
  reduce<B, T>(ctx, labels, Mean<Arithmetic<T>>{{}, static_cast<Arithmetic<T>>(size)}, Mean<double>{{}, size}, plan);
}

template <Backend B, class T>
void Pool2dKernels<B, T>::grad(const Context& ctx, const PoolPlan& plan) {
  static const std::string planes = "portops::pool2d_grad::spread[planes]";
  static const std::string channels = "portops::pool2d_grad::spread[channels]";
  const std::string& label = plan.by_channels ? channels : planes;
  constexpr int N = pool_neighbours<B, T>;
  plan.is_max ? launch_by_items<B>(ctx, label, SpreadWindows<B, T, N, true>(plan))
              : launch_by_items<B>(ctx, label, SpreadWindows<B, T, N, false>(plan));
}

}  // namespace portops::impl
