// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <span>

namespace portops {

struct SgdParams {
  /// The parameters in the type of sums, one for each of param: the step is taken there, and param_out is what they are
  /// rounded to. Their results go to master_param_out.
  std::span<const TensorRef> master_param = {};
  /// What the loss was multiplied by, a tensor of extents []: gradients are divided by it.
  TensorRef grad_scale = {};
  /// A tensor of i64 and extents []: where it is not 0, no step is taken.
  TensorRef skip = {};
  double weight_decay = 0.0;
  bool maximize = false;
};

/// A step of gradient descent, for each parameter of a list:
///
///   param_out[i] = param[i] − learning_rate · g,    g = ± grad[i] / grad_scale + weight_decay · param[i]
///
/// with − for maximize. All parameters take the step in one kernel, as far as they, their gradients and results lie
/// alike and without gaps; any other strides work, with a kernel for each such tensor. Parameters may be of extents 0.
///
/// param and grad are lists of the same lengths and extents, of f64, f32, f16 or bf16. The type of sums is f64 for f64,
/// else f32; the step is computed in it and rounded once. learning_rate is a number, or a tensor of that type and of
/// extents [], which is read when the kernels run: a captured graph follows it. param_out[i] may be param[i], and
/// master_param_out[i] master_param[i] (in place). Where skip is not 0, every result is what it was made of; with
/// master parameters, param_out is these rounded.
///
/// Throws Error where the lists do not fit, where master_param is given without master_param_out or the other way
/// round, and where the tensors overlap otherwise.
///
/// Semantics: PyTorch's SGD without momentum, its decay included; Paddle's sgd with multi_precision.
PORTOPS_EXPORT void sgd(const Context& ctx, std::span<const TensorRef> param, std::span<const TensorRef> grad,
                        const TensorOrNumber& learning_rate, std::span<const TensorRef> param_out,
                        std::span<const TensorRef> master_param_out, const SgdParams& params = {});

}  // namespace portops
