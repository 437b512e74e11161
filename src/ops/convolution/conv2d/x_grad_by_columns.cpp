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

/// A tap has one channel, two, or a multiple of four, and a window a multiple of four numbers: of 16 bytes, as matrix
/// products want rows.
WindowColumns columns_of(const Windows& windows) {
  const auto fours = [](std::int64_t count) { return ceil_div(count, 4) * 4; };
  const std::int64_t pixel = windows.channels <= 2 ? windows.channels : fours(windows.channels);
  return {pixel, fours(windows.taps() * pixel)};
}

struct XGradMemory {
  WindowColumns of_windows;
  std::int64_t step;
  MemoryLayout layout;
  OutGradRows out_grad;
  TemporaryArray weight, columns, gemm;

  XGradMemory(const Context& ctx, const Windows& windows, const TensorRef& weight_tensor,
              const TensorRef& out_grad_tensor)
      : of_windows(columns_of(windows)),
        step(images_at_once(windows, of_windows.row, arithmetic_type(weight_tensor.type()))) {
    const ElementType type = weight_tensor.type();
    out_grad = OutGradRows(layout, windows, out_grad_tensor, step);
    weight = TemporaryArray(layout, windows.out_channels * of_windows.row, size_of(type));
    columns = TemporaryArray(layout, step * windows.pixels() * of_windows.row, arithmetic_size(type));
    gemm = TemporaryArray(layout, static_cast<std::int64_t>(blas::gemm_workspace(ctx)), 1);
  }

  /// The weight's elements in a copy that has its channels last.
  TensorRef weight_in(void* memory, const TensorRef& tensor) const {
    const std::int64_t pixel = of_windows.pixel, kernel_width = tensor.extent(3);
    return {weight.in(memory),
            tensor.type(),
            tensor.extents(),
            {of_windows.row, 1, kernel_width * pixel, pixel},
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
  const std::int64_t m = windows.out_channels, row = plan.of_windows.row;
  const Matrices matrix(ctx, type), sums(ctx, sum_type);
  const Workspace gemm_workspace{plan.gemm.in(memory.data()), blas::gemm_workspace(ctx)};
  void* const weight_copy = plan.weight.in(memory.data());
  void* const columns = plan.columns.in(memory.data());
  dispatch(ctx.backend(), type, [&]<Backend B, class T>() {
    if (row != windows.column()) {
      ConvolutionKernels<B, T>::zero(ctx, zero_label, weight_copy, static_cast<std::size_t>(m * row) * sizeof(T));
    }
    strided_copy(ctx, copy_labels, make_copy_plan(weight, plan.weight_in(memory.data(), weight)));
    for_steps(windows.images, plan.step, [&](std::int64_t first, std::int64_t count) {
      Copies copies;
      const TensorRef grads =
          plan.out_grad.rows(ctx, Conv2dConvolution::labels(), windows, out_grad, first, count, memory.data(), copies);
      ConvolutionKernels<B, T>::copy(ctx, out_grad_label, copies);
      blas::gemm(of_products(ctx), blas::Transpose::no, blas::Transpose::no, 1.0, grads,
                 matrix(weight_copy, m, row, row), 0.0, sums(columns, count * windows.pixels(), row, row), {},
                 gemm_workspace);
      Windows of_step = windows;
      of_step.images = count;
      Conv2dKernels<B, T>::columns_to_x(ctx, of_step, plan.of_windows, columns, tensor4(x_grad, first));
    });
  });
}

std::size_t x_grad_by_columns_workspace(const Context& ctx, const Windows& windows, const TensorRef& weight,
                                        const TensorRef& out_grad) {
  return XGradMemory(ctx, windows, weight, out_grad).layout.bytes();
}

}  // namespace portops::impl
