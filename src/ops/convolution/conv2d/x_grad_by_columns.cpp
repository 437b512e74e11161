// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/x_grad_by_columns.hpp"

#include "core/copy/strided_copy.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/images_at_once.hpp"
#include "ops/convolution/pixels.hpp"
#include "ops/convolution/weight_grad.hpp"

namespace portops::impl {
namespace {

/// The windows with as many channels as their columns have of a tap: a multiple of 16 bytes of them.
Windows padded(const Windows& windows) {
  Windows result = windows;
  result.channels = ceil_div(windows.channels, 4) * 4;
  return result;
}

struct XGradMemory {
  Windows windows;
  std::int64_t step;
  MemoryLayout layout;
  OutGradRows out_grad;
  TemporaryArray weight, columns, gemm;

  XGradMemory(const Context& ctx, const Windows& of_call, const TensorRef& weight_tensor,
              const TensorRef& out_grad_tensor)
      : windows(padded(of_call)), step(images_at_once(windows, arithmetic_type(weight_tensor.type()))) {
    const ElementType type = weight_tensor.type();
    out_grad = OutGradRows(layout, windows, out_grad_tensor, step);
    weight = TemporaryArray(layout, windows.out_channels * windows.column(), size_of(type));
    columns = TemporaryArray(layout, step * windows.pixels() * windows.column(), arithmetic_size(type));
    gemm = TemporaryArray(layout, static_cast<std::int64_t>(blas::gemm_workspace(ctx)), 1);
  }

  /// The weight's elements in a copy that has its channels last.
  TensorRef weight_in(void* memory, const TensorRef& tensor) const {
    const std::int64_t pixel = windows.channels;
    return {weight.in(memory),
            tensor.type(),
            tensor.extents(),
            {windows.column(), 1, windows.kernel_width * pixel, pixel},
            tensor.space()};
  }
};

}  // namespace

bool suits_x_grad_by_columns(const Context& ctx, const Windows& windows, const TensorRef& weight,
                             const TensorRef& out_grad, const TensorRef& x_grad) {
  constexpr std::int64_t few_channels = 8;
  return ctx.backend() == Backend::cuda && windows.groups == 1 && windows.channels <= few_channels &&
         windows.out_channels > few_channels && windows.taps() > 1 &&
         fits_pixels(windows, {&weight, &out_grad, &x_grad});
}

void conv2d_x_grad_by_columns(const Context& ctx, const Windows& windows, const TensorRef& weight,
                              const TensorRef& out_grad, const TensorRef& x_grad) {
  static const CopyLabels copy_labels("conv2d_grad");
  static const std::string zero_label = "portops::conv2d_grad::zeros";
  static const std::string out_grad_label = "portops::conv2d_grad::out_grad[channels_last]";
  const XGradMemory plan(ctx, windows, weight, out_grad);
  const Temporary memory(ctx, "portops::conv2d_grad::workspace", plan.layout.bytes());
  const ElementType type = weight.type(), sum_type = arithmetic_type(type);
  const std::int64_t m = windows.out_channels, column = plan.windows.column();
  const Matrices matrix(ctx, type), sums(ctx, sum_type);
  const Workspace gemm_workspace{plan.gemm.in(memory.data()), blas::gemm_workspace(ctx)};
  void* const weight_copy = plan.weight.in(memory.data());
  void* const columns = plan.columns.in(memory.data());
  dispatch(ctx.backend(), type, [&]<Backend B, class T>() {
    if (plan.windows.channels != windows.channels) {
      ConvolutionKernels<B, T>::zero(ctx, zero_label, weight_copy, static_cast<std::size_t>(m * column) * sizeof(T));
    }
    strided_copy(ctx, copy_labels, make_copy_plan(weight, plan.weight_in(memory.data(), weight)));
    for_steps(windows.images, plan.step, [&](std::int64_t first, std::int64_t count) {
      const TensorRef grads = plan.out_grad.rows<B, T>(ctx, Conv2dConvolution::labels(), out_grad_label, windows,
                                                       out_grad, first, count, memory.data());
      blas::gemm(of_products(ctx), blas::Transpose::no, blas::Transpose::no, 1.0, grads,
                 matrix(weight_copy, m, column, column), 0.0, sums(columns, count * windows.pixels(), column, column),
                 {}, gemm_workspace);
      Windows of_step = windows;
      of_step.images = count;
      Conv2dKernels<B, T>::columns_to_x(ctx, of_step, plan.windows.channels, columns, tensor4(x_grad, first));
    });
  });
}

std::size_t x_grad_by_columns_workspace(const Context& ctx, const Windows& windows, const TensorRef& weight,
                                        const TensorRef& out_grad) {
  return XGradMemory(ctx, windows, weight, out_grad).layout.bytes();
}

}  // namespace portops::impl
