// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/arithmetic/gradient_sums.hpp"

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

}  // namespace

bool is_reduction(const Loop& loop, Backend backend) {
  if (backend == Backend::cuda) return loop.rank > 0 && loop.reduced[loop.rank - 1];
  for (int axis = 0; axis < loop.rank; ++axis) {
    if (loop.reduced[axis]) return true;
  }
  return false;
}

Loop make_gradient_sum(const TensorRef& out_grad, const TensorRef& gradient, Backend backend) {
  const Extents& extents = out_grad.extents();
  if (out_grad.size() > 0) {
    const Loop loop = make_reduction(out_grad, gradient, summed_axes(gradient, extents));
    if (is_reduction(loop, backend)) return loop;
  }
  const TensorOrNumber operand = out_grad;
  return make_loop(out_grad.type(), extents, std::array{&operand}, std::array{&gradient});
}

}  // namespace portops::impl
