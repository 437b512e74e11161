// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/reduce_plan.hpp"
#include "ops/pool2d/pool2d_plan.hpp"

namespace portops::impl {

/// The launches of pool2d and pool2d_grad on one backend for one element type. Defined in pool2d_kernels_impl.hpp and
/// compiled once for each pair.
template <Backend B, class T>
struct Pool2dKernels {
  static void pool(const Context& ctx, const PoolPlan& plan);
  /// Averages of whole images: x → out.
  static void mean(const Context& ctx, const ReducePlan& plan, double size);
  static void grad(const Context& ctx, const PoolPlan& plan);
};

}  // namespace portops::impl
