// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>

namespace portops {

struct EmbeddingSparseGradientParams {
  /// As in embedding: the row of weight that gets no gradient; -1: none.
  std::int64_t padding_idx = -1;
};

/// The gradient of embedding, sparse and merged:
///
///   rows[u]      = the u-th smallest of the ids but padding_idx                           for u < count
///   values[u, c] = Σ out_grad[…, c] over all places of ids that hold rows[u]
///
/// weight    as in embedding; its elements are not read: it may be TensorRef::without_data.
/// ids       as in embedding: i64, any rank up to 7; n is the number of its elements.
/// out_grad  the extents of ids, then a row of weight.
/// rows      i64 [n]. From count on it holds the number of weight's rows, so that it ascends throughout.
/// values    [n, width], of the element type of out_grad. Rows from count on are left as they are.
/// count     i64, extents []: how many rows have a gradient. merged_count (of merge_rows) reads it; nothing else waits
///           for the device.
///
/// sparse_sgd, sparse_momentum and sparse_adam take rows, values and count as they are. The sums are those of
/// merge_rows and of embedding_grad, to the bit: the same on every run, for any number of threads and on every backend.
///
/// An id outside of [0, rows of weight) is refused. Where the host reads ids (serial, openmp) that is an Error before
/// anything is enqueued. On cuda ids are read when the call's turn comes: such ids are left out, and count becomes −1 −
/// the position of the first, counted by rows of out_grad as they lie in memory, for which merged_count throws.
///
/// Tensors are read with any strides. Tensors without elements are valid: for n = 0 only count is written. Throws
/// portops::Error, before anything is enqueued, as embedding_grad does; no output may overlap anything. Temporaries
/// come from the library's pool or the context's workspace; embedding_sparse_gradient_workspace gives their size.
///
/// Semantics: autograd's of torch.nn.functional.embedding with sparse=True, coalesced, and Paddle's
/// `embedding_sparse_grad`, merged.
PORTOPS_EXPORT void embedding_sparse_gradient(const Context& ctx, const TensorRef& weight, const TensorRef& ids,
                                              const TensorRef& out_grad, const TensorRef& rows, const TensorRef& values,
                                              const TensorRef& count, const EmbeddingSparseGradientParams& params = {});

/// The bytes of workspace that the same call of embedding_sparse_gradient needs.
PORTOPS_EXPORT std::size_t embedding_sparse_gradient_workspace(const Context& ctx, const TensorRef& weight,
                                                               const TensorRef& ids, const TensorRef& out_grad,
                                                               const TensorRef& rows, const TensorRef& values,
                                                               const TensorRef& count,
                                                               const EmbeddingSparseGradientParams& params = {});

}  // namespace portops
