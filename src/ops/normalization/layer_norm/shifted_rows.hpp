// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/rows.hpp"

#include <algorithm>
#include <initializer_list>

namespace portops::impl {

/// A row on a GPU whose packs of the widest access begin where those of one long row would: so they can be taken at
/// once whatever the length of rows is, but for the first one and the last one. Columns are counted from the first pack
/// on.
template <class T>
struct ShiftedRow {
  static constexpr int width = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  /// Row `index` of rows of `columns` columns. `aligned`: memory has packs there.
  KOKKOS_FORCEINLINE_FUNCTION ShiftedRow(std::int64_t index, int columns, bool aligned)
      : before(columns_before(index, columns, width)), end(before + columns), aligned_(aligned) {}

  KOKKOS_FORCEINLINE_FUNCTION bool has(int column) const { return column >= before && column < end; }
  /// Whether the row has all columns of a pack.
  KOKKOS_FORCEINLINE_FUNCTION bool has_pack(int column) const { return column >= before && column + width <= end; }

  /// Reads a pack of the row that begins at `row`; what it has not is 0.
  KOKKOS_FORCEINLINE_FUNCTION void load(Word<T, width>& word, const T* row, int column) const {
    if (aligned_ && has_pack(column)) {
      word = *reinterpret_cast<const Word<T, width>*>(in_device_memory(row + (column - before)));
      return;
    }
    word = Word<T, width>(static_cast<T>(0.0f));
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      if (has(column + i)) word.set(i, row[column + i - before]);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void store(T* row, const Word<T, width>& word, int column) const {
    if (aligned_ && has_pack(column)) {
      *reinterpret_cast<Word<T, width>*>(in_device_memory(row + (column - before))) = word;
      return;
    }
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      if (has(column + i)) row[column + i - before] = word[i];
    }
  }

  int before;  ///< columns of the first pack that are not the row's
  int end;     ///< the first column behind the row

 private:
  bool aligned_;
};

/// Whether whole packs of such rows of all these operands can be taken at once.
inline bool have_shifted_packs(const ReducePlan& plan, ElementType type, std::initializer_list<int> operands) {
  return std::all_of(operands.begin(), operands.end(), [&](int k) {
    const ReducePlan::Operand& operand = plan.operand[static_cast<std::size_t>(k)];
    return operand.data == nullptr || has_shifted_packs(plan, operand, type);
  });
}

}  // namespace portops::impl
