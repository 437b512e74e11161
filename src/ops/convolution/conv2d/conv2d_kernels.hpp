// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/image_step.hpp"

namespace portops::impl {

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
  /// On GPUs only, for few products: pixel by pixel.
  static void convolve_pixels(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                              const ConvolutionOut& to);
  /// The weight for the way back, [C, K, L, M / G]: its channels exchanged with the output channels of the group, its
  /// taps counted backwards.
  static void turn_weight(const Context& ctx, const Windows& windows, const Tensor4& weight, void* turned);
};

}  // namespace portops::impl
