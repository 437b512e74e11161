// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/normalization/batch_norm/batch_norm.hpp"

#include <cstdint>

// batch_norm of a batch whose parts several callers have, in steps between which they tell each other what their parts
// come to. The arguments are those of batch_norm and batch_norm_grad without is_test. A part may be without elements.

namespace portops::impl {

/// Numbers of a channel that are told, in f64: of moments how many elements there are, their mean as two numbers, and
/// the sum of the squares of their distances from it; of a gradient Σ out_grad and Σ out_grad · x̂.
inline constexpr int numbers_of_part_moments = 4, numbers_of_part_sums = 2;

/// Throws Error as batch_norm does, but that x may have one value a channel, or none. Gives the elements of a channel.
std::int64_t check_batch_norm_part(const Context& ctx, const TensorRef& x, const TensorRef& mean,
                                   const TensorRef& variance, const TensorRef& out, const TensorRef& saved_mean,
                                   const TensorRef& saved_inv_std, const TensorRef& mean_out,
                                   const TensorRef& variance_out, const BatchNormParams& params);

/// moments, f64 [C, 4], of this part.
void batch_norm_moments(const Context& ctx, const TensorRef& x, const TensorRef& moments,
                        const BatchNormParams& params);

/// The outputs for this part, by the moments of all, f64 [parts, C, 4]: joined in their order by Chan's formula, in
/// double. Those of a single part give the bits of batch_norm.
void batch_norm_by_moments(const Context& ctx, const TensorRef& x, const TensorRef& moments, const TensorRef& mean,
                           const TensorRef& variance, const TensorRef& out, const TensorRef& saved_mean,
                           const TensorRef& saved_inv_std, const TensorRef& mean_out, const TensorRef& variance_out,
                           const BatchNormParams& params);

/// sums, f64 [C, 2], of this part, and what it gives to the gradients of scale and bias.
void batch_norm_sums(const Context& ctx, const TensorRef& x, const TensorRef& saved_mean,
                     const TensorRef& saved_inv_std, const TensorRef& out_grad, const TensorRef& sums,
                     const TensorRef& scale_grad, const TensorRef& bias_grad, const BatchNormParams& params);

/// x_grad of this part, by the sums of all, f64 [parts, C, 2], whose channels have `count` elements together.
void batch_norm_grad_by_sums(const Context& ctx, const TensorRef& x, const TensorRef& saved_mean,
                             const TensorRef& saved_inv_std, const TensorRef& out_grad, const TensorRef& sums,
                             std::int64_t count, const TensorRef& x_grad, const BatchNormParams& params);

}  // namespace portops::impl
