// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sparse_rows/row_tensors.hpp"

namespace portops::impl {

/// A sink of SumRows: out[place, or the number of the place] = sum
template <Backend B, class T>
struct StoreRow {
  using Columns = T*;

  RowColumns columns;
  RowTensor<T> out;

  KOKKOS_FORCEINLINE_FUNCTION Columns at(std::int64_t column) const { return out.at(columns, column); }

  KOKKOS_FORCEINLINE_FUNCTION void prefetch(Columns, std::int64_t) const {}

  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Columns first, std::int64_t number, const Arithmetic<T> (&sum)[N],
                                              int count) const {
    write_columns<B, T, N>(first + number * out.row_stride, sum, out.column_stride[0], count);
  }
};

}  // namespace portops::impl
