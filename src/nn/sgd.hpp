// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/optimizer.hpp"

namespace portops::nn {

struct SgdParams {
  /// The share of the velocity that stays; 0: no velocities.
  double momentum = 0.0;
  bool use_nesterov = false;
  double weight_decay = 0.0;
  bool maximize = false;
  /// Whether 16-bit parameters have masters. Those with a sparse gradient cannot: without, they take the sparse steps
  /// themselves, and what is kept of them is of their type.
  bool has_masters = true;
};

/// Gradient descent, with or without momentum, as torch.optim.SGD without dampening. The formulas are those of the
/// operators sgd and momentum, and for sparse gradients sparse_sgd and sparse_momentum: the velocities of rows that a
/// gradient does not have stay as they are.
class Sgd final : public Optimizer {
 public:
  PORTOPS_EXPORT Sgd(const Context& ctx, const State& parameters, double learning_rate, const SgdParams& params = {});
  PORTOPS_EXPORT ~Sgd() override;

 private:
  static Rules rules_of(const SgdParams& params);
  void sparse_step(const Context& ctx, const SparseStep& step) const override;

  SgdParams params_;
};

}  // namespace portops::nn
