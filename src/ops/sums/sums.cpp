// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sums/sums.hpp"

#include "core/exec/dispatch.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "ops/sums/sums_kernels.hpp"

#include <array>

namespace portops::impl {
namespace {

/// What the sums over axes of a tensor are divided by.
double divisor_of(SumOp op, const Extents& extents, const AxisSet& reduced) {
  double terms = 1.0;
  for (int axis = 0; axis < extents.rank(); ++axis) {
    if (reduced[static_cast<std::size_t>(axis)]) terms *= static_cast<double>(extents[axis]);
  }
  return op == SumOp::mean ? terms : 1.0;
}

ReducePlan make_plan(const TensorRef& x, const TensorRef& out, const SumAxes& axes) {
  const TensorRef results = with_reduced_axes(out, x.extents(), axes.reduced, axes.keepdim);
  return make_reduce_plan(make_reduction(x, results, axes.reduced));
}

}  // namespace

void reduce_sums(const Context& ctx, SumOp op, const TensorRef& x, const TensorRef& out, const SumAxes& axes) {
  if (out.size() == 0) return;
  const double divisor = divisor_of(op, x.extents(), axes.reduced);
  dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    using Kernels = SumsKernels<B, T>;
    if (x.size() > 0) return Kernels::reduce(ctx, op, make_plan(x, out, axes), divisor);
    // Sums of nothing: 0 divided by 1 or, of a mean, by 0.
    const TensorOrNumber nothing = 0.0;
    Kernels::divide(ctx, op, make_loop(out.type(), out.extents(), std::array{&nothing}, std::array{&out}), divisor);
  });
}

void spread_sums(const Context& ctx, SumOp op, const TensorRef& out_grad, const TensorRef& x_grad,
                 const SumAxes& axes) {
  if (x_grad.size() == 0) return;
  const TensorOrNumber sums = with_reduced_axes(out_grad, x_grad.extents(), axes.reduced, axes.keepdim);
  const Loop loop = make_loop(x_grad.type(), x_grad.extents(), std::array{&sums}, std::array{&x_grad});
  const double divisor = divisor_of(op, x_grad.extents(), axes.reduced);
  dispatch(ctx.backend(), x_grad.type(),
           [&]<Backend B, class T>() { SumsKernels<B, T>::divide(ctx, op, loop, divisor); });
}

std::size_t sums_workspace(const TensorRef& x, const TensorRef& out, const SumAxes& axes) {
  return x.size() == 0 ? 0 : reduce_workspace(make_plan(x, out, axes), x.type());
}

}  // namespace portops::impl
