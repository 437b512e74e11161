// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"

namespace portops::impl {

/// The launches of tanh and its gradient on one backend for one element type.
template <Backend B, class T>
struct TanhKernels {
  /// Operands: x → out.
  static void tanh(const Context& ctx, const Loop& loop);
  /// Operands: out, out_grad → x_grad.
  static void tanh_grad(const Context& ctx, const Loop& loop);
};

}  // namespace portops::impl
