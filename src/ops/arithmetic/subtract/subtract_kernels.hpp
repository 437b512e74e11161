// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"
#include "core/reduce/reduce_plan.hpp"

namespace portops::impl {

/// The launches of subtract and its gradients on one backend for one element type.
template <Backend B, class T>
struct SubtractKernels {
  /// Operands: x, y → out.
  static void subtract(const Context& ctx, const Loop& loop);
  /// Operands: out_grad → x_grad, y_grad; or one of them, that of y being `negated`.
  static void subtract_grad(const Context& ctx, const Loop& loop, bool negated);
  /// One gradient that is summed along the last axis. Operands: out_grad → the gradient.
  static void sum_grad(const Context& ctx, const ReducePlan& plan, bool negated);
};

}  // namespace portops::impl
