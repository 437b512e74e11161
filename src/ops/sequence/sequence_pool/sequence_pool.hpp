// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/levels.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <string>

namespace portops {

/// The options of sequence_pool and sequence_pool_grad.
struct SequencePoolParams {
  /// Of sequence_pool_grad alone, for the type max: what sequence_pool wrote to `index`.
  TensorRef index = {};
  /// sum, average, sqrt, max, first or last.
  std::string pooltype = "average";
  /// The result of a sequence without rows.
  double pad_value = 0.0;
};

/// Makes one row of each sequence of a ragged tensor, column by column. For a sequence of L rows:
///
///   out = Σ x           for the type sum
///   out = Σ x / L       average
///   out = Σ x / √L      sqrt
///   out = max x         max; index is the row of x that it was found in, the first one where there are several
///   out = the first, the last row of x
///   out = pad_value     for a sequence without rows, whatever the type; its index is −1
///
/// x       values [rows, …] with levels. The sequences are those of the last level.
/// out     [sequences, …]. It has the levels of x but the last (Levels::upper).
/// index   i64, the extents of out; may be an empty TensorRef, and must be for all types but max.
///
/// The others have one element type: f64, f32, f16 or bf16. Sums are accumulated in f32 (f64 for f64), in trees of
/// fixed shape: the same bits on every run and for any number of threads, whether the context asks for it or not. For
/// max a NaN counts as larger than everything. Work is cut by rows: one long sequence among many short ones costs no
/// more than its rows. Tensors without elements are valid, and so are sequences without rows.
///
/// Throws portops::Error, before anything is enqueued, when x has no levels or other rows than these have, pooltype is
/// none of the above, `index` is given for another type than max, `out` or `index` has other extents, element types
/// differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, an output is read-only,
/// has two elements at one address, or overlaps anything. Temporaries: partial results of long sequences, from the
/// library's pool or the context's workspace; sequence_pool_workspace gives their size.
///
/// Semantics: Paddle's `sequence_pool`, whose MaxIndex is `index`.
PORTOPS_EXPORT void sequence_pool(const Context& ctx, const RaggedRef& x, const TensorRef& out,
                                  const TensorRef& index = {}, const SequencePoolParams& params = {});

/// The gradient of sequence_pool:
///
///   x_grad = out_grad, out_grad / L, out_grad / √L     in every row, for the types sum, average, sqrt
///   x_grad = out_grad where the row is index, else 0   for max
///   x_grad = out_grad in the first, the last row, else 0
///
/// x          as in sequence_pool; its elements are not read, it may be TensorRef::without_data.
/// out_grad   has the extents of out.
/// x_grad     has the extents and the levels of x; may be an empty TensorRef, and then nothing is done.
///
/// Every element of x_grad is written once, in one kernel. Throws portops::Error as sequence_pool does, for max when
/// params.index is not given, and when x_grad overlaps anything.
PORTOPS_EXPORT void sequence_pool_grad(const Context& ctx, const RaggedRef& x, const TensorRef& out_grad,
                                       const TensorRef& x_grad, const SequencePoolParams& params = {});

/// The bytes of workspace that the same call of sequence_pool needs: 0 where no sequence is long.
PORTOPS_EXPORT std::size_t sequence_pool_workspace(const Context& ctx, const RaggedRef& x, const TensorRef& out,
                                                   const TensorRef& index = {}, const SequencePoolParams& params = {});

}  // namespace portops
