// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <span>

namespace portops {

struct MomentumParams {
  /// As in SgdParams.
  std::span<const TensorRef> master_param = {};
  TensorRef grad_scale = {};
  TensorRef skip = {};
  /// The share of the velocity that stays.
  double mu = 0.9;
  bool use_nesterov = false;
  double weight_decay = 0.0;
  bool maximize = false;
};

/// A step of gradient descent with momentum, for each parameter of a list:
///
///   velocity_out[i] = mu · velocity[i] + g,    g = ± grad[i] / grad_scale + weight_decay · param[i]
///   param_out[i]    = param[i] − learning_rate · velocity_out[i]
///   param_out[i]    = param[i] − learning_rate · (g + mu · velocity_out[i])    with use_nesterov
///
/// velocity and velocity_out are lists of the lengths and extents of param, in the type of sums (f64 for f64, else
/// f32); velocity_out[i] may be velocity[i] (in place). Velocities begin as zeros. All that is said of sgd holds.
///
/// Semantics: PyTorch's SGD with momentum and without dampening; Paddle's momentum with multi_precision.
PORTOPS_EXPORT void momentum(const Context& ctx, std::span<const TensorRef> param, std::span<const TensorRef> grad,
                             std::span<const TensorRef> velocity, const TensorOrNumber& learning_rate,
                             std::span<const TensorRef> param_out, std::span<const TensorRef> velocity_out,
                             std::span<const TensorRef> master_param_out, const MomentumParams& params = {});

}  // namespace portops
