// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>

namespace portops {

/// The attributes of embedding and embedding_grad.
struct EmbeddingParams {
  /// The row of weight that gets no gradient; -1: none.
  std::int64_t padding_idx = -1;
};

/// Rows of a table:
///
///   out[…, c] = weight[ids[…], c]
///
/// weight   [rows, width]: the table.
/// ids      i64, any rank up to 7, any extents and strides: which rows of the table.
/// out      the extents of ids, then width.
///
/// weight and out have one element type: f64, f32, f16 or bf16. No bit of an element changes. padding_idx plays no
/// part: its row is read as any other.
///
/// An id outside of [0, rows) is refused. Where the host reads ids (serial, openmp) that is an Error before anything is
/// enqueued. On cuda ids are read when the call's turn comes: the row of out is NaN then.
///
/// Throws portops::Error, before anything is enqueued, when weight has not 2 axes, ids has more than 7, padding_idx is
/// not -1 and no row of weight, `out` has other extents, element types are others, a tensor is empty (not given) or
/// lies where the context's backend cannot reach it, `out` is read-only, has two elements at one address, or overlaps
/// anything. Tensors without elements are valid.
///
/// Semantics: torch.nn.functional.embedding and Paddle's `embedding`, which however gives zeros for padding_idx. Both
/// end the program, or read other memory, where an id is outside of the table on a GPU.
PORTOPS_EXPORT void embedding(const Context& ctx, const TensorRef& weight, const TensorRef& ids, const TensorRef& out,
                              const EmbeddingParams& params = {});

/// The gradient of embedding, dense:
///
///   weight_grad[r, c] = Σ out_grad[…, c] over all places of ids that hold r, 0 where none does and for r = padding_idx
///
/// weight        as in embedding; its elements are not read: it may be TensorRef::without_data.
/// ids           as in embedding.
/// out_grad      the extents of out.
/// weight_grad   the extents of weight, or an empty TensorRef, and then nothing is done.
///
/// Sums are those of merge_rows: in f32 (f64 for f64), rounded once, in trees that depend on ids alone: the same bits
/// on every run, for any number of threads and on every backend, whether the context asks for it or not. On cuda an id
/// outside of the table adds nothing; on hosts it is an Error, as in embedding.
///
/// embedding_sparse_gradient gives the sparse gradient. Without padding_idx it needs no call: its rows are ids and its
/// values out_grad, as tensors of extents [n] and [n, width] (see reshape), and merge_rows, sparse_sgd, sparse_momentum
/// and sparse_adam take them as they are.
///
/// Throws portops::Error as embedding does; weight_grad may not overlap anything. Temporaries come from the library's
/// pool or the context's workspace; embedding_grad_workspace gives their size.
///
/// Semantics: autograd's of torch.nn.functional.embedding with sparse=False and scale_grad_by_freq=False, Paddle's
/// `embedding_grad`.
PORTOPS_EXPORT void embedding_grad(const Context& ctx, const TensorRef& weight, const TensorRef& ids,
                                   const TensorRef& out_grad, const TensorRef& weight_grad,
                                   const EmbeddingParams& params = {});

/// The bytes of workspace that the same call of embedding_grad needs.
PORTOPS_EXPORT std::size_t embedding_grad_workspace(const Context& ctx, const TensorRef& weight, const TensorRef& ids,
                                                    const TensorRef& out_grad, const TensorRef& weight_grad,
                                                    const EmbeddingParams& params = {});

}  // namespace portops
