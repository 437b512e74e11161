// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>

namespace portops {

/// The options of linear and linear_grad.
struct LinearParams {
  /// Added to each row of out, [N]; an empty TensorRef adds nothing. The gradients do not depend on it: linear_grad
  /// does not look at it.
  TensorRef bias = {};
  /// Whether the axes of weight are exchanged first.
  bool transpose_weight = false;
};

/// A linear layer, the product of rows and a matrix:
///
///   out[…, n] = bias[n] + Σ x[…, k] · weight[k, n]    over k
///
/// x        […, K], of one axis or more.
/// weight   [K, N], a column an output, as in Paddle; or with transpose_weight [N, K], as in PyTorch. Both are read as
///          fast.
/// bias     [N], or empty.
/// out      […, N].
///
/// All have any strides and one element type: f64, f32, f16 or bf16. Numbers, tensors without elements, how operands
/// are read and what is thrown are as in matmul; K = 0 gives the bias. The bias is added before the result is rounded;
/// only cuBLAS may round 16-bit products before it adds it.
///
/// Throws portops::Error, before anything is enqueued, when x has no axes, weight has not two, the bias or `out` has
/// other extents, and as matmul does. Temporaries as in matmul; linear_workspace gives their size.
///
/// Semantics: Paddle's `linear`; with transpose_weight torch.nn.functional.linear.
PORTOPS_EXPORT void linear(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out,
                           const LinearParams& params = {});

/// The gradients of linear:
///
///   x_grad[…, k]      = Σ out_grad[…, n] · weight[k, n]    over n
///   weight_grad[k, n] = Σ x[…, k] · out_grad[…, n]         over all rows
///   bias_grad[n]      = Σ out_grad[…, n]                   over all rows
///
/// or with transpose_weight weight[n, k] and weight_grad[n, k].
///
/// x          as in linear; its elements are read where weight_grad is wanted: else it may be TensorRef::without_data.
/// weight     as in linear.
/// out_grad   has the extents that linear gives.
/// x_grad, weight_grad, bias_grad   have the extents of x, weight and [N], whether there was a bias or not; each may be
/// an
///            empty TensorRef, and then costs nothing.
///
/// Products have the error of matmul's; bias_grad is within 2e-6 (f64: 1e-12) of the magnitudes summed, and has the
/// same bits on every run. Sums over nothing are 0. Throws portops::Error as linear does; no output may overlap
/// anything.
///
/// Semantics: autograd's of torch.nn.functional.linear.
PORTOPS_EXPORT void linear_grad(const Context& ctx, const TensorRef& x, const TensorRef& weight,
                                const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& weight_grad,
                                const TensorRef& bias_grad, const LinearParams& params = {});

/// The bytes of workspace that the same call of linear, or of linear_grad, needs. Tensors of the same extents, strides
/// and alignment need the same.
PORTOPS_EXPORT std::size_t linear_workspace(const Context& ctx, const TensorRef& x, const TensorRef& weight,
                                            const TensorRef& out, const LinearParams& params = {});
PORTOPS_EXPORT std::size_t linear_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& weight,
                                                 const TensorRef& out_grad, const TensorRef& x_grad,
                                                 const TensorRef& weight_grad, const TensorRef& bias_grad,
                                                 const LinearParams& params = {});

}  // namespace portops
