// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/gemm.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/runtime.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/bias.hpp"
#include "ops/convolution/convolution_kernels.hpp"
#include "ops/convolution/convolution_labels.hpp"
#include "ops/convolution/convolution_tensors.hpp"
#include "ops/convolution/image_step.hpp"
#include "ops/convolution/layouts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

// The portable path: columns in memory, a step of images at a time, and matrix products of src/blas.

namespace portops::impl {

/// Matrices as gemm takes them.
class Matrices {
 public:
  Matrices(const Context& ctx, ElementType type) : space_(default_memory_space(ctx.backend())), type_(type) {}

  TensorRef operator()(void* data, std::int64_t rows, std::int64_t columns, std::int64_t stride) const {
    return {data, type_, {rows, columns}, {stride, 1}, space_};
  }

 private:
  MemorySpace space_;
  ElementType type_;
};

/// The temporary arrays that both directions need.
struct Im2colArrays {
  TemporaryArray x, weight, columns, gemm;

  Im2colArrays(MemoryLayout& layout, const Context& ctx, const Windows& windows, const TensorRef& x_tensor,
               const TensorRef& weight_tensor, std::int64_t step, bool reads_weight = true) {
    const std::size_t element = size_of(x_tensor.type());
    if (!has_channels_last(x_tensor)) x = TemporaryArray(layout, step * windows.channels * windows.area(), element);
    if (reads_weight && !is_dense_channels_last(weight_tensor)) {
      weight = TemporaryArray(layout, weight_tensor.size(), element);
    }
    columns = TemporaryArray(layout, step * windows.pixels() * windows.column(), element);
    gemm = TemporaryArray(layout, static_cast<std::int64_t>(blas::gemm_workspace(ctx)), 1);
  }

  Workspace gemm_workspace(const Context& ctx, void* memory) const {
    return {gemm.in(memory), blas::gemm_workspace(ctx)};
  }
};

/// A call's operands as the steps take them. What has to be copied for this is left to the caller.
class Im2col {
 public:
  Im2col(const Context& ctx, const Im2colArrays& arrays, void* memory, const TensorRef& weight, Copies& copies)
      : ctx_(ctx), arrays_(arrays), memory_(memory), weight_(weight.data()) {
    if (!arrays.weight) return;
    weight_ = arrays.weight.in(memory);
    copies.add(to_channels_last(weight, 0, weight.extent(0), weight_));
  }

  /// The step of `count` images from `first` on; x with its channels last.
  ImageStep step(const Windows& all, std::int64_t first, std::int64_t count, const TensorRef& x,
                 const TensorRef& offset, const TensorRef& mask, Copies& copies) const {
    ImageStep step{.windows = all, .offset = tensor4(offset, first), .mask = tensor4(mask, first)};
    step.windows.images = count;
    step.columns = arrays_.columns.in(memory_);
    step.x = tensor4(x, first);
    if (arrays_.x) {
      copies.add(to_channels_last(x, first, count, arrays_.x.in(memory_)));
      const std::int64_t pixel = all.channels;
      step.x = {arrays_.x.in(memory_), {all.area() * pixel, 1, all.width * pixel, pixel}};
    }
    return step;
  }

  void* weight() const { return weight_; }
  Workspace workspace() const { return arrays_.gemm_workspace(ctx_, memory_); }

 private:
  const Context& ctx_;
  const Im2colArrays& arrays_;
  void* memory_;
  void* weight_;
};

/// The context of products. On hosts these are portops' own where the context leaves the choice: batches of small
/// products, which a vendor's BLAS computes one by one, took it three times as long on 16 cores.
Context of_products(const Context& ctx);

/// Calls action(first, count) for steps of images.
template <class Action>
void for_steps(std::int64_t images, std::int64_t step, const Action& action) {
  for (std::int64_t first = 0; first < images; first += step) action(first, std::min(step, images - first));
}

struct Im2colMemory {
  MemoryLayout layout;
  Im2colArrays arrays;
  bool by_pixels = false;  ///< whether a step's products have a row a pixel, or a row a channel of one image
  TemporaryArray out;      ///< where the product cannot write into the tensor itself

  Im2colMemory(const Context& ctx, const Windows& windows, const ConvolutionTensors& t, std::int64_t step);

  /// The product's tensor for the images from `first` on.
  Tensor4 product(const TensorRef& tensor, std::int64_t first, void* memory) const;
};

/// out + = weight · columns, group by group, for the images of a step. out has a matrix of channels and pixels for each
/// image or, by pixels, one matrix for all, whose rows are `distance` apart.
void multiply_columns(const Context& ctx, const Windows& windows, ElementType type, void* weight, void* columns,
                      const Tensor4& out, bool by_pixels, std::int64_t distance, double beta, Workspace workspace);

template <class Operator>
void convolve_by_im2col(const Context& ctx, const Windows& windows, const ConvolutionTensors& t, std::int64_t step) {
  const ConvolutionLabels& labels = Operator::labels();
  const ElementType type = t.x.type();
  const Im2colMemory plan(ctx, windows, t, step);
  const Temporary memory(ctx, labels.workspace.c_str(), plan.layout.bytes());
  dispatch(ctx.backend(), type, [&]<Backend B, class T>() {
    using Shared = ConvolutionKernels<B, T>;
    Copies copies;
    const Im2col im2col(ctx, plan.arrays, memory.data(), t.weight, copies);
    for_steps(windows.images, step, [&](std::int64_t first, std::int64_t count) {
      const ImageStep s = im2col.step(windows, first, count, t.x, t.offset, t.mask, copies);
      Shared::copy(ctx, labels.operands, std::exchange(copies, {}));
      Operator::template Kernels<B, T>::columns(ctx, s);
      const Tensor4 out = plan.product(t.out, first, memory.data());
      if (t.bias) {
        Extents extents = t.out.extents();
        extents[0] = count;
        fill_with_bias(ctx, labels,
                       {out.data,
                        type,
                        extents,
                        {out.stride[0], out.stride[1], out.stride[2], out.stride[3]},
                        default_memory_space(B)},
                       t.bias);
      }
      multiply_columns(ctx, s.windows, type, im2col.weight(), s.columns, out, plan.by_pixels,
                       plan.out ? windows.out_channels : pixel_distance(t.out), t.bias ? 1.0 : 0.0, im2col.workspace());
      if (plan.out) {
        Shared::rearrange(ctx, labels.out,
                          plan.by_pixels ? from_channels_last(t.out, first, count, out.data)
                                         : from_contiguous(t.out, first, count, out.data));
      }
    });
  });
}

template <class Operator>
std::size_t im2col_workspace(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors,
                             std::int64_t step) {
  return Im2colMemory(ctx, windows, tensors, step).layout.bytes();
}

}  // namespace portops::impl
