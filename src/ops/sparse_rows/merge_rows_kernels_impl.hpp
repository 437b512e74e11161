// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sparse_rows/merge_rows_kernels.hpp"
#include "ops/sparse_rows/reduce_rows.hpp"
#include "ops/sparse_rows/store_row.hpp"

namespace portops::impl {

template <Backend B, class T>
void MergeRowsKernels<B, T>::merge(const Context& ctx, const SparseRowsLabels& labels, const SparseRows& sparse,
                                   const NumberedPlaces& numbered) {
  const StoreRow<B, T> sink{RowColumns(sparse), RowTensor<T>(sparse.operand[1])};
  const SparseRowsTemporary temporary(ctx, labels, sparse, true);
  reduce_rows<B, T>(ctx, labels, sparse, temporary, &numbered, sink);
}

}  // namespace portops::impl
