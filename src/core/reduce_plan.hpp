// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/tile_shape.hpp"

#include <array>

// How a tensor is cut into work where an operator reduces some of its axes, or spreads one value a result over them.
// Decided on the host from extents, strides and element type: the terms of a result are added in an order that depends
// neither on the backend, nor on alignment, nor on the number of threads.

namespace portops::impl {

/// The most threads of a team that works along what is reduced, or down.
inline constexpr int reduce_along_threads = 256;
inline constexpr int reduce_down_threads = 128;
/// Packs of a row that a thread has under way at once, where it reads them, and where it writes as many.
inline constexpr int reduce_along_batch = 4;
inline constexpr int spread_along_batch = 4;
/// Bytes that a thread takes at a time: a GPU's widest access, and half of it where rows are walked down, because more
/// of them are under way then.
inline constexpr int reduce_along_pack_bytes = 16;
inline constexpr int reduce_down_pack_bytes = 8;

/// The direction in which the terms of a result lie.
enum class Direction : std::int32_t {
  along,  ///< the last axis is reduced: a group of lanes goes along it, term i falling to lane i / pack modulo lanes
  down    ///< the last axis is kept: each thread keeps to its columns, run i falling to slot i modulo slots
};

/// Axes: the last one (`columns`), and before it those that are kept, then those that are reduced. A result's terms lie
/// on `runs` runs: whole rows of columns, or single elements where the columns are kept. Long ones are cut into parts,
/// each of which gives a partial result.
struct ReducePlan {
  Direction direction = Direction::along;
  std::int64_t columns = 1;
  std::int64_t kept = 1;  ///< positions along the kept axes
  std::int64_t runs = 1;  ///< positions along the reduced axes
  int kept_rank = 0;
  int rank = 0;  ///< of both together, without the columns
  std::array<std::int64_t, max_rank> extent{};

  struct Operand {
    std::byte* data = nullptr;
    std::array<std::int64_t, max_rank> stride{};
    std::int64_t column_stride = 0;
    /// The widest access, in bytes, to which neighbouring columns are aligned in all rows; 0 where columns are no
    /// neighbours in memory.
    int access_bytes = 0;
  };
  std::array<Operand, max_operands> operand{};

  int lanes = 1;  ///< of a group of threads that share a result (along), or side by side (down); a power of two
  int slots = 1;  ///< groups of a team, or threads that share a column; a power of two
  std::int64_t column_blocks = 1;  ///< of columns that a team takes, where they are kept
  std::int64_t part_columns = 1;   ///< where they are reduced
  std::int64_t column_parts = 1;
  std::int64_t part_runs = 1;
  std::int64_t run_parts = 1;

  std::int64_t parts() const { return column_parts * run_parts; }
  std::int64_t results() const { return direction == Direction::down ? kept * columns : kept; }
};

/// The loop's `reduced` axes say what is reduced. None may be without elements.
ReducePlan make_reduce_plan(const Loop& loop);

/// The same, cut for what is spread over the terms of results: nobody joins these, so that there may be more parts.
/// Where ties are counted, fewer are better.
ReducePlan make_spread_plan(const Loop& loop, bool counts);

/// Whether each result is one whole row, which a warp or less reduces.
bool has_single_rows(const ReducePlan& plan);

/// Whether results are rows of `columns` neighbours that lie one behind the other in the operand, and are counted along
/// one axis.
bool is_row_of_rows(const ReducePlan& plan, int operand);

/// Bytes of workspace for the partial results of a reduction, and for the counts of a spread that counts ties.
std::size_t reduce_workspace(const ReducePlan& plan, ElementType type);
std::size_t count_workspace(const ReducePlan& plan);

}  // namespace portops::impl
