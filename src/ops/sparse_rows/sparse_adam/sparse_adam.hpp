// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

struct SparseAdamParams {
  /// As in SparseSgdParams.
  TensorRef count = {};
  double learning_rate = 0.0;
  /// beta1 and beta2 to the power of the number of this step, which counts from 1.
  double beta1_pow = 0.0;
  double beta2_pow = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// A step of Adam, in its lazy form, by a sparse gradient: for each place r in rows
///
///   moment1_out[r] = beta1 · moment1[r] + (1 − beta1) · g,    g = Σ values[i] over all i with rows[i] = r
///   moment2_out[r] = beta2 · moment2[r] + (1 − beta2) · g²
///   param_out[r]   = param[r] − learning_rate · m / (√v + epsilon)
///     m = moment1_out[r] / (1 − beta1_pow),   v = moment2_out[r] / (1 − beta2_pow)
///
/// All other rows stay as they are, their moments too.
///
/// param, rows, values and param_out are as in sparse_sgd, and so is all that is said there of element types, places,
/// duplicates, bits, errors and temporaries. moment1 and moment2 have the extents and element type of param;
/// moment1_out and moment2_out may be the same tensors (in place). beta1_pow and beta2_pow are at least 0 and less than
/// 1, else portops::Error is thrown. A square root of a negative moment2 is NaN.
///
/// Semantics: Paddle's `adam` with lazy_mode; epsilon is added to the root of the corrected moment, as in the paper
/// (D. P. Kingma, J. Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm 1) and in PyTorch's Adam.
/// PyTorch's SparseAdam adds it before the correction: its epsilon, divided by √(1 − beta2_pow), gives its results.
PORTOPS_EXPORT void sparse_adam(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                                const TensorRef& values, const TensorRef& moment1, const TensorRef& moment2,
                                const TensorRef& param_out, const TensorRef& moment1_out, const TensorRef& moment2_out,
                                const SparseAdamParams& params);

/// The bytes of workspace that the same call of sparse_adam needs.
PORTOPS_EXPORT std::size_t sparse_adam_workspace(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                                                 const TensorRef& values, const TensorRef& moment1,
                                                 const TensorRef& moment2, const TensorRef& param_out,
                                                 const TensorRef& moment1_out, const TensorRef& moment2_out,
                                                 const SparseAdamParams& params);

}  // namespace portops
