// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/p_norm/p_norm.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/loop/axes.hpp"
#include "core/reduce/spread_plan.hpp"
#include "generated/checks.hpp"
#include "ops/p_norm/p_norm_kernels.hpp"
#include "ops/p_norm/p_norm_rules.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace portops {
namespace {

using impl::Reduction;

/// What the schema does not say of the options.
void check_params(std::string_view op, const PNormParams& params) {
  if (std::isnan(params.porder)) impl::fail("portops::", op, ": porder is nan, expected a number");
  if (!(params.epsilon >= 0.0) || std::isinf(params.epsilon)) {
    impl::fail("portops::", op, ": epsilon is ", params.epsilon, ", expected a finite number that is not negative");
  }
}

Reduction check(const Context& ctx, const TensorRef& x, const TensorRef& out, const PNormParams& params) {
  check_params("p_norm", params);
  return impl::check_p_norm(ctx, x, out, params);
}

Reduction check_grad(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& out_grad,
                     const TensorRef& x_grad, const PNormParams& params) {
  check_params("p_norm_grad", params);
  return impl::check_p_norm_grad(ctx, x, out, out_grad, x_grad, params);
}

impl::Loop make_loop(const TensorRef& x, const TensorRef& out, const Reduction& reduction, bool keepdim) {
  const TensorRef results = impl::with_reduced_axes(out, x.extents(), reduction.reduced, keepdim);
  return impl::make_reduction(x, results, reduction.reduced);
}

/// The norm of one element is its magnitude, of which no power and root need be taken.
double order_of(const TensorRef& x, const TensorRef& out, const PNormParams& params) {
  const bool is_magnitude = params.porder != 0.0 && x.size() == out.size();
  return is_magnitude ? std::numeric_limits<double>::infinity() : params.porder;
}

impl::Loop make_grad_loop(const TensorRef& x, const TensorRef& out, const TensorRef& out_grad, const TensorRef& x_grad,
                          const Reduction& reduction, const PNormParams& params) {
  const TensorOrNumber x_operand = x;
  // Where out is not needed, it may be without elements, or anywhere: any tensor of its extents will do.
  const TensorRef& norms = impl::p_norm_grad_needs_buffer(params.porder) ? out : out_grad;
  const TensorOrNumber out_operand = impl::with_reduced_axes(norms, x.extents(), reduction.reduced, params.keepdim);
  const TensorOrNumber out_grad_operand =
      impl::with_reduced_axes(out_grad, x.extents(), reduction.reduced, params.keepdim);
  return impl::make_loop(x.type(), x.extents(), std::array{&x_operand, &out_operand, &out_grad_operand},
                         std::array{&x_grad}, reduction.reduced);
}

}  // namespace

void p_norm(const Context& ctx, const TensorRef& x, const TensorRef& out, const PNormParams& params) {
  const impl::Region region("portops::p_norm");
  const Reduction reduction = check(ctx, x, out, params);
  if (out.size() == 0) return;
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    using Kernels = impl::PNormKernels<B, T>;
    if (x.size() > 0) {
      const impl::Loop loop = make_loop(x, out, reduction, params.keepdim);
      return Kernels::p_norm(ctx, impl::make_reduce_plan(loop), order_of(x, out, params));
    }
    const TensorRef results = impl::with_reduced_axes(out, x.extents(), reduction.reduced, params.keepdim);
    Kernels::zeros(ctx, impl::make_loop(x.type(), x.extents(), {}, std::array{&results}));
  });
}

void p_norm_grad(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& out_grad,
                 const TensorRef& x_grad, const PNormParams& params) {
  const impl::Region region("portops::p_norm_grad");
  const Reduction reduction = check_grad(ctx, x, out, out_grad, x_grad, params);
  if (!x_grad || x.size() == 0) return;
  const impl::Loop loop = make_grad_loop(x, out, out_grad, x_grad, reduction, params);
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    const impl::ReducePlan plan = impl::make_spread_plan(loop, B, std::isinf(params.porder));
    impl::PNormGradKernels<B, T>::p_norm_grad(ctx, plan, params.porder, params.epsilon, impl::writes_much(loop));
  });
}

std::size_t p_norm_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out, const PNormParams& params) {
  const Reduction reduction = check(ctx, x, out, params);
  if (x.size() == 0) return 0;
  return impl::reduce_workspace(impl::make_reduce_plan(make_loop(x, out, reduction, params.keepdim)), x.type());
}

std::size_t p_norm_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                  const TensorRef& out_grad, const TensorRef& x_grad, const PNormParams& params) {
  const Reduction reduction = check_grad(ctx, x, out, out_grad, x_grad, params);
  if (!x_grad || x.size() == 0 || !std::isinf(params.porder)) return 0;
  const impl::Loop loop = make_grad_loop(x, out, out_grad, x_grad, reduction, params);
  return impl::count_workspace(impl::make_spread_plan(loop, ctx.backend(), true));
}

}  // namespace portops
