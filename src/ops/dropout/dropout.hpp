// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>

namespace portops {

struct DropoutParams {
  /// A tensor of i64 and extents [] that is added to offset when the kernels run: in a captured graph it is what
  /// changes.
  TensorRef step = {};
  /// The probability with which an element is dropped: at least 0 and at most 1.
  double p = 0.5;
  /// Which sequences of random numbers, and which of them: calls of the same seed and offset drop the same elements.
  std::int64_t seed = 0;
  std::int64_t offset = 0;
};

/// out = x / (1 − p) for elements that are kept, and 0 for those that are dropped
///
/// Element i of x, counted with the last axis fastest whatever the strides, is dropped where word i of the sequence of
/// random numbers is below p · 2^32 (rounded to a whole number). The words come of Philox4x32 with ten rounds, four at
/// a time: of the key seed and the counter (i / 4, offset + step), 64 bits each. So they follow from seed, offset and i
/// alone: the same elements are dropped on every backend, for every element type and any strides. Sequences of
/// different offsets do not meet.
///
/// x has f64, f32, f16 or bf16, any extents, any strides; out has the same, and may be x (in place). 16-bit types
/// compute in f32 and round once. What is dropped is 0 whatever it was, Inf and NaN too. p = 1 drops everything. Throws
/// Error where p is not in [0, 1].
///
/// Semantics: PyTorch's and Paddle's dropout in training (upscale_in_train), but for the numbers that they draw.
PORTOPS_EXPORT void dropout(const Context& ctx, const TensorRef& x, const TensorRef& out,
                            const DropoutParams& params = {});

/// x_grad = out_grad / (1 − p) for elements that were kept, and 0 for those that were dropped: with the seed, offset
/// and step of the call of dropout. Nothing of it has to be kept. x_grad may be out_grad (in place), or empty.
PORTOPS_EXPORT void dropout_grad(const Context& ctx, const TensorRef& out_grad, const TensorRef& x_grad,
                                 const DropoutParams& params = {});

}  // namespace portops
