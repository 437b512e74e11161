// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/sparse_rows/sparse_update.hpp"

namespace portops::impl {

/// The constants of an update by momentum, and by Adam with its corrections worked into them.
struct MomentumNumbers {
  double learning_rate;
  double mu;
  bool use_nesterov;
};
struct AdamNumbers {
  double learning_rate;
  double beta1;
  double beta2;
  double epsilon;
};

/// The launches of the updates on one backend for one element type. Defined in sparse_update_kernels_impl.hpp and
/// compiled once for each pair.
template <Backend B, class T>
struct SparseUpdateKernels {
  /// Updates param.
  static void sgd(const Context& ctx, const SparseUpdate& update, double learning_rate);
  /// Updates param and velocity.
  static void momentum(const Context& ctx, const SparseUpdate& update, const MomentumNumbers& numbers);
  /// Updates param, moment1 and moment2.
  static void adam(const Context& ctx, const SparseUpdate& update, const AdamNumbers& numbers);
};

}  // namespace portops::impl
