// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/optimizer.hpp"

namespace portops::nn {

struct AdamParams {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  /// Whether the parameter itself decays, as in AdamW.
  bool decoupled_weight_decay = false;
  bool maximize = false;
  /// Whether 16-bit parameters have masters. Those with a sparse gradient cannot: without, they take the sparse steps
  /// themselves, and what is kept of them is of their type.
  bool has_masters = true;
};

/// Adam and AdamW, as torch.optim.Adam and AdamW without amsgrad where all parameters have a gradient in every step.
/// The formulas are those of the operator adam, and for sparse gradients sparse_adam, whose moments of rows that a
/// gradient does not have stay as they are.
///
/// PyTorch counts the steps of each parameter. Here the powers of beta are those of an element type, and advance with
/// every step that a dense parameter of that type takes; sparse steps have those of the optimizer's number of steps. A
/// parameter whose first gradient comes late, in step t, as that of a layer that is unfrozen, is thus moved by
///
///   learning_rate · (1 − beta1) / (1 − beta1^t) · √((1 − beta2^t) / (1 − beta2))
///
/// where PyTorch moves it by learning_rate: by default half as far for t = 10, and 3.2 times as far for large t. With
/// an optimizer of its own, made then, it is moved as by PyTorch.
class Adam final : public Optimizer {
 public:
  PORTOPS_EXPORT Adam(const Context& ctx, const State& parameters, double learning_rate, const AdamParams& params = {});
  PORTOPS_EXPORT ~Adam() override;

 private:
  void sparse_step(const Context& ctx, const SparseStep& step) const override;

  AdamParams params_;
};

}  // namespace portops::nn
