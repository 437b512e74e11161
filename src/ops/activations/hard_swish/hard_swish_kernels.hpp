// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"

namespace portops::impl {

/// The launches of hard_swish and its gradient on one backend for one element type.
template <Backend B, class T>
struct HardSwishKernels {
  /// Operands: x → out.
  static void hard_swish(const Context& ctx, const Loop& loop);
  /// Operands: x, out_grad → x_grad.
  static void hard_swish_grad(const Context& ctx, const Loop& loop);
};

}  // namespace portops::impl
