// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/softmaxes/softmax/softmax.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/loop/axes.hpp"
#include "generated/checks.hpp"
#include "ops/softmaxes/softmax/softmax_kernels.hpp"
#include "ops/softmaxes/softmax_plan.hpp"

#include <array>

namespace portops {
namespace {

impl::AxisSet axis_of(std::string_view op, const TensorRef& x, const SoftmaxParams& params) {
  return impl::reduced_axes(op, x.rank(), std::array{params.axis}, false);
}

impl::Loop check(const Context& ctx, const TensorRef& x, const TensorRef& out, const SoftmaxParams& params) {
  impl::check_softmax(ctx, x, out);
  const TensorOrNumber x_operand = x;
  return impl::make_loop(x.type(), x.extents(), std::array{&x_operand}, std::array{&out},
                         axis_of("softmax", x, params));
}

impl::Loop check_grad(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& out_grad,
                      const TensorRef& x_grad, const SoftmaxParams& params) {
  impl::check_softmax_grad(ctx, x, out, out_grad, x_grad);
  const TensorOrNumber out_operand = out, out_grad_operand = out_grad;
  return impl::make_loop(x.type(), x.extents(), std::array{&out_operand, &out_grad_operand}, std::array{&x_grad},
                         axis_of("softmax_grad", x, params));
}

}  // namespace

void softmax(const Context& ctx, const TensorRef& x, const TensorRef& out, const SoftmaxParams& params) {
  const impl::Region region("portops::softmax");
  const impl::Loop loop = check(ctx, x, out, params);
  if (out.size() == 0) return;
  const impl::ReducePlan plan = impl::make_softmax_plan(loop, ctx.backend());
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    impl::SoftmaxKernels<B, T>::softmax(ctx, plan, impl::writes_much(loop));
  });
}

void softmax_grad(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& out_grad,
                  const TensorRef& x_grad, const SoftmaxParams& params) {
  const impl::Region region("portops::softmax_grad");
  const impl::Loop loop = check_grad(ctx, x, out, out_grad, x_grad, params);
  if (!x_grad || x_grad.size() == 0) return;
  const impl::ReducePlan plan = impl::make_softmax_plan(loop, ctx.backend());
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    impl::SoftmaxKernels<B, T>::softmax_grad(ctx, plan, impl::writes_much(loop));
  });
}

std::size_t softmax_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                              const SoftmaxParams& params) {
  const impl::Loop loop = check(ctx, x, out, params);
  if (out.size() == 0) return 0;
  return impl::softmax_memory(impl::make_softmax_plan(loop, ctx.backend()), x.type(), 2);
}

std::size_t softmax_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                   const TensorRef& out_grad, const TensorRef& x_grad, const SoftmaxParams& params) {
  const impl::Loop loop = check_grad(ctx, x, out, out_grad, x_grad, params);
  if (!x_grad || x_grad.size() == 0) return 0;
  return impl::softmax_memory(impl::make_softmax_plan(loop, ctx.backend()), x.type(), 1);
}

}  // namespace portops
