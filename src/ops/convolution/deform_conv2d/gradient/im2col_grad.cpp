// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/deform_conv2d/gradient/im2col_grad.hpp"

#include "ops/convolution/deform_conv2d/deform_conv2d_convolution.hpp"
#include "ops/convolution/layouts.hpp"
#include "ops/convolution/weight_grad.hpp"

#include <cstdint>
#include <utility>

namespace portops::impl {
namespace {

/// Whether the gradients of the columns are needed, and so the weight.
bool wants_columns_grad(const DeformConv2dGradTensors& t) { return t.x_grad || t.offset_grad || t.mask_grad; }

/// Whether the sums of x_grad can be taken where it lies: it has their type and order, and each image begins as
/// temporary memory would.
bool holds_sums(const TensorRef& x_grad) {
  constexpr std::uintptr_t unit_bytes = 16;
  const std::int64_t image = x_grad.extent(1) * x_grad.extent(2) * x_grad.extent(3);
  const auto image_bytes = static_cast<std::uintptr_t>(image) * size_of(x_grad.type());
  return arithmetic_size(x_grad.type()) == size_of(x_grad.type()) && is_dense_channels_last(x_grad) &&
         (reinterpret_cast<std::uintptr_t>(x_grad.data()) | image_bytes) % unit_bytes == 0;
}

struct BackwardMemory {
  MemoryLayout layout;
  Im2colArrays arrays;
  OutGradRows out_grad;
  TemporaryArray x_grad;  ///< its sums, of a step, unless they are taken where it lies
  WeightGrad weight_grad;
  TemporaryArray columns_grad;

  BackwardMemory(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& t, std::int64_t step)
      : arrays(layout, ctx, windows, t.x, t.weight, step, wants_columns_grad(t)),
        out_grad(layout, windows, t.out_grad, step) {
    const ElementType type = t.x.type();
    if (t.x_grad && !holds_sums(t.x_grad))
      x_grad = TemporaryArray(layout, step * windows.area() * windows.channels, arithmetic_size(type));
    weight_grad = WeightGrad(layout, t.weight_grad, steps_of(windows.images, step));
    // Steps of fewer images may need more: they share out the channels.
    std::size_t bytes = 0;
    for (const std::int64_t images : {step, windows.images % step}) {
      Windows of_step = windows;
      of_step.images = images;
      bytes = std::max(bytes, dispatch(ctx.backend(), type, [&]<Backend B, class T>() {
                         return DeformConv2dGradKernels<B, T>::columns_grad_memory(
                             ctx, of_step, static_cast<bool>(t.x_grad), t.offset_grad || t.mask_grad);
                       }));
    }
    columns_grad = TemporaryArray(layout, static_cast<std::int64_t>(bytes), 1);
  }
};

template <Backend B, class T>
void run_backward(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& t, std::int64_t step) {
  static const std::string operands_label = "portops::deform_conv2d_grad::operands[channels_last]";
  static const std::string add_label = "portops::deform_conv2d_grad::add[weight_grad]";
  static const std::string results_label = "portops::deform_conv2d_grad::results[strided]";
  const BackwardMemory plan(ctx, windows, t, step);
  const Temporary memory(ctx, "portops::deform_conv2d_grad::workspace", plan.layout.bytes());
  Copies operands, results;
  const Im2col im2col(ctx, plan.arrays, memory.data(), t.weight, operands);
  const Matrices matrix(ctx, t.x.type());
  const std::int64_t m = windows.group_out_channels(), k = windows.group_column();
  using Shared = ConvolutionKernels<B, T>;
  using GradKernels = DeformConv2dGradKernels<B, T>;
  for_steps(windows.images, step, [&](std::int64_t first, std::int64_t count) {
    const ImageStep s = im2col.step(windows, first, count, t.x, t.offset, t.mask, operands);
    const TensorRef grads = plan.out_grad.rows(ctx, DeformConv2dConvolution::labels(), windows, t.out_grad, first,
                                               count, memory.data(), operands);
    void* const x_grad_sums = plan.x_grad ? plan.x_grad.in(memory.data()) : tensor4(t.x_grad, first).data;
    if (GradKernels::adds_to_x_grad(ctx)) {
      const std::int64_t sums = count * windows.area() * windows.channels;
      operands.add_zeros(x_grad_sums, static_cast<std::size_t>(sums) * arithmetic_size(t.x.type()));
    }
    Shared::copy(ctx, operands_label, std::exchange(operands, {}));
    const TensorRef columns = matrix(s.columns, count * windows.pixels(), k, windows.column());
    const auto add_to_weight_grad = [&] {
      plan.weight_grad.add<B, T>(ctx, add_label, windows, first / step, grads, columns, memory.data(),
                                 im2col.workspace());
    };
    // The columns are made by the pass that reads their gradients where it can, else before these are computed.
    const bool makes_columns = t.weight_grad && wants_columns_grad(t) && GradKernels::can_make_columns(s);
    if (t.weight_grad && !makes_columns) {
      DeformConv2dKernels<B, T>::columns(ctx, s);
      add_to_weight_grad();
    }
    if (!wants_columns_grad(t)) return;
    blas::gemm(of_products(ctx), blas::Transpose::no, blas::Transpose::no, 1.0, grads, matrix(im2col.weight(), m, k, k),
               0.0, columns, blas::Batch{windows.groups, m, m * k, k}, im2col.workspace());
    GradKernels::columns_grad(ctx, s,
                              {x_grad_sums, tensor4(t.offset_grad, first), tensor4(t.mask_grad, first),
                               plan.columns_grad.in(memory.data()), makes_columns});
    if (makes_columns) add_to_weight_grad();
    if (!plan.x_grad) return;
    results.add(from_channels_last(t.x_grad, first, count, x_grad_sums));
    // The next step takes its memory; those of the last one go with the sums of weight_grad.
    if (first + count < windows.images) Shared::copy_sums(ctx, results_label, std::exchange(results, {}));
  });
  if (t.weight_grad) {
    results.add(plan.weight_grad.finish<B, T>(ctx, add_label, windows, steps_of(windows.images, step), t.weight_grad,
                                              memory.data()));
  }
  Shared::copy_sums(ctx, results_label, results);
}

}  // namespace

void deform_conv2d_grad_by_im2col(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors,
                                  std::int64_t step) {
  dispatch(ctx.backend(), tensors.x.type(),
           [&]<Backend B, class T>() { run_backward<B, T>(ctx, windows, tensors, step); });
}

std::size_t im2col_grad_workspace(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors,
                                  std::int64_t step) {
  return BackwardMemory(ctx, windows, tensors, step).layout.bytes();
}

}  // namespace portops::impl
