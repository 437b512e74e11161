// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/columns_to_x.hpp"
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/direct/convolve_channels.hpp"
#include "ops/convolution/conv2d/direct/convolve_direct.hpp"
#include "ops/convolution/conv2d/direct/depthwise.hpp"
#include "ops/convolution/conv2d/direct/join_weight_grad.hpp"
#include "ops/convolution/conv2d/direct/launch_tasks.hpp"
#include "ops/convolution/conv2d/direct/weight_grad_direct.hpp"
#include "ops/convolution/conv2d/join_planes.hpp"
#include "ops/convolution/conv2d/whole_pixels.hpp"
#include "ops/convolution/conv2d/whole_sample.hpp"
#include "ops/convolution/conv2d/whole_strip.hpp"
#include "ops/convolution/convolution_launches.hpp"
#include "ops/convolution/pixels_weight_grad.hpp"

namespace portops::impl {

/// Whether vectors of output channels are used well, and no worse than those of positions.
template <class T>
bool suits_channels(const Windows& windows) {
  constexpr std::int64_t least = 60;
  const std::int64_t use = ConvolveChannels<T>::use(windows);
  return ConvolveChannels<T>::suits(windows) && use >= least && use >= ConvolveDirect<T>::use(windows);
}

template <Backend B, class T>
void Conv2dKernels<B, T>::columns(const Context& ctx, const ImageStep& step) {
  launch_columns<B, T, WholeSampler>(ctx, Conv2dConvolution::labels().columns, step);
}

template <Backend B, class T>
void Conv2dKernels<B, T>::convolve_tiles(const Context& ctx, const ImageStep& step, const void* packed_weight,
                                         const ConvolutionOut& to) {
  if constexpr (B != Backend::cuda) {
    launch_tiles<B, T, WholeSampler, WholeStrip<T>>(ctx, Conv2dConvolution::labels().tiles, step, packed_weight, to);
  }
}

template <Backend B, class T>
void Conv2dKernels<B, T>::convolve_strips(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                                          const ConvolutionOut& to) {
  if constexpr (B != Backend::cuda) {
    launch_strips<B, T, WholeStrip<T>>(ctx, Conv2dConvolution::labels().strips, step, weight, to);
  }
}

template <Backend B, class T>
void Conv2dKernels<B, T>::convolve_direct(const Context& ctx, const DirectCall& call, const Tensor4& weight,
                                          const void* packed_weight, const ConvolutionOut& to) {
  if constexpr (B != Backend::cuda) {
    static const std::string label = "portops::conv2d[direct]", channels_label = "portops::conv2d[channels]";
    static const std::string depthwise_label = "portops::conv2d[depthwise]";
    if (Depthwise<T>::suits(call.windows)) {
      return launch_tasks<B>(ctx, depthwise_label, ConvolveDepthwise<T>(call, weight, to));
    }
    const auto* const packed = static_cast<const Arithmetic<T>*>(packed_weight);
    const int threads = instance<B>(ctx).concurrency();
    if (suits_channels<T>(call.windows)) {
      return launch_tasks<B>(ctx, channels_label, ConvolveChannels<T>(call, packed, to, threads));
    }
    launch_tasks<B>(ctx, label, ConvolveDirect<T>(call, packed, to, threads));
  }
}

template <Backend B, class T>
void Conv2dKernels<B, T>::pack_direct(const Context& ctx, const Windows& windows, const Tensor4& weight,
                                      void* packed_weight) {
  if constexpr (B != Backend::cuda) {
    static const std::string label = "portops::conv2d::weight[direct]";
    static const std::string channels_label = "portops::conv2d::weight[channels]";
    auto* const packed = static_cast<Arithmetic<T>*>(packed_weight);
    if (Depthwise<T>::suits(windows)) return;
    if (suits_channels<T>(windows)) {
      return launch_by_items<B>(ctx, channels_label, PackChannelWeight<T>{windows, weight, packed});
    }
    launch_by_items<B>(ctx, label, PackDirectWeight<T>{windows, weight, packed});
  }
}

template <Backend B, class T>
bool Conv2dKernels<B, T>::suits_direct(const Windows& windows) {
  return suits_depthwise(windows) ||
         (B != Backend::cuda && (suits_channels<T>(windows) || ConvolveDirect<T>::suits(windows)));
}

template <Backend B, class T>
bool Conv2dKernels<B, T>::suits_depthwise(const Windows& windows) {
  return B != Backend::cuda && Depthwise<T>::suits(windows);
}

template <Backend B, class T>
std::size_t Conv2dKernels<B, T>::direct_bytes(const Windows& windows) {
  using A = Arithmetic<T>;
  if (Depthwise<T>::suits(windows)) return 0;
  const std::int64_t size =
      suits_channels<T>(windows) ? ChannelWeight<A>{windows}.size() : DirectWeight<A>{windows}.size();
  return static_cast<std::size_t>(size) * sizeof(A);
}

template <Backend B, class T>
void Conv2dKernels<B, T>::weight_grad_direct(const Context& ctx, const DirectCall& call, const Tensor4& weight_grad,
                                             void* workspace) {
  if constexpr (B != Backend::cuda) {
    static const std::string label = "portops::conv2d_grad::weight_grad[direct]";
    static const std::string depthwise_label = "portops::conv2d_grad::weight_grad[depthwise]";
    static const std::string join_label = "portops::conv2d_grad::join[weight_grad]";
    auto* const sums = static_cast<Arithmetic<T>*>(workspace);
    if (Depthwise<T>::suits(call.windows)) {
      const WeightGradDepthwise<T> kernel(call, sums);
      const Tensor4 turned{
          weight_grad.data,
          {weight_grad.stride[1], weight_grad.stride[0], weight_grad.stride[2], weight_grad.stride[3]}};
      launch_tasks<B>(ctx, depthwise_label, kernel);
      return launch_by_items<B>(ctx, join_label, JoinWeightGrad<T>(kernel.plan(), sums, turned));
    }
    const WeightGradDirect<T> kernel(call, sums);
    launch_tasks<B>(ctx, label, kernel);
    launch_by_items<B>(ctx, join_label, JoinWeightGrad<T>(kernel.plan(), sums, weight_grad));
  }
}

template <Backend B, class T>
bool Conv2dKernels<B, T>::suits_weight_grad_direct(const Windows& windows) {
  return B != Backend::cuda && (suits_depthwise(windows) || WeightGradDirect<T>::suits(windows));
}

template <Backend B, class T>
std::size_t Conv2dKernels<B, T>::weight_grad_direct_bytes(const DirectCall& call) {
  const WeightGradPlan plan = Depthwise<T>::suits(call.windows) ? WeightGradDepthwise<T>(call, nullptr).plan()
                                                                : WeightGradDirect<T>(call, nullptr).plan();
  return static_cast<std::size_t>(plan.parts() * plan.sums()) * sizeof(Arithmetic<T>);
}

template <Backend B, class T>
void Conv2dKernels<B, T>::convolve_pixels(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                                          const ConvolutionOut& to) {
  if constexpr (B == Backend::cuda) {
    launch_pixels<B, T, WholePixels<T>>(ctx, Conv2dConvolution::labels().pixels, step, weight, to);
  }
}

template <Backend B, class T>
void Conv2dKernels<B, T>::pixels_weight_grad(const Context& ctx, const ImageStep& step, const Tensor4& out_grad,
                                             void* sums, const Tensor4& weight_grad) {
  if constexpr (B == Backend::cuda) {
    static const std::string label = "portops::conv2d_grad::weight_grad[pixels]";
    static const std::string join_label = "portops::conv2d_grad::join[pixels]";
    launch_pixels_weight_grad<B, T, WholePixels<T>>(ctx, label, join_label, step, out_grad, sums, weight_grad);
  }
}

template <Backend B, class T>
void Conv2dKernels<B, T>::join_planes(const Context& ctx, const Windows& windows, std::int64_t chunks, const void* sums,
                                      const Tensor4& weight_grad) {
  if constexpr (B == Backend::cuda) {
    static const std::string label = "portops::conv2d_grad::join[planes]";
    const auto* const of_chunks = static_cast<const Arithmetic<T>*>(sums);
    // So many elements are work enough for a GPU, where a thread adds up all chunks of one.
    constexpr std::int64_t enough_elements = 32768;
    if (windows.out_channels * windows.group_column() >= enough_elements) {
      return launch_by_items<B>(ctx, label, JoinPlanes<T>(windows, chunks, of_chunks, weight_grad));
    }
    launch_by_teams<B>(ctx, label, JoinPixelsWeightGrad<B, T>(windows, chunks, of_chunks, weight_grad));
  }
}

template <Backend B, class T>
void Conv2dKernels<B, T>::columns_to_x(const Context& ctx, const Windows& windows, const WindowColumns& layout,
                                       const void* columns, const Tensor4& x_grad) {
  if constexpr (B == Backend::cuda) {
    static const std::string label = "portops::conv2d_grad::x_grad[columns]";
    const auto launch = [&]<int pack>() {
      const auto* const numbers = static_cast<const Arithmetic<T>*>(columns);
      launch_by_items<B>(ctx, label, ColumnsToX<T, pack>(windows, layout, numbers, x_grad));
    };
    if (layout.pixel == 1) return launch.template operator()<1>();
    layout.pixel == 2 ? launch.template operator()<2>() : launch.template operator()<4>();
  }
}

}  // namespace portops::impl
