// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"

namespace portops::impl {

/// The launches of relu and its gradient on one backend for one element type.
template <Backend B, class T>
struct ReluKernels {
  /// Operands: x → out.
  static void relu(const Context& ctx, const Loop& loop);
  /// Operands: out, out_grad → x_grad.
  static void relu_grad(const Context& ctx, const Loop& loop);
};

}  // namespace portops::impl
