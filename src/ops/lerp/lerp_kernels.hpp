// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"

namespace portops::impl {

/// The launches of the lerp family on one backend for one element type. Defined in lerp_kernels_impl.hpp and compiled
/// once for each pair.
template <Backend B, class T>
struct LerpKernels {
  /// Operands: x, y, weight → out.
  static void lerp(const Context& ctx, const Loop& loop);
  /// Operands: weight, out_grad → x_grad, y_grad.
  static void lerp_grad_xy(const Context& ctx, const Loop& loop);
  /// Operands: x, y, weight, out_grad → x_grad, y_grad, weight_grad.
  static void lerp_grad_xyw(const Context& ctx, const Loop& loop);
};

}  // namespace portops::impl
