// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "ops/sums/sums.hpp"

namespace portops::impl {

/// The launches of sum, mean and their gradients on one backend for one element type. Defined in sums_kernels_impl.hpp
/// and compiled once for each pair.
template <Backend B, class T>
struct SumsKernels {
  /// Operands: x → out, the sums divided.
  static void reduce(const Context& ctx, SumOp op, const ReducePlan& plan, double divisor);
  /// Operands: sums → what they are, divided.
  static void divide(const Context& ctx, SumOp op, const Loop& loop, double divisor);
};

}  // namespace portops::impl
