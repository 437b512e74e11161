// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/arithmetic/gradient_sums.hpp"

#include "core/map/sum_plan.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "core/types/overlap.hpp"

#include <array>

namespace portops::impl {
namespace {

/// The axes along which a gradient is summed: those that the operand lacks, or has extent 1 of.
AxisSet summed_axes(const TensorRef& gradient, const Extents& extents) {
  AxisSet summed{};
  for (int axis = 0; axis < extents.rank(); ++axis) {
    const int own = axis - (extents.rank() - gradient.rank());
    summed[static_cast<std::size_t>(axis)] = extents[axis] != 1 && (own < 0 || gradient.extent(own) == 1);
  }
  return summed;
}

/// The loop of one gradient.
Loop make_gradient_sum(const TensorRef& out_grad, const TensorRef& gradient, Backend backend) {
  const Extents& extents = out_grad.extents();
  if (out_grad.size() > 0) {
    const Loop loop = make_reduction(out_grad, gradient, summed_axes(gradient, extents));
    if (is_reduction(loop, backend)) return loop;
  }
  const TensorOrNumber operand = out_grad;
  return make_loop(out_grad.type(), extents, std::array{&operand}, std::array{&gradient});
}

}  // namespace

bool is_reduction(const Loop& loop, Backend backend) {
  if (backend == Backend::cuda) return loop.rank > 0 && loop.reduced[loop.rank - 1];
  for (int axis = 0; axis < loop.rank; ++axis) {
    if (loop.reduced[axis]) return true;
  }
  return false;
}

std::optional<Loop> make_gradient_sums(const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad,
                                       Backend backend) {
  const bool with_x = x_grad && !coincide(x_grad, out_grad);  // else it is there already
  if (!with_x && !y_grad) return {};
  if (!with_x || !y_grad) return make_gradient_sum(out_grad, with_x ? x_grad : y_grad, backend);
  const TensorOrNumber operand = out_grad;
  return make_loop(out_grad.type(), out_grad.extents(), std::array{&operand}, std::array{&x_grad, &y_grad});
}

std::size_t gradient_sums_workspace(const std::optional<Loop>& loop, Backend backend) {
  if (!loop) return 0;
  return is_reduction(*loop, backend) ? reduce_workspace(make_reduce_plan(*loop), loop->type)
                                      : map_workspace(*loop, backend);
}

}  // namespace portops::impl
