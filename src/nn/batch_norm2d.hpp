// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/module.hpp"

#include <cstdint>

namespace portops::nn {

struct BatchNorm2dParams {
  /// The share of the running statistics that stays, 1 − PyTorch's.
  double momentum = 0.9;
  double epsilon = 1e-5;
  /// f32 is right for 16-bit x, too.
  ElementType type = ElementType::f32;
};

/// The operator batch_norm, with its parameters and its running statistics, which it changes while it is being trained,
/// and normalises by while it is evaluated. x is [N, channels, …].
///
/// weight [channels] is 1 at first, bias [channels] 0, running_mean 0 and running_var 1, which are f64 where the
/// parameters are, and else f32. Names are those of torch.nn.BatchNorm2d, but that batches are not counted:
/// `num_batches_tracked` in a file is passed over, and PyTorch reads files without it. The errors are those of the
/// operator.
///
/// Where processes share a batch (Module::share_batch), of which each may have any number of items or none, the module
/// is trained by what the operator's formulas give for all of it: saved_mean, saved_inv_std, the running statistics and
/// x_grad are of the elements of all processes, and the same bits on each. The gradients of weight and bias are what
/// the process's own items give to those of the batch, for GradientSum to add up. Processes tell each other moments (a
/// count, a mean and a sum of squared distances, in f64, joined in the order of the ranks by Chan's formula), and in
/// the backward pass, which all of them make or none, two sums. Throws Error besides, on every process, where they have
/// other channels or element types, or one value per channel together; and where the call is recorded.
///
/// Semantics of that: torch.nn.SyncBatchNorm.
class BatchNorm2d : public Module {
 public:
  PORTOPS_EXPORT BatchNorm2d(const Context& ctx, std::int64_t channels, const BatchNorm2dParams& params = {});
  PORTOPS_EXPORT Variable operator()(const Context& ctx, const Variable& x) const;
  void describe(Members& members) override {
    members.parameter("weight", weight).parameter("bias", bias);
    members.buffer("running_mean", running_mean).buffer("running_var", running_var).unused("num_batches_tracked");
  }

  Variable weight;
  Variable bias;
  Variable running_mean;
  Variable running_var;
  BatchNorm2dParams params;
};

}  // namespace portops::nn
