// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/trace/trace.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/loop/axes.hpp"
#include "generated/checks.hpp"
#include "ops/trace/trace_kernels.hpp"

#include <array>

namespace portops {
namespace {

using impl::Diagonal;

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

impl::Loop make_loop(const TensorRef& x, const TensorRef& out, const Diagonal& diagonal) {
  const TensorRef diagonals = diagonals_of(x, diagonal);
  impl::AxisSet reduced{};
  reduced[static_cast<std::size_t>(diagonals.rank() - 1)] = true;
  return impl::make_reduction(diagonals, impl::with_reduced_axes(out, diagonals.extents(), reduced, false), reduced);
}

}  // namespace

void trace(const Context& ctx, const TensorRef& x, const TensorRef& out, const TraceParams& params) {
  const impl::Region region("portops::trace");
  const Diagonal diagonal = impl::check_trace(ctx, x, out, params).diagonal;
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
  const Diagonal diagonal = impl::check_trace_grad(ctx, x, out_grad, x_grad, params).diagonal;
  if (!x_grad || x_grad.size() == 0) return;

  const impl::DiagonalPlan plan = impl::make_diagonal_plan(x_grad, out_grad, diagonal);
  static const impl::FillLabels labels("trace_grad");
  impl::dispatch(ctx.backend(), x_grad.type(),
                 [&]<Backend B, class T>() { impl::TraceKernels<B, T>::fill(ctx, labels, plan); });
}

std::size_t trace_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out, const TraceParams& params) {
  const Diagonal diagonal = impl::check_trace(ctx, x, out, params).diagonal;
  if (out.size() == 0 || diagonal.length == 0) return 0;
  return impl::reduce_workspace(impl::make_reduce_plan(make_loop(x, out, diagonal)), x.type());
}

}  // namespace portops
