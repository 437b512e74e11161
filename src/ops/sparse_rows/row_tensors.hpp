// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/pack.hpp"
#include "ops/sparse_rows/sparse_rows.hpp"

// The tensors of SparseRows, in a kernel: packs of N columns of a row. On a GPU a pack is one access of 16 bytes, on a
// host up to 64 columns at equal distances; where either does not fit, N is 1.

namespace portops::impl {

/// The widest pack.
template <Backend B, class T>
inline constexpr int row_pack = B == Backend::cuda ? 16 / static_cast<int>(sizeof(T)) : 64;

/// The columns of all operands.
struct RowColumns {
  explicit RowColumns(const SparseRows& sparse) : count(sparse.columns), rank(sparse.column_rank) {
    for (int axis = 0; axis < max_rank - 1; ++axis) extent[axis] = sparse.column_extent[static_cast<std::size_t>(axis)];
  }

  std::int64_t count;
  int rank;
  std::int64_t extent[max_rank - 1];  ///< the fastest first
};

/// An operand.
template <class T>
struct RowTensor {
  RowTensor() = default;
  explicit RowTensor(const SparseOperand& from) : data(reinterpret_cast<T*>(from.data)), row_stride(from.row_stride) {
    for (int axis = 0; axis < max_rank - 1; ++axis)
      column_stride[axis] = from.column_stride[static_cast<std::size_t>(axis)];
  }
  /// Contiguous rows.
  RowTensor(T* elements, std::int64_t columns) : data(elements), row_stride(columns) { column_stride[0] = 1; }

  /// A column of row 0.
  KOKKOS_FORCEINLINE_FUNCTION T* at(const RowColumns& columns, std::int64_t column) const {
    return data + offset(columns, column);
  }
  /// Where it lies from the first one.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t offset(const RowColumns& columns, std::int64_t column) const {
    if (columns.rank <= 1) return column * column_stride[0];
    std::int64_t result = 0;
    PORTOPS_NO_UNROLL
    for (int axis = 0; axis < columns.rank; ++axis) {
      const std::int64_t outer = axis + 1 < columns.rank ? quotient(column, columns.extent[axis]) : 0;
      result += (column - outer * columns.extent[axis]) * column_stride[axis];
      column = outer;
    }
    return result;
  }

  T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride[max_rank - 1] = {};
};

/// Reads `count` columns of a pack, on a host `stride` apart, as numbers.
template <Backend B, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void read_columns(Arithmetic<T> (&values)[N], const T* from,
                                              [[maybe_unused]] std::int64_t stride, [[maybe_unused]] int count) {
  if constexpr (N == 1) {
    values[0] = static_cast<Arithmetic<T>>(*from);
  } else if constexpr (B == Backend::cuda) {
    convert_pack<B, T, N>(values, read_pack<B, T, N>(from), N);
  } else {
    KOKKOS_IF_ON_HOST((
        if (stride == 1) { host::convert<T, N>(values, from, count); } else {
          for (int i = 0; i < count; ++i) values[i] = static_cast<Arithmetic<T>>(from[i * stride]);
        }))
  }
}

/// Writes them, each rounded once.
template <Backend B, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void write_columns(T* to, const Arithmetic<T> (&values)[N],
                                               [[maybe_unused]] std::int64_t stride, [[maybe_unused]] int count) {
  if constexpr (N == 1) {
    *to = static_cast<T>(values[0]);
  } else if constexpr (B == Backend::cuda) {
    store_pack<B, T, N>(to, values, false);
  } else {
    KOKKOS_IF_ON_HOST((
        if (stride == 1) { host::round<T, N>(to, values, count); } else {
          for (int i = 0; i < count; ++i) to[i * stride] = static_cast<T>(values[i]);
        }))
  }
}

}  // namespace portops::impl
