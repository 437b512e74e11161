// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/reduce_plan.hpp"

// Which rows a GPU reduces tile by tile: see reduce_tiles.hpp. Nothing here knows Kokkos.

namespace portops::impl {

/// The memory of a tile of rows.
inline constexpr int reduce_tile_bytes = 1 << 14;

/// Elements from a row's first one to behind its last.
inline std::int64_t reach_of_row(const ReducePlan& plan) {
  return (plan.columns - 1) * plan.operand[reduction_x].column_stride + 1;
}

/// Whether the rows of x are short, and nearly all of the memory that they lie in is read anyway: rows one behind the
/// other, in which packs would be narrow, and diagonals of small matrices. Parts and lanes of the plan do not count.
bool has_close_rows(const ReducePlan& plan, ElementType type);

/// Whether x is many small matrices, one behind the other, each of whose columns one thread adds up.
bool has_close_matrices(const ReducePlan& plan, ElementType type);

/// The fewest rows at a distance of so many elements whose bytes are whole packs of a GPU's widest access.
constexpr std::int64_t rows_aligned_alike(std::int64_t distance, std::size_t element_bytes) {
  std::int64_t rows = 1;
  while (rows * distance * static_cast<std::int64_t>(element_bytes) % gpu_pack_bytes != 0) rows *= 2;
  return rows;
}

}  // namespace portops::impl
