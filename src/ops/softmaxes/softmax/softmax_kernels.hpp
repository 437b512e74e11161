// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/reduce/reduce_plan.hpp"

namespace portops::impl {

/// The launches of softmax and its gradient on one backend for one element type. Defined in softmax_kernels_impl.hpp
/// and compiled once for each pair.
template <Backend B, class T>
struct SoftmaxKernels {
  /// Operands: x → out. Large outputs are streamed past a host's caches.
  static void softmax(const Context& ctx, const ReducePlan& plan, bool streaming);
  /// Operands: out, out_grad → x_grad.
  static void softmax_grad(const Context& ctx, const ReducePlan& plan, bool streaming);
};

}  // namespace portops::impl
