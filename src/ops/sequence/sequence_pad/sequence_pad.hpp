// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/levels.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>

namespace portops {

/// The attributes of sequence_pad and sequence_pad_grad.
struct SequencePadParams {
  /// The rows that each sequence is to have, no less than the longest; −1: as many as the longest.
  std::int64_t padded_length = -1;
  /// What stands in the rows behind a sequence's own.
  double pad_value = 0.0;
};

/// Lays the sequences of a ragged tensor side by side, all as long as the longest or as padded_length says: a row that
/// a sequence does not have is pad_value.
///
/// x        values [rows, …] with levels. The sequences are those of the last level.
/// out      [sequences, padded length, …]. It has the levels of x but the last (Levels::upper).
/// length   i64, [sequences]: how many rows the sequences have; may be an empty TensorRef.
///
/// x and out have one element type: f64, f32, f16 or bf16; elements are copied as they are. Tensors without elements
/// are valid, and so are sequences without rows.
///
/// Throws portops::Error, before anything is enqueued, when x has no levels or other rows than these have,
/// padded_length is less than the longest sequence, `out` or `length` has other extents, element types differ, a tensor
/// is empty (not given) or lies where the context's backend cannot reach it, an output is read-only, has two elements
/// at one address, or overlaps anything.
///
/// Semantics: Paddle's `sequence_pad` with a number for PadValue.
PORTOPS_EXPORT void sequence_pad(const Context& ctx, const RaggedRef& x, const TensorRef& out,
                                 const TensorRef& length = {}, const SequencePadParams& params = {});

/// The gradient of sequence_pad: the sequences' own rows of out_grad.
///
/// x          as in sequence_pad; its elements are not read, it may be TensorRef::without_data.
/// out_grad   has the extents of out.
/// x_grad     has the extents and the levels of x; may be an empty TensorRef, and then nothing is done.
///
/// Throws portops::Error as sequence_pad does; x_grad may not overlap anything.
PORTOPS_EXPORT void sequence_pad_grad(const Context& ctx, const RaggedRef& x, const TensorRef& out_grad,
                                      const TensorRef& x_grad, const SequencePadParams& params = {});

}  // namespace portops
