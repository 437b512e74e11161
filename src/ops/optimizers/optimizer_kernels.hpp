// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/optimizers/step_lists.hpp"

#include <cstddef>
#include <cstdint>

namespace portops::impl {

/// What all steps take besides the lists. A tensor that is not given stands for a gradient's factor of 1, or for no
/// reason to skip.
struct StepOptions {
  const TensorOrNumber& learning_rate;
  const TensorRef& grad_scale;
  const TensorRef& skip;
  double weight_decay;
  bool is_decoupled;
  bool maximize;
};
struct MomentumOptions {
  double mu;
  bool use_nesterov;
};
struct AdamOptions {
  const TensorOrNumber& beta1_pow;
  const TensorOrNumber& beta2_pow;
  const TensorRef& beta1_pow_out;  ///< may be empty
  const TensorRef& beta2_pow_out;
  double beta1;
  double beta2;
  double epsilon;
};

/// The most tensors of counts that update_loss_scale takes.
inline constexpr std::size_t most_nonfinite = 8;

/// A call of update_loss_scale. Numbers are of its element type or, where that is said, i64; what is null is not
/// wanted.
struct ScaleUpdate {
  const void* scale;
  void* scale_out;
  void* grad_scale;
  const std::int64_t* good_steps;
  std::int64_t* good_steps_out;
  std::int64_t* skip;
  int lists;  ///< that nonfinite has
  double growth_factor;
  double backoff_factor;
  std::int64_t growth_interval;
  double largest;
  const std::int64_t* nonfinite[most_nonfinite] = {};
};

/// The launches of the steps on one backend for one element type. Defined in optimizer_kernels_impl.hpp and compiled
/// once for each pair. The lists are in the order of StepOperands.
template <Backend B, class T>
struct OptimizerKernels {
  static void sgd(const Context& ctx, const StepLists& lists, bool has_master, const StepOptions& options);
  static void momentum(const Context& ctx, const StepLists& lists, bool has_master, const StepOptions& options,
                       const MomentumOptions& own);
  static void adam(const Context& ctx, const StepLists& lists, bool has_master, const StepOptions& options,
                   const AdamOptions& own);
  /// Writes how many elements of the lists' one operand are not finite.
  static void count_nonfinite(const Context& ctx, const StepLists& lists, std::int64_t* count);
  static void update_loss_scale(const Context& ctx, const ScaleUpdate& update);
};

}  // namespace portops::impl
