// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/reduce/reduce_plan.hpp"

namespace portops::impl {

/// The launches of p_norm on one backend for one element type. Defined in p_norm_kernels_impl.hpp and compiled once for
/// each pair; so are those of p_norm_grad, in files of their own.
template <Backend B, class T>
struct PNormKernels {
  /// Operands: x → out.
  static void p_norm(const Context& ctx, const ReducePlan& plan, double porder);

  /// Writes zeros to the output of a loop without elements.
  static void zeros(const Context& ctx, const Loop& loop);
};

template <Backend B, class T>
struct PNormGradKernels {
  /// Operands: x, out, out_grad → x_grad. Large outputs are streamed past a host's caches.
  static void p_norm_grad(const Context& ctx, const ReducePlan& plan, double porder, double epsilon, bool streaming);
};

}  // namespace portops::impl
