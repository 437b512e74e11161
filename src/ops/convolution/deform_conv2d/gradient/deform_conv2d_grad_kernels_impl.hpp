// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/zeros.hpp"
#include "core/exec/memory_layout.hpp"
#include "ops/convolution/channel_packs.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad_tiles.hpp"
#include "ops/convolution/deform_conv2d/gradient/sample_lists.hpp"
#include "ops/convolution/deform_conv2d/gradient/strips_grad.hpp"
#include "ops/convolution/deform_conv2d/gradient/strips_x_grad.hpp"
#include "ops/convolution/deform_conv2d/gradient/taps_grad.hpp"
#include "ops/convolution/deform_conv2d/gradient/taps_grad_packs.hpp"
#include "ops/convolution/pixels_weight_grad.hpp"

#include <string>

namespace portops::impl {

/// The memory of a step's lists, one array after the other.
template <class A>
struct SampleListsMemory {
  std::size_t counts, starts, samples, bytes;

  explicit SampleListsMemory(const Windows& windows) {
    using Lists = SampleLists<A>;
    MemoryLayout layout;
    counts = layout.add<std::int64_t>(Lists::lists(windows) + 1);
    starts = layout.add<std::int64_t>(Lists::lists(windows) + 1);
    samples = layout.add<typename Lists::Number>(Lists::capacity(windows));
    bytes = layout.bytes();
  }
};

/// The arrays in the memory of columns_grad.
template <Backend B, class T>
struct ColumnsGradMemory {
  MemoryLayout layout;
  TemporaryArray lists;     ///< of the samples that x_grad is added up from
  TemporaryArray products;  ///< of samples, by blocks of channels, unless one team has them all
  std::int64_t blocks_of_channels = 0;

  ColumnsGradMemory(const Context& ctx, const Windows& windows, bool wants_x_grad, bool wants_products) {
    using A = Arithmetic<T>;
    if constexpr (B == Backend::cuda) {
      if (wants_x_grad && ctx.deterministic()) {
        lists = TemporaryArray(layout, static_cast<std::int64_t>(SampleListsMemory<A>(windows).bytes), 1);
      }
      if constexpr (sizeof(T) <= 4) {
        using Tiles = ColumnsGradTiles<B, T>;
        if (Tiles::suits(windows)) blocks_of_channels = Tiles::plan(windows).shares;
        if (blocks_of_channels == 1) wants_products = false;
      }
    } else {
      with_channel_packs<B, T, A>(ImageStep{.windows = windows}, [&]<int N>() {
        blocks_of_channels = ColumnsGradHost<B, T, N>::blocks_of_channels(windows);
      });
    }
    if (wants_products && blocks_of_channels > 0) {
      products = TemporaryArray(layout, corners * windows.all_samples() * blocks_of_channels, sizeof(A));
    }
  }
};

template <Backend B, class T>
std::size_t DeformConv2dGradKernels<B, T>::columns_grad_memory(const Context& ctx, const Windows& windows,
                                                               bool wants_x_grad, bool wants_products) {
  return ColumnsGradMemory<B, T>(ctx, windows, wants_x_grad, wants_products).layout.bytes();
}

#if defined(KOKKOS_ENABLE_CUDA)
/// x_grad by lists of samples.
template <class T>
void gather_x_grad(const Context& ctx, const ImageStep& step, void* list_memory, Arithmetic<T>* x_grad) {
  static const std::string collect_label = "portops::deform_conv2d_grad::collect[lists]";
  static const std::string place_label = "portops::deform_conv2d_grad::place[lists]";
  static const std::string again_label = "portops::deform_conv2d_grad::collect_again[lists]";
  static const std::string sort_label = "portops::deform_conv2d_grad::sort[lists]";
  static const std::string gather_label = "portops::deform_conv2d_grad::x_grad[lists]";
  constexpr Backend B = Backend::cuda;
  using A = Arithmetic<T>;
  const SampleListsMemory<A> memory(step.windows);
  auto* const bytes = static_cast<std::byte*>(list_memory);
  const SampleLists<A> lists{reinterpret_cast<std::int64_t*>(bytes + memory.counts),
                             reinterpret_cast<std::int64_t*>(bytes + memory.starts),
                             reinterpret_cast<typename SampleLists<A>::Number*>(bytes + memory.samples)};
  const SamplerOf<T> sampler(step.windows, step.offset, step.mask, Edge::of_gradients);
  zero<B>(ctx, collect_label, lists.counts, memory.samples - memory.counts);  // and starts
  launch_by_items<B>(ctx, collect_label, CollectSamples<B, T, false>(step.windows, sampler, lists));
  launch_by_teams<B>(ctx, place_label, PlaceLists<B, A>(step.windows, lists));
  launch_by_items<B>(ctx, again_label, CollectSamples<B, T, true>(step.windows, sampler, lists));
  launch_by_teams<B>(ctx, sort_label, SortLongLists<B, A>(step.windows, lists));
  // x is not read. Channels that are no whole packs of 16 bytes of the columns may be such of the sums.
  const ImageStep without_x{.windows = step.windows};
  const auto gather = [&]<int N>() {
    launch_by_teams<B>(ctx, gather_label,
                       GatherXGrad<B, T, N>(step.windows, sampler, static_cast<const T*>(step.columns), lists, x_grad));
  };
  with_channel_packs<B, T, T>(without_x, [&]<int N>() {
    if constexpr (N > 1) {
      gather.template operator()<N>();
    } else {
      with_channel_packs<B, T, A>(without_x, gather);
    }
  });
}
#endif

template <Backend B, class T>
bool DeformConv2dGradKernels<B, T>::can_make_columns([[maybe_unused]] const ImageStep& step) {
  if constexpr (B == Backend::cuda && sizeof(T) <= 4) {
    using Tiles = ColumnsGradTiles<B, T>;
    return Tiles::suits(step.windows) && Tiles::suits(step.windows, step.x);
  } else {
    return false;
  }
}

template <Backend B, class T>
bool DeformConv2dGradKernels<B, T>::adds_to_x_grad(const Context& ctx) {
  return B != Backend::cuda || !ctx.deterministic();
}

template <Backend B, class T>
void DeformConv2dGradKernels<B, T>::columns_grad(const Context& ctx, const ImageStep& step,
                                                 const ImageStepGrads& grads) {
  static const std::string label = "portops::deform_conv2d_grad::columns[im2col]";
  static const std::string products_label = "portops::deform_conv2d_grad::products[blocks]";
  using A = Arithmetic<T>;
  const Windows& windows = step.windows;
  const SamplerOf<T> sampler(windows, step.offset, step.mask, Edge::of_gradients);
  const auto* const x = static_cast<const T*>(step.x.data);
  auto* const column_grads = static_cast<T*>(step.columns);
  ColumnsGradTargets<T> targets{static_cast<A*>(grads.x_grad), grads.offset_grad, grads.mask_grad};
  const ColumnsGradMemory<B, T> memory(ctx, windows, targets.x_grad != nullptr, targets.wants_products());
  auto* const products = static_cast<A*>(memory.products.in(grads.memory));
  const auto add_products = [&] {
    if (products == nullptr) return;
    launch_by_items<B>(ctx, products_label,
                       ProductsOfBlocks<B, T>(windows, sampler, targets, products, memory.blocks_of_channels));
  };
  with_channel_packs<B, T, A>(step, [&]<int N>() {
    if constexpr (B == Backend::cuda) {
      if (targets.x_grad != nullptr && ctx.deterministic()) {
        gather_x_grad<T>(ctx, step, memory.lists.in(grads.memory), targets.x_grad);
        targets.x_grad = nullptr;
      }
      if (targets.x_grad == nullptr && !targets.wants_products() && !grads.makes_columns) return;
      if constexpr (sizeof(T) <= 4) {
        static const std::string tiles_label = "portops::deform_conv2d_grad::columns[tiles]";
        if (can_make_columns(step)) {
          launch_by_teams<B>(
              ctx, tiles_label,
              ColumnsGradTiles<B, T>(windows, sampler, step.x, column_grads, grads.makes_columns, targets, products));
          return add_products();
        }
      }
      launch_by_teams<B>(ctx, label,
                         ColumnsGrad<B, T, N>(windows, sampler, x, pixel_strides(step.x), column_grads, targets));
    } else {
      launch_by_items<B>(
          ctx, label,
          ColumnsGradHost<B, T, N>(windows, sampler, x, pixel_strides(step.x), column_grads, targets, products));
      add_products();
    }
  });
}

template <Backend B, class T>
void DeformConv2dGradKernels<B, T>::pack_channels(const Context& ctx, const TapsGradPlan& plan, const Windows& windows,
                                                  const Tensor4& x, void* to) {
  if constexpr (B == Backend::cuda) {
    static const std::string label = "portops::deform_conv2d_grad::x[packs]";
    launch_by_items<B>(ctx, label, PackChannels<T>(plan, windows, x, to));
  }
}

template <Backend B, class T>
void DeformConv2dGradKernels<B, T>::unpack_channels(const Context& ctx, const TapsGradPlan& plan,
                                                    const Windows& windows, const void* from, const Tensor4& x_grad) {
  if constexpr (B == Backend::cuda) {
    static const std::string label = "portops::deform_conv2d_grad::x_grad[packs]";
    launch_by_items<B>(ctx, label, UnpackChannels<T>(plan, windows, from, x_grad));
  }
}

template <Backend B, class T>
void DeformConv2dGradKernels<B, T>::taps_grad(const Context& ctx, const TapsGradPlan& plan, const ImageStep& step,
                                              const TapsGradTensors& tensors) {
  if constexpr (B == Backend::cuda) {
    static const std::string label = "portops::deform_conv2d_grad[taps]";
    static const std::string products_label = "portops::deform_conv2d_grad::products[blocks]";
    static const std::string join_label = "portops::deform_conv2d_grad::join[taps]";
    using A = Arithmetic<T>;
    with_taps_grad_form<T>(plan, [&]<int N, int own_outs, bool is_depthwise>() {
      launch_by_teams<B>(ctx, label, TapsGrad<B, T, N, own_outs, is_depthwise>(plan, step, tensors));
    });
    if (tensors.products != nullptr) {
      const SamplerOf<T> sampler(step.windows, step.offset, step.mask, Edge::of_gradients);
      launch_by_items<B>(
          ctx, products_label,
          ProductsOfBlocks<B, T>(step.windows, sampler, {nullptr, tensors.offset_grad, tensors.mask_grad},
                                 static_cast<const A*>(tensors.products), plan.pack_blocks));
    }
    if (tensors.weight_sums != nullptr) {
      launch_by_teams<B>(ctx, join_label,
                         JoinPixelsWeightGrad<B, T>(step.windows, plan.chunks,
                                                    static_cast<const A*>(tensors.weight_sums), tensors.weight_grad));
    }
  }
}

template <Backend B, class T>
void DeformConv2dGradKernels<B, T>::strips_products(const Context& ctx, const StripsPlan& plan, const ImageStep& step,
                                                    const Tensor4& weight, const Tensor4& out_grad,
                                                    const Tensor4& offset_grad, const Tensor4& mask_grad,
                                                    void* weight_sums, const Tensor4& weight_grad) {
  if constexpr (B != Backend::cuda) {
    static const std::string label = "portops::deform_conv2d_grad::products[strips]";
    static const std::string weight_label = "portops::deform_conv2d_grad::weight_grad[strips]";
    auto* const sums = static_cast<Arithmetic<T>*>(weight_sums);
    launch_by_items<B>(ctx, label,
                       StripsProducts<T>(StripsGrad<T>(plan, step, weight, out_grad), offset_grad, mask_grad, sums));
    if (sums != nullptr) launch_by_items<B>(ctx, weight_label, StripsWeightGrad<T>(plan, sums, weight_grad));
  }
}

template <Backend B, class T>
void DeformConv2dGradKernels<B, T>::strips_x_grad(const Context& ctx, const StripsPlan& plan, const ImageStep& step,
                                                  const Tensor4& weight, const Tensor4& out_grad, void* reach,
                                                  void* sums, const Tensor4& x_grad) {
  if constexpr (B != Backend::cuda) {
    static const std::string reach_label = "portops::deform_conv2d_grad::reach[strips]";
    static const std::string label = "portops::deform_conv2d_grad::x_grad[strips]";
    const StripsGrad<T> grad(plan, step, weight, out_grad);
    auto* const found = static_cast<StripReach*>(reach);
    launch_by_items<B>(ctx, reach_label, FindReach<T>(grad, found));
    launch_by_items<B>(ctx, label, StripsXGrad<T>(grad, found, static_cast<Arithmetic<T>*>(sums), x_grad));
  }
}

}  // namespace portops::impl
