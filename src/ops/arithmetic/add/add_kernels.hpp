// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"
#include "core/reduce/reduce_plan.hpp"

namespace portops::impl {

/// The launches of the add family on one backend for one element type. Defined in add_kernels_impl.hpp and compiled
/// once for each pair.
template <Backend B, class T>
struct AddKernels {
  /// Operands: x, y → out, where y is broadcast if either is.
  static void add(const Context& ctx, const Loop& loop);
  /// Operands: out_grad → one gradient or both.
  static void add_grad(const Context& ctx, const Loop& loop);
  /// One gradient that is summed along the last axis. Operands: out_grad → the gradient.
  static void sum_grad(const Context& ctx, const ReducePlan& plan);
};

}  // namespace portops::impl
