// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/levels.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>

namespace portops {

/// The softmax over the rows of each sequence, column by column:
///
///   out = exp(x − max x) / Σ exp(x − max x)     max and Σ over the sequence's rows
///
/// x     values [rows, …] with levels: [rows] and [rows, 1] as in Paddle, or any columns, each taken by itself. The
///       sequences are those of the last level.
/// out   has the extents and the levels of x.
///
/// Both have one element type: f64, f32, f16 or bf16. Sums are accumulated in f32 (f64 for f64), in trees of fixed
/// shape: the same bits on every run and for any number of threads, whether the context asks for it or not. A sequence
/// with a NaN or an infinity of positive sign, or of nothing but negative infinities, gives NaN. Work is cut by rows.
/// Tensors without elements are valid, and so are sequences without rows.
///
/// Throws portops::Error, before anything is enqueued, when x has no levels or other rows than these have, `out` has
/// other extents, element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach
/// it, `out` is read-only, has two elements at one address, or overlaps x. Temporaries: what the pieces of long
/// sequences add up to, from the library's pool or the context's workspace; sequence_softmax_workspace gives their
/// size.
///
/// Semantics: Paddle's `sequence_softmax`.
PORTOPS_EXPORT void sequence_softmax(const Context& ctx, const RaggedRef& x, const TensorRef& out);

/// The gradient of sequence_softmax: x_grad = out · (out_grad − Σ out · out_grad), Σ over the sequence's rows.
///
/// x          as in sequence_softmax; its elements are not read, it may be TensorRef::without_data.
/// out        the result of sequence_softmax.
/// out_grad   has the extents of x.
/// x_grad     has the extents and the levels of x; may be an empty TensorRef, and then nothing is done.
///
/// Throws portops::Error, and takes temporaries, as sequence_softmax does; x_grad may not overlap anything.
PORTOPS_EXPORT void sequence_softmax_grad(const Context& ctx, const RaggedRef& x, const TensorRef& out,
                                          const TensorRef& out_grad, const TensorRef& x_grad);

/// The bytes of workspace that the same call needs: 0 where no sequence is long.
PORTOPS_EXPORT std::size_t sequence_softmax_workspace(const Context& ctx, const RaggedRef& x, const TensorRef& out);
PORTOPS_EXPORT std::size_t sequence_softmax_grad_workspace(const Context& ctx, const RaggedRef& x, const TensorRef& out,
                                                           const TensorRef& out_grad, const TensorRef& x_grad);

}  // namespace portops
