// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/sparse_rows/row_axes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// Sparse rows: values of n rows of a table, and the places of these rows in it. Nothing here knows Kokkos.

namespace portops::impl {

/// A tensor of rows: the values of the sparse rows, or a table.
struct SparseOperand {
  std::byte* data = nullptr;
  std::int64_t row_stride = 0;                            ///< in elements
  std::array<std::int64_t, max_rank> column_stride = {};  ///< along the column axes
};

/// A call's sparse rows in a canonical form, and the other tensors that have rows of the same columns.
struct SparseRows {
  static constexpr int most_operands = 8;
  /// So few rows are added up place by place, few_rows.hpp: what a GPU's team can list in its scratch.
  static constexpr std::int64_t few_rows = 10000;
  bool is_few() const { return n <= few_rows; }
  /// More are added up in chunks of so many sorted rows, and what crosses these in chunks of crossing_chunk, on as many
  /// levels as it takes: a tree.
  static constexpr std::int64_t chunk = 64;
  /// Crossing sums are few, and waiting for memory takes a level's time: all of a chunk are loaded at once.
  static constexpr std::int64_t crossing_chunk = 16;
  /// Of other rows so many are loaded at once and added up before they enter a chunk's sum.
  static constexpr int batch = 8;

  ElementType type{};
  std::int64_t n = 0;
  std::int64_t height = 0;  ///< of the table
  std::int64_t columns = 1;
  int column_rank = 0;  ///< adjacent axes are merged wherever all operands allow it
  std::array<std::int64_t, max_rank> column_extent = {};
  const std::int64_t* places = nullptr;  ///< the rows of the table that the n rows belong to
  RowAxes axes;                          ///< row_stride counts in the row_stride of the values
  std::int64_t padding = -1;  ///< a place that counts as the height, so that its rows count for nothing; -1: none
  /// As which a place counts that the table does not have: the height, as padding does, or, to tell it from padding
  /// where places are numbered, one more.
  std::int64_t outside = 0;
  const std::int64_t* count = nullptr;  ///< of rows that are merged already; null where they are not
  int operands = 0;
  std::array<SparseOperand, most_operands> operand;  ///< the values, then the others

  bool empty() const { return n == 0 || columns == 0; }
  bool merged() const { return count != nullptr; }
  /// Whether 32 bits hold every position and every place, and a value beyond each.
  bool narrow() const;
  /// Whether columns are neighbours in memory, and on a GPU all rows aligned to its widest access.
  bool has_packs(Backend backend) const;
};

/// `tensors` have the same columns: the values, whose axes before these are those of `rows`, then others, with one such
/// axis. `height` is the table's.
SparseRows make_sparse_rows(ElementType type, const TensorRef& rows, std::int64_t height,
                            std::span<const TensorRef* const> tensors);

/// Throws Error when a place is not in [0, height), or merged rows do not ascend. On a GPU, whose memory the host does
/// not read, nothing is checked.
void check_places(std::string_view op, const Context& ctx, const SparseRows& sparse);

/// The sizes of the tree that adds up many rows: the rows themselves, then two sums for each chunk of the level below.
struct SumLevels {
  explicit SumLevels(const SparseRows& sparse);
  static constexpr int most = 24;
  std::array<std::int64_t, most> rows{};
  int count = 0;
  std::int64_t chunks(int level) const;
};

}  // namespace portops::impl
