// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/levels.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

/// Puts the rows of sequences that lie side by side, all equally long, one behind the other: of each sequence as many
/// rows as `length` says. The inverse of sequence_pad.
///
/// x        [sequences, padded length, …].
/// length   levels, whose last one has an item a sequence: none with more rows than the padded length.
/// out      [rows, …]: the rows of `length`, which are its levels.
///
/// x and out have one element type: f64, f32, f16 or bf16; elements are copied as they are. Tensors without elements
/// are valid, and so are sequences without rows.
///
/// Throws portops::Error, before anything is enqueued, when x has less than two axes, `length` has no levels, another
/// number of sequences, or one that is longer, `out` has other extents, element types differ, a tensor is empty (not
/// given) or lies where the context's backend cannot reach it, `out` is read-only, has two elements at one address, or
/// overlaps x.
///
/// Semantics: Paddle's `sequence_unpad`, which takes the lengths from a tensor: its elements would have to come to the
/// host before the extents of out are known.
PORTOPS_EXPORT void sequence_unpad(const Context& ctx, const TensorRef& x, const Levels& length, const TensorRef& out);

/// The gradient of sequence_unpad: out_grad in the rows that were taken, 0 in the others.
///
/// x          as in sequence_unpad; its elements are not read, it may be TensorRef::without_data.
/// out_grad   has the extents of out.
/// x_grad     has the extents of x; may be an empty TensorRef, and then nothing is done.
///
/// Throws portops::Error as sequence_unpad does; x_grad may not overlap anything.
PORTOPS_EXPORT void sequence_unpad_grad(const Context& ctx, const TensorRef& x, const Levels& length,
                                        const TensorRef& out_grad, const TensorRef& x_grad);

}  // namespace portops
