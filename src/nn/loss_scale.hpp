// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor.hpp"
#include "portops/nn/module.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace portops::nn {

struct LossScaleParams {
  double initial = 32768.0;
  /// What the scale is multiplied by after so many steps without an Inf or a NaN, and after one with some.
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;
  /// The scale stays below: as the gradient of a loss in f16 it must be finite.
  double largest = 32768.0;
};

/// A scale that the loss is multiplied by, by way of its gradient, so that small gradients are not lost in f16; each
/// step of the optimizer divides by it:
///
///     ag::backward(ctx, loss, {.loss_grads = {scale.loss_grad(ctx, loss)}});
///     optimizer.step(ctx, scale);
///
/// A step with an Inf or a NaN among the gradients is skipped, and the scale becomes smaller, 2^-24 at the least; after
/// a number of good steps it grows. It lies in the backend's memory, and nothing waits for it, or reads it on the host.
/// A scale belongs to one optimizer. The rule is that of torch.amp.GradScaler, but for the bounds. For losses of f32,
/// f16 and bf16.
class LossScale {
 public:
  PORTOPS_EXPORT explicit LossScale(const Context& ctx, const LossScaleParams& params = {});

  /// Of the extents and the element type of the loss, the scale everywhere.
  PORTOPS_EXPORT Variable loss_grad(const Context& ctx, const Variable& loss) const;
  /// Waits.
  PORTOPS_EXPORT double value(const Context& ctx) const;
  /// `scale` and `good_steps`, which go on being those of this.
  PORTOPS_EXPORT State state() const;
  const LossScaleParams& params() const { return params_; }

 private:
  friend class Optimizer;
  /// Sets grad_scale_ and skip_ by lists of gradients, and then the scale.
  void follow(const Context& ctx, const std::vector<std::span<const TensorRef>>& gradients);

  LossScaleParams params_;
  Tensor scale_, grad_scale_, good_steps_, skip_, counts_;
};

}  // namespace portops::nn
