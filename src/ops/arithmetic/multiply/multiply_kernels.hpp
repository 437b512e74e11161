// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"

namespace portops::impl {

/// The launches of multiply and its gradients on one backend for one element type.
template <Backend B, class T>
struct MultiplyKernels {
  /// Operands: x, y → out, where y is broadcast if either is.
  static void multiply(const Context& ctx, const Loop& loop);
  /// Operands: x, y, out_grad → x_grad, y_grad; or the other operand, out_grad → one gradient.
  static void multiply_grad(const Context& ctx, const Loop& loop);
};

}  // namespace portops::impl
