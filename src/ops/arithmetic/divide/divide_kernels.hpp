// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"

namespace portops::impl {

/// The launches of divide and its gradients on one backend for one element type.
template <Backend B, class T>
struct DivideKernels {
  /// Operands: x, y → out.
  static void divide(const Context& ctx, const Loop& loop);
  /// Operands: x, y, out_grad → x_grad, y_grad, or y_grad alone; or y, out_grad → x_grad.
  static void divide_grad(const Context& ctx, const Loop& loop);
};

}  // namespace portops::impl
