// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/p_norm/p_norm.hpp"

#include "core/check/check.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/loop/axes.hpp"
#include "ops/p_norm/p_norm_kernels.hpp"
#include "ops/p_norm/spread_plan.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace portops {
namespace {

using impl::AxisSet;
using impl::Named;

/// What a call reduces, and so the extents of its results.
struct Reduction {
  AxisSet reduced;
  Extents extents;     ///< of out
  std::string origin;  ///< of these extents, in words
};

std::string describe(const AxisSet& reduced, int rank, bool keepdim) {
  std::string axes;
  int count = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (!reduced[static_cast<std::size_t>(axis)]) continue;
    axes += (count++ == 0 ? " " : ", ") + std::to_string(axis);
  }
  if (count == 0) return "the extents of x";
  return std::string("the extents of x ") + (keepdim ? "with 1 for " : "without ") + (count == 1 ? "axis" : "axes") +
         axes;
}

Reduction check_params(std::string_view op, const TensorRef& x, const PNormParams& params) {
  if (std::isnan(params.porder)) impl::fail("portops::", op, ": porder is nan, expected a number");
  if (!(params.epsilon >= 0.0) || std::isinf(params.epsilon)) {
    impl::fail("portops::", op, ": epsilon is ", params.epsilon, ", expected a finite number that is not negative");
  }
  const AxisSet reduced = impl::reduced_axes(op, x.rank(), params.axis, params.asvector);
  return {reduced, impl::reduced_extents(x.extents(), reduced, params.keepdim),
          describe(reduced, x.rank(), params.keepdim)};
}

Reduction check_p_norm(const Context& ctx, const TensorRef& x, const TensorRef& out, const PNormParams& params) {
  constexpr std::string_view op = "p_norm";
  impl::check_input(op, ctx, {"x", x}, x.type(), "x");
  Reduction reduction = check_params(op, x, params);
  impl::check_output(op, ctx, {"out", out}, x.type(), "x", reduction.extents, reduction.origin);
  impl::check_no_overlap(op, {"out", out}, std::array{Named{"x", x}});
  return reduction;
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

/// Whether the gradient depends on the elements of out.
bool needs_out(const PNormParams& params) { return params.porder != 0.0 && params.porder != 1.0; }

Reduction check_p_norm_grad(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& out_grad,
                            const TensorRef& x_grad, const PNormParams& params) {
  constexpr std::string_view op = "p_norm_grad";
  const ElementType type = x.type();
  impl::check_input(op, ctx, {"x", x}, type, "x");
  Reduction reduction = check_params(op, x, params);
  if (needs_out(params)) {
    impl::check_input(op, ctx, {"out", out}, type, "x");
  } else {
    impl::check_shape_only_input(op, {"out", out}, type, "x");
  }
  impl::check_input(op, ctx, {"out_grad", out_grad}, type, "x");
  for (const Named& result : {Named{"out", out}, Named{"out_grad", out_grad}}) {
    impl::check_extents(op, result, reduction.extents, reduction.origin);
  }
  if (x_grad) {
    impl::check_output(op, ctx, {"x_grad", x_grad}, type, "x", x.extents(), "the extents of x");
    impl::check_in_place(op, {"x_grad", x_grad}, {"x", x});
    impl::check_no_overlap(op, {"x_grad", x_grad}, std::array{Named{"out", out}, Named{"out_grad", out_grad}});
  }
  return reduction;
}

impl::Loop make_grad_loop(const TensorRef& x, const TensorRef& out, const TensorRef& out_grad, const TensorRef& x_grad,
                          const Reduction& reduction, const PNormParams& params) {
  const TensorOrNumber x_operand = x;
  // Where out is not needed, it may be without elements, or anywhere: any tensor of its extents will do.
  const TensorOrNumber out_operand =
      impl::with_reduced_axes(needs_out(params) ? out : out_grad, x.extents(), reduction.reduced, params.keepdim);
  const TensorOrNumber out_grad_operand =
      impl::with_reduced_axes(out_grad, x.extents(), reduction.reduced, params.keepdim);
  return impl::make_loop(x.type(), x.extents(), std::array{&x_operand, &out_operand, &out_grad_operand},
                         std::array{&x_grad}, reduction.reduced);
}

}  // namespace

void p_norm(const Context& ctx, const TensorRef& x, const TensorRef& out, const PNormParams& params) {
  const impl::Region region("portops::p_norm");
  const Reduction reduction = check_p_norm(ctx, x, out, params);
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
  const Reduction reduction = check_p_norm_grad(ctx, x, out, out_grad, x_grad, params);
  if (!x_grad || x.size() == 0) return;
  const impl::Loop loop = make_grad_loop(x, out, out_grad, x_grad, reduction, params);
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    const impl::ReducePlan plan = impl::make_spread_plan(loop, B, std::isinf(params.porder));
    impl::PNormGradKernels<B, T>::p_norm_grad(ctx, plan, params.porder, params.epsilon, impl::writes_much(loop));
  });
}

std::size_t p_norm_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out, const PNormParams& params) {
  const Reduction reduction = check_p_norm(ctx, x, out, params);
  if (x.size() == 0) return 0;
  return impl::reduce_workspace(impl::make_reduce_plan(make_loop(x, out, reduction, params.keepdim)), x.type());
}

std::size_t p_norm_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                  const TensorRef& out_grad, const TensorRef& x_grad, const PNormParams& params) {
  const Reduction reduction = check_p_norm_grad(ctx, x, out, out_grad, x_grad, params);
  if (!x_grad || x.size() == 0 || !std::isinf(params.porder)) return 0;
  const impl::Loop loop = make_grad_loop(x, out, out_grad, x_grad, reduction, params);
  return impl::count_workspace(impl::make_spread_plan(loop, ctx.backend(), true));
}

}  // namespace portops
