// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/levels.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>

namespace portops {

/// The attributes of sequence_expand and sequence_expand_grad.
struct SequenceExpandParams {
  /// The level of y that says how often; −1 is the last one.
  std::int64_t ref_level = -1;
};

/// Repeats the i-th sequence of x as often as item i of y's level has items: a sequence abc that is repeated twice
/// becomes abcabc. A tensor that is not ragged has its rows repeated: each is a sequence of one row.
///
/// x     values [rows, …], with one level or none.
/// y     levels; as many items in the level ref_level as x has sequences (or rows).
/// out   [Σ length · times, …]. It has one level: every copy of a sequence is a sequence. Where x is not ragged, the
///       copies of a row are a sequence: out's level is that of y.
///
/// x and out have one element type: f64, f32, f16 or bf16; elements are copied as they are. A sequence that is repeated
/// 0 times is left out. Work is cut by rows: one sequence that is repeated often costs no more than its rows. Tensors
/// without elements are valid, and so are sequences without rows.
///
/// Throws portops::Error, before anything is enqueued, when x has more than one level or other rows than its level, y
/// has no levels, no such level, or another number of items in it, `out` has other extents, element types differ, a
/// tensor is empty (not given) or lies where the context's backend cannot reach it, `out` is read-only, has two
/// elements at one address, or overlaps x.
///
/// Semantics: Paddle's `sequence_expand`, which takes y's levels from a tensor.
PORTOPS_EXPORT void sequence_expand(const Context& ctx, const RaggedRef& x, const Levels& y, const TensorRef& out,
                                    const SequenceExpandParams& params = {});

/// The gradient of sequence_expand: x_grad is the sum of the copies' rows of out_grad, 0 for a sequence that is
/// repeated 0 times.
///
/// x, y       as in sequence_expand; the elements of x are not read, it may be TensorRef::without_data.
/// out_grad   has the extents of out.
/// x_grad     has the extents and the levels of x; may be an empty TensorRef, and then nothing is done.
///
/// Sums are accumulated in f32 (f64 for f64), in trees of fixed shape: the same bits on every run and for any number of
/// threads. Throws portops::Error as sequence_expand does; x_grad may not overlap anything. Temporaries: partial sums
/// of rows that are repeated often, from the library's pool or the context's workspace; sequence_expand_grad_workspace
/// gives their size.
PORTOPS_EXPORT void sequence_expand_grad(const Context& ctx, const RaggedRef& x, const Levels& y,
                                         const TensorRef& out_grad, const TensorRef& x_grad,
                                         const SequenceExpandParams& params = {});

/// The bytes of workspace that the same call of sequence_expand_grad needs.
PORTOPS_EXPORT std::size_t sequence_expand_grad_workspace(const Context& ctx, const RaggedRef& x, const Levels& y,
                                                          const TensorRef& out_grad, const TensorRef& x_grad,
                                                          const SequenceExpandParams& params = {});

/// The level of out. Throws portops::Error when y has no levels or no such level, or where x has levels another number
/// of items in it.
PORTOPS_EXPORT Levels sequence_expand_levels(const Levels& x, const Levels& y, const SequenceExpandParams& params = {});

}  // namespace portops
