// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/levels.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <span>

namespace portops {

/// Joins ragged tensors sequence by sequence: the i-th sequence of out is the i-th one of the first tensor, behind it
/// that of the second, and so on.
///
/// x     at least one ragged tensor, values [rows, …] with levels: all with as many sequences, equal levels above the
///       last one, and equal extents but for the rows.
/// out   [all rows, …]. Its levels are sequence_concat_levels of theirs.
///
/// All have one element type: f64, f32, f16 or bf16; elements are copied as they are, by one kernel for each tensor.
/// Tensors without elements are valid, and so are sequences without rows.
///
/// Throws portops::Error, before anything is enqueued, when there is no tensor, one has no levels or other rows than
/// these have, levels or extents do not fit together, `out` has other extents, element types differ, a tensor is empty
/// (not given) or lies where the context's backend cannot reach it, `out` is read-only, has two elements at one
/// address, or overlaps one of x.
///
/// Semantics: Paddle's `sequence_concat`.
PORTOPS_EXPORT void sequence_concat(const Context& ctx, std::span<const RaggedRef> x, const TensorRef& out);

/// The gradients of sequence_concat: each tensor's own rows of out_grad.
///
/// x          as in sequence_concat; the elements are not read, they may be TensorRef::without_data.
/// out_grad   has the extents of out.
/// x_grad     one for each of x, of its extents and levels. Each may be an empty TensorRef, or all of the list missing
///            ({}), and then costs nothing.
///
/// Throws portops::Error as sequence_concat does; no x_grad may overlap anything.
PORTOPS_EXPORT void sequence_concat_grad(const Context& ctx, std::span<const RaggedRef> x, const TensorRef& out_grad,
                                         std::span<const TensorRef> x_grad);

/// The levels of out. Throws Error where they do not fit together.
PORTOPS_EXPORT Levels sequence_concat_levels(std::span<const RaggedRef> x);

}  // namespace portops
