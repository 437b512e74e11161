// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sparse_rows/merge_rows/merge_rows_kernels.hpp"
#include "ops/sparse_rows/reduce_rows.hpp"

namespace portops::impl {

/// out_values[number of the place] = sum
template <Backend B, class T>
struct StoreRow {
  using Columns = T*;

  RowColumns columns;
  RowTensor<T> out;

  KOKKOS_FORCEINLINE_FUNCTION Columns at(std::int64_t column) const { return out.at(columns, column); }

  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Columns first, std::int64_t number, const Arithmetic<T> (&sum)[N],
                                              int count) const {
    write_columns<B, T, N>(first + number * out.row_stride, sum, out.column_stride[0], count);
  }
};

template <Backend B, class T>
void MergeRowsKernels<B, T>::merge(const Context& ctx, const SparseRows& sparse, const NumberedPlaces& numbered) {
  static const SparseRowsLabels labels("merge_rows");
  const StoreRow<B, T> sink{RowColumns(sparse), RowTensor<T>(sparse.operand[1])};
  const SparseRowsTemporary temporary(ctx, labels, sparse, true);
  reduce_rows<B, T>(ctx, labels, sparse, temporary, &numbered, sink);
}

}  // namespace portops::impl
