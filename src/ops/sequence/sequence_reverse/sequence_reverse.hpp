// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/levels.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

/// Reverses the rows of each sequence: the first row of a sequence becomes its last one.
///
/// x     values [rows, …] with levels. The sequences are those of the last level.
/// out   has the extents and the levels of x.
///
/// Both have one element type: f64, f32, f16 or bf16; elements are copied as they are. Tensors without elements are
/// valid, and so are sequences without rows.
///
/// Throws portops::Error, before anything is enqueued, when x has no levels or other rows than these have, `out` has
/// other extents, element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach
/// it, `out` is read-only, has two elements at one address, or overlaps x.
///
/// Semantics: Paddle's `sequence_reverse`.
PORTOPS_EXPORT void sequence_reverse(const Context& ctx, const RaggedRef& x, const TensorRef& out);

/// The gradient of sequence_reverse: the rows of out_grad, reversed back.
///
/// x          as in sequence_reverse; its elements are not read, it may be TensorRef::without_data.
/// out_grad   has the extents of x.
/// x_grad     has the extents and the levels of x; may be an empty TensorRef, and then nothing is done.
///
/// Throws portops::Error as sequence_reverse does; x_grad may not overlap anything.
PORTOPS_EXPORT void sequence_reverse_grad(const Context& ctx, const RaggedRef& x, const TensorRef& out_grad,
                                          const TensorRef& x_grad);

}  // namespace portops
