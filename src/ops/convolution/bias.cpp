// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/bias.hpp"

#include "core/exec/dispatch.hpp"
#include "core/loop/axes.hpp"
#include "core/loop/loop.hpp"
#include "core/map/broadcast_kernels.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "ops/convolution/convolution_kernels.hpp"

#include <array>

namespace portops::impl {
namespace {

ReducePlan bias_grad_plan(const TensorRef& out_grad, const TensorRef& bias_grad) {
  const AxisSet reduced{true, false, true, true};
  const TensorRef spread = with_reduced_axes(bias_grad, out_grad.extents(), reduced, false);
  return make_reduce_plan(make_reduction(out_grad, spread, reduced));
}

}  // namespace

void fill_with_bias(const Context& ctx, const ConvolutionLabels& labels, const TensorRef& tensor,
                    const TensorRef& bias) {
  if (!tensor || tensor.size() == 0) return;
  const TensorOrNumber value =
      bias ? TensorRef(bias.data(), bias.type(), {bias.extent(0), 1, 1}, {bias.stride(0), 0, 0}, bias.space())
           : TensorOrNumber(0.0);
  const Loop loop = make_loop(tensor.type(), tensor.extents(), std::array{&value}, std::array{&tensor});
  dispatch(ctx.backend(), tensor.type(),
           [&]<Backend B, class T>() { BroadcastKernels<B, T>::copy(ctx, labels.bias, loop); });
}

void sum_bias_grad(const Context& ctx, const char* op, const ConvolutionLabels& labels, const TensorRef& out_grad,
                   const TensorRef& bias_grad) {
  if (out_grad.size() == 0) return fill_with_bias(ctx, labels, bias_grad);
  const ReducePlan plan = bias_grad_plan(out_grad, bias_grad);
  dispatch(ctx.backend(), out_grad.type(),
           [&]<Backend B, class T>() { ConvolutionKernels<B, T>::bias_grad(ctx, op, plan); });
}

std::size_t bias_grad_workspace(const TensorRef& out_grad, const TensorRef& bias_grad) {
  return bias_grad && out_grad.size() > 0 ? reduce_workspace(bias_grad_plan(out_grad, bias_grad), out_grad.type()) : 0;
}

}  // namespace portops::impl
