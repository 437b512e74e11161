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
