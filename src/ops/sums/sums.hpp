// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/axes.hpp"

#include <cstddef>

// What sum and mean are: sums over axes, of which a mean is divided by the number of terms. Arguments are checked.

namespace portops::impl {

enum class SumOp { sum, mean };

/// The axes of a call.
struct SumAxes {
  AxisSet reduced{};
  bool keepdim = false;
};

void reduce_sums(const Context& ctx, SumOp op, const TensorRef& x, const TensorRef& out, const SumAxes& axes);
/// The gradient: each element of out_grad, divided as the sum was, for all terms.
void spread_sums(const Context& ctx, SumOp op, const TensorRef& out_grad, const TensorRef& x_grad, const SumAxes& axes);
std::size_t sums_workspace(const TensorRef& x, const TensorRef& out, const SumAxes& axes);

}  // namespace portops::impl
