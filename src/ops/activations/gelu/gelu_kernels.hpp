// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"

namespace portops::impl {

/// The launches of gelu and its gradient on one backend for one element type. `by_tanh`: of its approximation.
template <Backend B, class T>
struct GeluKernels {
  /// Operands: x → out.
  static void gelu(const Context& ctx, const Loop& loop, bool by_tanh);
  /// Operands: x, out_grad → x_grad.
  static void gelu_grad(const Context& ctx, const Loop& loop, bool by_tanh);
};

}  // namespace portops::impl
