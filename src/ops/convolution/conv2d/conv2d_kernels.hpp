// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/conv2d/direct/direct_windows.hpp"
#include "ops/convolution/image_step.hpp"

#include <cstddef>

namespace portops::impl {

/// How the columns of windows lie: `pixel` channels of a tap side by side, tap after tap, and `row` numbers from a
/// window to the next.
struct WindowColumns {
  std::int64_t pixel, row;
};

/// The kernels of conv2d on one backend for one element type, but for those that convolutions share. Defined in
/// conv2d_kernels_impl.hpp and compiled once for each pair. All enqueue and return.
template <Backend B, class T>
struct Conv2dKernels {
  static void columns(const Context& ctx, const ImageStep& step);
  /// On hosts only: the product and its columns, tile by tile.
  static void convolve_tiles(const Context& ctx, const ImageStep& step, const void* packed_weight,
                             const ConvolutionOut& to);
  /// And for few products: strip by strip.
  static void convolve_strips(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                              const ConvolutionOut& to);
  /// On hosts only: see direct.hpp. packed_weight has direct_bytes(), none of a depthwise convolution.
  static void convolve_direct(const Context& ctx, const DirectCall& call, const Tensor4& weight,
                              const void* packed_weight, const ConvolutionOut& to);
  static void pack_direct(const Context& ctx, const Windows& windows, const Tensor4& weight, void* packed_weight);
  static bool suits_direct(const Windows& windows);
  static bool suits_depthwise(const Windows& windows);
  static std::size_t direct_bytes(const Windows& windows);
  /// And weight_grad; DirectCall::out is out_grad.
  static void weight_grad_direct(const Context& ctx, const DirectCall& call, const Tensor4& weight_grad,
                                 void* workspace);
  static bool suits_weight_grad_direct(const Windows& windows);
  static std::size_t weight_grad_direct_bytes(const DirectCall& call);
  /// On GPUs only, for few products: pixel by pixel.
  static void convolve_pixels(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                              const ConvolutionOut& to);
  /// The same for weight_grad; sums: memory for those of PixelsWeightGradPlan.
  static void pixels_weight_grad(const Context& ctx, const ImageStep& step, const Tensor4& out_grad, void* sums,
                                 const Tensor4& weight_grad);
  /// On GPUs only, of windows of one pixel in one group: weight_grad from the sums of so many chunks of pixels, which
  /// lie chunk by chunk in the order of its elements.
  static void join_planes(const Context& ctx, const Windows& windows, std::int64_t chunks, const void* sums,
                          const Tensor4& weight_grad);
  /// On GPUs only: x_grad from the gradients of its columns, which have the type of sums.
  static void columns_to_x(const Context& ctx, const Windows& windows, const WindowColumns& layout, const void* columns,
                           const Tensor4& x_grad);
};

}  // namespace portops::impl
