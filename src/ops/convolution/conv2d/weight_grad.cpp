// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/weight_grad.hpp"

#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/images_at_once.hpp"
#include "ops/convolution/conv2d/pointwise.hpp"
#include "ops/convolution/weight_grad.hpp"

namespace portops::impl {
namespace {

/// Whether x is a matrix of the windows as it lies.
bool holds_windows(const Windows& windows, const TensorRef& x) {
  return is_pointwise(windows) && is_matrix_of_pixels(x);
}

struct WeightGradMemory {
  std::int64_t step, steps;
  MemoryLayout layout;
  Im2colArrays arrays;
  OutGradRows out_grad;
  WeightGrad weight_grad;

  WeightGradMemory(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad_tensor,
                   const TensorRef& weight_grad_tensor)
      : step(images_at_once(windows, x.type())),
        steps(steps_of(windows.images, step)),
        arrays(layout, ctx, windows, x, weight_grad_tensor, holds_windows(windows, x) ? 0 : step, false),
        out_grad(layout, windows, out_grad_tensor, step),
        weight_grad(layout, weight_grad_tensor, steps) {}
};

}  // namespace

void conv2d_weight_grad(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                        const TensorRef& weight_grad) {
  static const std::string out_grad_label = "portops::conv2d_grad::out_grad[channels_last]";
  static const std::string add_label = "portops::conv2d_grad::add[weight_grad]";
  static const std::string label = "portops::conv2d_grad::weight_grad[strided]";
  const WeightGradMemory plan(ctx, windows, x, out_grad, weight_grad);
  const Temporary memory(ctx, "portops::conv2d_grad::workspace", plan.layout.bytes());
  const Matrices matrix(ctx, x.type());
  dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    const Im2col<Conv2dConvolution, B, T> im2col(ctx, plan.arrays, memory.data(), weight_grad);
    for_steps(windows.images, plan.step, [&](std::int64_t first, std::int64_t count) {
      TensorRef columns;
      if (holds_windows(windows, x)) {
        columns = matrix(tensor4(x, first).data, count * windows.pixels(), windows.group_channels(), pixel_distance(x));
      } else {
        const ImageStep s = im2col.step(windows, first, count, x, {}, {});
        Conv2dKernels<B, T>::columns(ctx, s);
        columns = matrix(s.columns, count * windows.pixels(), windows.group_column(), windows.column());
      }
      const TensorRef grads =
          plan.out_grad.rows<B, T>(ctx, out_grad_label, windows, out_grad, first, count, memory.data());
      plan.weight_grad.add<B, T>(ctx, add_label, windows, first / plan.step, grads, columns, memory.data(),
                                 im2col.workspace());
    });
    plan.weight_grad.finish<B, T>(ctx, add_label, label, windows, plan.steps, weight_grad, memory.data());
  });
}

std::size_t weight_grad_workspace(const Context& ctx, const Windows& windows, const TensorRef& x,
                                  const TensorRef& out_grad, const TensorRef& weight_grad) {
  return WeightGradMemory(ctx, windows, x, out_grad, weight_grad).layout.bytes();
}

}  // namespace portops::impl
