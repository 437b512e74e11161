// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/deform_conv2d/gradient/strips_plan.hpp"
#include "ops/convolution/deform_conv2d/gradient/taps_grad_plan.hpp"
#include "ops/convolution/image_step.hpp"

#include <cstddef>

namespace portops::impl {

/// The gradients of a step that follow from those of its columns. What is not wanted is null.
struct ImageStepGrads {
  void* x_grad = nullptr;  ///< of the type that sums have: all channels of a pixel side by side, without gaps
  Tensor4 offset_grad, mask_grad;
  void* memory = nullptr;      ///< columns_grad_memory() bytes
  bool makes_columns = false;  ///< whether the columns then take the place of their gradients: see can_make_columns
};

/// The kernels of deform_conv2d on one backend for one element type, but for those that convolutions share. Defined in
/// deform_conv2d_kernels_impl.hpp and compiled once for each pair. All enqueue and return.
template <Backend B, class T>
struct DeformConv2dKernels {
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
  /// On GPUs only, for small calls. Not in f64.
  static void convolve_small(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                             const ConvolutionOut& to);
  /// On GPUs only, for groups of few channels: tap by tap. Not in f64.
  static void convolve_taps(const Context& ctx, const ImageStep& step, const Tensor4& weight, const ConvolutionOut& to);
};

/// The same of the gradient.
template <Backend B, class T>
struct DeformConv2dGradKernels {
  /// The memory that columns_grad needs; perhaps more for fewer images.
  static std::size_t columns_grad_memory(const Context& ctx, const Windows& windows, bool wants_x_grad,
                                         bool wants_products);
  /// Whether columns_grad can make the columns as well, for which it reads x anyway.
  static bool can_make_columns(const ImageStep& step);
  /// Whether columns_grad adds to what x_grad holds, which is to be zero then.
  static bool adds_to_x_grad(const Context& ctx);
  /// From the gradients of the columns, which step.columns holds, to those of x, offset and mask.
  static void columns_grad(const Context& ctx, const ImageStep& step, const ImageStepGrads& grads);
  // On GPUs only, for few products: tap by tap.
  /// The channels of x in packs, as the plan has them, the last one of a run filled up with zeros.
  static void pack_channels(const Context& ctx, const TapsGradPlan& plan, const Windows& windows, const Tensor4& x,
                            void* to);
  /// From sums in such packs to x_grad, each rounded once.
  static void unpack_channels(const Context& ctx, const TapsGradPlan& plan, const Windows& windows, const void* from,
                              const Tensor4& x_grad);
  static void taps_grad(const Context& ctx, const TapsGradPlan& plan, const ImageStep& step,
                        const TapsGradTensors& tensors);
  // On hosts only, for few products: strip by strip.
  /// weight_sums: memory for the sums of the plan's chunks. What is not wanted is null.
  static void strips_products(const Context& ctx, const StripsPlan& plan, const ImageStep& step, const Tensor4& weight,
                              const Tensor4& out_grad, const Tensor4& offset_grad, const Tensor4& mask_grad,
                              void* weight_sums, const Tensor4& weight_grad);
  /// reach, sums: memory for the StripReach of all samples of strips, and for x_grad without gaps.
  static void strips_x_grad(const Context& ctx, const StripsPlan& plan, const ImageStep& step, const Tensor4& weight,
                            const Tensor4& out_grad, void* reach, void* sums, const Tensor4& x_grad);
};

}  // namespace portops::impl
