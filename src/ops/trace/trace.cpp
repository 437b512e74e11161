// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/trace/trace.hpp"

#include "core/check/check.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/loop/axes.hpp"
#include "ops/trace/trace_extents.hpp"
#include "ops/trace/trace_kernels.hpp"

#include <algorithm>
#include <array>

namespace portops {
namespace {

using impl::Diagonal;
using impl::Named;

std::string describe(const Diagonal& diagonal) {
  return "the extents of x without axes " + std::to_string(std::min(diagonal.axis1, diagonal.axis2)) + " and " +
         std::to_string(std::max(diagonal.axis1, diagonal.axis2));
}

/// The diagonals as a tensor: the kept axes, then the diagonal.
TensorRef diagonals_of(const TensorRef& x, const Diagonal& diagonal) {
  Extents extents = Extents::of_rank(x.rank() - 1), strides = extents;
  int axis = 0;
  for (int of_x = 0; of_x < x.rank(); ++of_x) {
    if (of_x == diagonal.axis1 || of_x == diagonal.axis2) continue;
    extents[axis] = x.extent(of_x);
    strides[axis++] = x.stride(of_x);
  }
  const std::int64_t down = x.stride(diagonal.axis1), across = x.stride(diagonal.axis2);
  extents[axis] = diagonal.length;
  strides[axis] = down + across;
  auto* data = static_cast<std::byte*>(x.data());
  if (diagonal.length > 0) {
    data += (diagonal.row * down + diagonal.column * across) * static_cast<std::int64_t>(size_of(x.type()));
  }
  return {data, x.type(), extents, strides, x.space(), x.read_only()};
}

Diagonal check_trace(const Context& ctx, const TensorRef& x, const TensorRef& out, const TraceParams& params) {
  constexpr std::string_view op = "trace";
  impl::check_input(op, ctx, {"x", x}, x.type(), "x");
  const Diagonal diagonal = impl::find_diagonal(op, x.extents(), params);
  impl::check_output(op, ctx, {"out", out}, x.type(), "x", diagonal.kept, describe(diagonal));
  impl::check_no_overlap(op, {"out", out}, std::array{Named{"x", x}});
  return diagonal;
}

impl::Loop make_loop(const TensorRef& x, const TensorRef& out, const Diagonal& diagonal) {
  const TensorRef diagonals = diagonals_of(x, diagonal);
  impl::AxisSet reduced{};
  reduced[static_cast<std::size_t>(diagonals.rank() - 1)] = true;
  return impl::make_reduction(diagonals, impl::with_reduced_axes(out, diagonals.extents(), reduced, false), reduced);
}

}  // namespace

void trace(const Context& ctx, const TensorRef& x, const TensorRef& out, const TraceParams& params) {
  const impl::Region region("portops::trace");
  const Diagonal diagonal = check_trace(ctx, x, out, params);
  if (out.size() == 0) return;
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    using Kernels = impl::TraceKernels<B, T>;
    if (diagonal.length > 0) return Kernels::trace(ctx, impl::make_reduce_plan(make_loop(x, out, diagonal)));
    static const impl::FillLabels labels("trace");
    Kernels::fill(ctx, labels, impl::make_zero_plan(out));
  });
}

void trace_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
                const TraceParams& params) {
  const impl::Region region("portops::trace_grad");
  constexpr std::string_view op = "trace_grad";
  const ElementType type = out_grad.type();
  impl::check_input(op, ctx, {"out_grad", out_grad}, type, "out_grad");
  impl::check_shape_only_input(op, {"x", x}, type, "out_grad");
  const Diagonal diagonal = impl::find_diagonal(op, x.extents(), params);
  impl::check_extents(op, {"out_grad", out_grad}, diagonal.kept, describe(diagonal));
  if (!x_grad) return;
  impl::check_output(op, ctx, {"x_grad", x_grad}, type, "out_grad", x.extents(), "the extents of x");
  impl::check_no_overlap(op, {"x_grad", x_grad}, std::array{Named{"x", x}, Named{"out_grad", out_grad}});
  if (x_grad.size() == 0) return;

  const impl::DiagonalPlan plan = impl::make_diagonal_plan(x_grad, out_grad, diagonal);
  static const impl::FillLabels labels("trace_grad");
  impl::dispatch(ctx.backend(), type, [&]<Backend B, class T>() { impl::TraceKernels<B, T>::fill(ctx, labels, plan); });
}

std::size_t trace_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out, const TraceParams& params) {
  const Diagonal diagonal = check_trace(ctx, x, out, params);
  if (out.size() == 0 || diagonal.length == 0) return 0;
  return impl::reduce_workspace(impl::make_reduce_plan(make_loop(x, out, diagonal)), x.type());
}

}  // namespace portops
