// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

struct SparseMomentumParams {
  /// As in SparseSgdParams.
  TensorRef count = {};
  double learning_rate = 0.0;
  double mu = 0.9;
  bool use_nesterov = false;
};

/// A step of gradient descent with momentum by a sparse gradient: for each place r in rows
///
///   velocity_out[r] = mu · velocity[r] + g,   g = Σ values[i] over all i with rows[i] = r
///   param_out[r]    = param[r] − learning_rate · velocity_out[r]
///   param_out[r]    = param[r] − learning_rate · (g + mu · velocity_out[r])    with use_nesterov
///
/// All other rows stay as they are, their velocity too: it does not decay.
///
/// param, rows, values and param_out are as in sparse_sgd, and so is all that is said there of element types, places,
/// duplicates, bits, errors and temporaries. velocity has the extents and element type of param; velocity_out may be
/// the same tensor (in place).
///
/// Semantics: Paddle's `momentum`, in the rows that the gradient has; Paddle lets the velocity of all rows decay.
PORTOPS_EXPORT void sparse_momentum(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                                    const TensorRef& values, const TensorRef& velocity, const TensorRef& param_out,
                                    const TensorRef& velocity_out, const SparseMomentumParams& params);

/// The bytes of workspace that the same call of sparse_momentum needs.
PORTOPS_EXPORT std::size_t sparse_momentum_workspace(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                                                     const TensorRef& values, const TensorRef& velocity,
                                                     const TensorRef& param_out, const TensorRef& velocity_out,
                                                     const SparseMomentumParams& params);

}  // namespace portops
