// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"

namespace portops::impl {

/// The launches of clip and its gradient on one backend for one element type.
template <Backend B, class T>
struct ClipKernels {
  /// Operands: x → out.
  static void clip(const Context& ctx, const Loop& loop, double min, double max);
  /// Operands: x, out_grad → x_grad.
  static void clip_grad(const Context& ctx, const Loop& loop, double min, double max);
};

}  // namespace portops::impl
