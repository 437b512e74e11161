// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/rearrangement.hpp"
#include "core/exec/context.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/deform_conv2d/gradient/strips_plan.hpp"
#include "ops/deform_conv2d/windows.hpp"

#include <cstddef>

namespace portops::impl {

/// The images that are worked on at once, and where they lie. Numbers of images are those of the step.
struct ImageStep {
  Windows windows{};
  Tensor4 offset{}, mask{};  ///< mask: null data for none
  Tensor4 x{};  ///< with neighbouring channels at neighbouring addresses, unless it is read in strips or by pixels
  bool samples_strips = false;  ///< whether convolve() finds samples in strips, where that is a choice
  void* columns = nullptr;      ///< of the element type: rows of Windows::column() elements, one a pixel of out
};

/// The gradients of a step that follow from those of its columns. What is not wanted is null.
struct ImageStepGrads {
  void* x_grad = nullptr;  ///< of the type that sums have: all channels of a pixel side by side, without gaps
  Tensor4 offset_grad, mask_grad;
  void* memory = nullptr;      ///< columns_grad_memory() bytes
  bool makes_columns = false;  ///< whether the columns then take the place of their gradients: see can_make_columns
};

/// The kernels of deform_conv2d and its gradient on one backend for one element type. Defined in
/// deform_conv2d_kernels_impl.hpp and compiled once for each pair. All enqueue and return.
template <Backend B, class T>
struct DeformConv2dKernels {
  /// Copies elements into another layout.
  static void rearrange(const Context& ctx, const char* label, const Rearrangement& what);
  /// Writes to all elements of a tensor of four axes the bias of their channel, or 0 where bias is null.
  static void fill(const Context& ctx, const Extents& extents, const Tensor4& tensor, const void* bias,
                   std::int64_t bias_stride);
  static void columns(const Context& ctx, const ImageStep& step);

  // On hosts only: the product and its columns, tile by tile.
  static std::size_t packed_weight_bytes(const Windows& windows);
  static void pack_weight(const Context& ctx, const Windows& windows, const Tensor4& weight, void* packed_weight);
  static void convolve(const Context& ctx, const ImageStep& step, const void* packed_weight, const Tensor4& out,
                       const void* bias, std::int64_t bias_stride);
  // And for few products: strip by strip.
  static void convolve_strips(const Context& ctx, const ImageStep& step, const Tensor4& weight, const Tensor4& out,
                              const void* bias, std::int64_t bias_stride);
  // On GPUs only, for few products: pixel by pixel.
  static void convolve_pixels(const Context& ctx, const ImageStep& step, const Tensor4& weight, const Tensor4& out,
                              const void* bias, std::int64_t bias_stride);
};

/// The same of the gradient.
template <Backend B, class T>
struct DeformConv2dGradKernels {
  /// Copies sums, which are f32 or f64, into elements of another layout, each rounded once.
  static void rearrange_sums(const Context& ctx, const char* label, const Rearrangement& what);
  /// Adds sums to as many others or, where these are the first, writes them there.
  static void add_sums(const Context& ctx, void* to, const void* from, std::int64_t count, bool first);
  /// The memory that columns_grad needs; perhaps more for fewer images.
  static std::size_t columns_grad_memory(const Context& ctx, const Windows& windows, bool wants_x_grad,
                                         bool wants_products);
  /// Whether columns_grad can make the columns as well, for which it reads x anyway.
  static bool can_make_columns(const ImageStep& step);
  /// From the gradients of the columns, which step.columns holds, to those of x, offset and mask.
  static void columns_grad(const Context& ctx, const ImageStep& step, const ImageStepGrads& grads);
  // On hosts only, for few products: strip by strip.
  /// weight_sums: memory for the sums of the plan's chunks. What is not wanted is null.
  static void strips_products(const Context& ctx, const StripsPlan& plan, const ImageStep& step, const Tensor4& weight,
                              const Tensor4& out_grad, const Tensor4& offset_grad, const Tensor4& mask_grad,
                              void* weight_sums, const Tensor4& weight_grad);
  /// reach, sums: memory for the StripReach of all samples of strips, and for x_grad without gaps.
  static void strips_x_grad(const Context& ctx, const StripsPlan& plan, const ImageStep& step, const Tensor4& weight,
                            const Tensor4& out_grad, void* reach, void* sums, const Tensor4& x_grad);
  /// Operands: out_grad → bias_grad.
  static void bias_grad(const Context& ctx, const ReducePlan& plan);
};

}  // namespace portops::impl
