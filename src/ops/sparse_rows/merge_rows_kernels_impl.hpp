// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sparse_rows/merge_rows_kernels.hpp"
#include "ops/sparse_rows/reduce_rows.hpp"
#include "ops/sparse_rows/store_row.hpp"

namespace portops::impl {

/// out[number of a place] = the sum of its rows. Operands: the rows, out.
template <Backend B, class T>
void store_merged(const Context& ctx, const SparseRowsLabels& labels, const SparseRows& sparse,
                  const NumberedPlaces& numbered) {
  const StoreRow<B, T> sink{RowColumns(sparse), RowTensor<T>(sparse.operand[1])};
  const SparseRowsTemporary temporary(ctx, labels, sparse, true);
  reduce_rows<B, T>(ctx, labels, sparse, temporary, &numbered, sink);
}

template <Backend B, class T>
void MergeRowsKernels<B, T>::merge(const Context& ctx, const SparseRows& sparse, const NumberedPlaces& numbered) {
  static const SparseRowsLabels labels("merge_rows");
  store_merged<B, T>(ctx, labels, sparse, numbered);
}

template <Backend B, class T>
void MergeRowsKernels<B, T>::embedding(const Context& ctx, const SparseRows& sparse, const NumberedPlaces& numbered) {
  static const SparseRowsLabels labels("embedding_sparse_gradient");
  store_merged<B, T>(ctx, labels, sparse, numbered);
}

}  // namespace portops::impl
