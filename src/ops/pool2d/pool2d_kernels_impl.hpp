// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/reduce/sum.hpp"
#include "ops/pool2d/pool2d_kernels.hpp"
#include "ops/pool2d/pool_by_packs.hpp"
#include "ops/pool2d/pool_channels_host.hpp"
#include "ops/pool2d/pool_down.hpp"
#include "ops/pool2d/pool_planes_host.hpp"
#include "ops/pool2d/spread_by_packs.hpp"
#include "ops/pool2d/spread_down.hpp"
#include "ops/pool2d/spread_host.hpp"
#include "ops/pool2d/whole_images.hpp"

namespace portops::impl {

/// A sum, divided at the end, as a reduction; see reduce().
template <class A>
struct Mean : Sum<A> {
  A size;

  KOKKOS_FORCEINLINE_FUNCTION A finish(const Partial<A>& value) const { return value.total / size; }
};

/// The labels of an operator's kernels, one for each way that a call may take.
struct PoolLabels {
  explicit PoolLabels(const std::string& kernel)
      : planes(kernel + "[planes]"),
        channels(kernel + "[channels]"),
        planes_by_packs(kernel + "[planes by packs]"),
        channels_by_packs(kernel + "[channels by packs]"),
        whole(kernel + "[whole]") {}

  std::string planes, channels, planes_by_packs, channels_by_packs, whole;
};

/// Calls launch(part) for as many images at once as ints can count; for single ones where these are too large.
template <class T, class Launch>
void for_each_small_part(const PoolPlan& plan, const Launch& launch) {
  const auto part = [&](std::int64_t first, std::int64_t count) { return plan.part(first, count, sizeof(T)); };
  std::int64_t count = plan.images;
  while (count > 1 && !part(0, count).is_small()) count = ceil_div(count, 2);
  for (std::int64_t first = 0; first < plan.images; first += count) {
    launch(part(first, std::min(count, plan.images - first)));
  }
}

/// The kernels for windows of any size. `Kernel` takes the type of indices and the channels of a thread.
template <template <class Index, int N> class Kernel, class T>
void launch_any(const Context& ctx, const PoolLabels& labels, const PoolPlan& plan) {
  constexpr Backend B = Backend::cuda;
  if (!plan.is_small()) return launch_by_items<B>(ctx, labels.planes, Kernel<std::int64_t, 1>(plan));
  plan.by_channels ? launch_by_items<B>(ctx, labels.channels, Kernel<int, pool_neighbours<B, T>>(plan))
                   : launch_by_items<B>(ctx, labels.planes, Kernel<int, 1>(plan));
}

/// Those of PoolPlan::by_packs. `Kernel` takes the side of a window, whether neighbours are channels, and their number.
template <template <int K, bool by_channels, int pack> class Kernel, int widest>
void launch_by_packs(const Context& ctx, const PoolLabels& labels, const PoolPlan& plan) {
  constexpr Backend B = Backend::cuda;
  const auto launch = [&]<int K>() {
    if (plan.by_channels) return launch_by_items<B>(ctx, labels.channels_by_packs, Kernel<K, true, widest>(plan));
    const auto launch_planes = [&]<int pack>() {
      launch_by_items<B>(ctx, labels.planes_by_packs, Kernel<K, false, pack>(plan));
    };
    if (plan.pack == 1) return launch_planes.template operator()<1>();
    plan.pack == 2 ? launch_planes.template operator()<2>() : launch_planes.template operator()<widest / 2>();
  };
  plan.by_packs == 2 ? launch.template operator()<2>() : launch.template operator()<3>();
}

/// pool2d on a GPU.
template <class T, PoolKind kind>
struct PoolOnGpu {
  static constexpr bool is_max = kind != PoolKind::average;
  template <class Index, int N>
  using Any = PoolDown<T, Index, N, is_max>;
  template <int K, bool by_channels, int pack>
  using ByPacks = PoolByPacks<T, K, by_channels, pack, kind>;
};

/// pool2d_grad on a GPU.
template <class T, bool is_max>
struct SpreadOnGpu {
  template <class Index, int N>
  using Any = SpreadDown<T, Index, N, is_max>;
  template <int K, bool by_channels, int pack>
  using ByPacks = SpreadByPacks<T, K, by_channels, pack, is_max>;
};

template <class T, PoolKind kind>
void pool_on_gpu(const Context& ctx, const PoolPlan& plan) {
  static const PoolLabels labels("portops::pool2d::pool");
  using Kernels = PoolOnGpu<T, kind>;
  if constexpr (sizeof(T) < sizeof(double)) {
    if (plan.by_packs != 0 && plan.is_small()) {
      return launch_by_packs<Kernels::template ByPacks, gpu_pack_bytes / static_cast<int>(sizeof(T))>(ctx, labels,
                                                                                                      plan);
    }
  }
  if (Kernels::is_max && plan.is_whole && !plan.by_channels && plan.is_small()) {
    return launch_by_items<Backend::cuda>(ctx, labels.whole, PoolWhole<T>(plan));
  }
  launch_any<Kernels::template Any, T>(ctx, labels, plan);
}

template <Backend B, class T, PoolKind kind>
void pool_on_host(const Context& ctx, const PoolPlan& plan) {
  static const PoolLabels labels("portops::pool2d::pool");
  if (plan.by_channels) return launch_by_items<B>(ctx, labels.channels, PoolChannelsOnHost<B, T, kind>(plan));
  launch_by_items<B>(ctx, labels.planes, PoolPlanesOnHost<B, T, kind>(plan));
}

template <class T, bool is_max>
void spread_on_gpu(const Context& ctx, const PoolPlan& plan) {
  static const PoolLabels labels("portops::pool2d_grad::spread");
  using Kernels = SpreadOnGpu<T, is_max>;
  if constexpr (sizeof(T) < sizeof(double)) {
    if (plan.by_packs != 0 && plan.is_small()) {
      return launch_by_packs<Kernels::template ByPacks, gpu_pack_bytes / static_cast<int>(sizeof(T))>(ctx, labels,
                                                                                                      plan);
    }
  }
  if (plan.is_small() && SpreadWhole<T, is_max>::suits(plan)) {
    return launch_by_items<Backend::cuda>(ctx, labels.whole, SpreadWhole<T, is_max>(plan));
  }
  launch_any<Kernels::template Any, T>(ctx, labels, plan);
}

template <Backend B, class T>
void Pool2dKernels<B, T>::pool(const Context& ctx, const PoolPlan& plan) {
  const auto pool_kind = [&]<PoolKind kind>(const PoolPlan& part) {
    if constexpr (B == Backend::cuda) {
      pool_on_gpu<T, kind>(ctx, part);
    } else {
      pool_on_host<B, T, kind>(ctx, part);
    }
  };
  const auto pool_part = [&](const PoolPlan& part) {
    if (!part.is_max) return pool_kind.template operator()<PoolKind::average>(part);
    part.index.data != nullptr ? pool_kind.template operator()<PoolKind::maximum_with_index>(part)
                               : pool_kind.template operator()<PoolKind::maximum>(part);
  };
  if constexpr (B == Backend::cuda) {
    for_each_small_part<T>(plan, pool_part);
  } else {
    pool_part(plan);
  }
}

template <Backend B, class T>
void Pool2dKernels<B, T>::mean(const Context& ctx, const ReducePlan& plan, double size) {
  static const ReduceLabels labels("pool2d");
  reduce<B, T>(ctx, labels, Mean<Arithmetic<T>>{{}, static_cast<Arithmetic<T>>(size)}, Mean<double>{{}, size}, plan);
}

template <Backend B, class T>
void Pool2dKernels<B, T>::grad(const Context& ctx, const PoolPlan& plan) {
  if constexpr (B == Backend::cuda) {
    for_each_small_part<T>(plan, [&](const PoolPlan& part) {
      part.is_max ? spread_on_gpu<T, true>(ctx, part) : spread_on_gpu<T, false>(ctx, part);
    });
  } else {
    static const PoolLabels labels("portops::pool2d_grad::spread");
    const std::string& label = plan.by_channels ? labels.channels : labels.planes;
    plan.is_max ? launch_by_items<B>(ctx, label, SpreadOnHost<B, T, true>(plan))
                : launch_by_items<B>(ctx, label, SpreadOnHost<B, T, false>(plan));
  }
}

}  // namespace portops::impl
