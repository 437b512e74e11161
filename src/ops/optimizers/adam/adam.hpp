// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <span>

namespace portops {

struct AdamParams {
  /// As in SgdParams.
  std::span<const TensorRef> master_param = {};
  TensorRef grad_scale = {};
  TensorRef skip = {};
  /// The shares of the moments that stay.
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  /// Whether the parameter itself decays, as in AdamW, and not by way of its gradient.
  bool decoupled_weight_decay = false;
  bool maximize = false;
};

/// A step of Adam, for each parameter of a list:
///
///   moment1_out[i] = beta1 · moment1[i] + (1 − beta1) · g
///   moment2_out[i] = beta2 · moment2[i] + (1 − beta2) · g²
///   param_out[i]   = p − learning_rate · m / (√v + epsilon)
///     m = moment1_out[i] / (1 − beta1_pow),   v = moment2_out[i] / (1 − beta2_pow)
///     g = ± grad[i] / grad_scale + weight_decay · param[i],   p = param[i]
///     g = ± grad[i] / grad_scale,   p = (1 − learning_rate · weight_decay) · param[i]    with decoupled_weight_decay
///
/// moment1, moment2 and their results are lists of the lengths and extents of param, in the type of sums (f64 for f64,
/// else f32); moment1_out[i] may be moment1[i], and moment2_out[i] moment2[i] (in place). Moments begin as zeros.
///
/// beta1_pow and beta2_pow are beta1 and beta2 to the power of the number of this step, which counts from 1: numbers,
/// at least 0 and less than 1, or tensors of f64 and extents [], which are read when the kernels run. beta1_pow_out and
/// beta2_pow_out, tensors of f64 and extents [] too, may be empty; else they become the powers of the next step, and
/// may be beta1_pow and beta2_pow (in place): a captured graph then takes one step after the other. All that is said of
/// sgd holds. A square root of a negative moment2 is NaN.
///
/// Semantics: PyTorch's Adam and AdamW without amsgrad; Paddle's adam and adamw with multi_precision, but for epsilon,
/// which is added as in the paper (D. P. Kingma, J. Ba, Adam: A Method for Stochastic Optimization, ICLR 2015,
/// algorithm 1) and in PyTorch.
PORTOPS_EXPORT void adam(const Context& ctx, std::span<const TensorRef> param, std::span<const TensorRef> grad,
                         std::span<const TensorRef> moment1, std::span<const TensorRef> moment2,
                         const TensorOrNumber& learning_rate, const TensorOrNumber& beta1_pow,
                         const TensorOrNumber& beta2_pow, std::span<const TensorRef> param_out,
                         std::span<const TensorRef> moment1_out, std::span<const TensorRef> moment2_out,
                         const TensorRef& beta1_pow_out, const TensorRef& beta2_pow_out,
                         std::span<const TensorRef> master_param_out, const AdamParams& params = {});

}  // namespace portops
