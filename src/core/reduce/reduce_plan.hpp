// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "core/loop/loop.hpp"
#include "core/types/macros.hpp"

#include <array>

// How a tensor is cut into work where an operator reduces some of its axes, or spreads one value a result over them.
// Decided on the host from extents, strides and element type: the terms of a result are added in an order that depends
// neither on the backend, nor on alignment, nor on the number of threads.

namespace portops::impl {

/// Threads of a team that works along what is reduced.
inline constexpr int reduce_along_threads = 256;
/// Threads of a team that works down, and how many of them lie side by side where columns and rows are many: as many as
/// leave enough teams for a reduction, all where nothing is joined, so that memory is touched in long pieces, and few
/// where ties are counted, so that what the teams at work read is in a cache when they read it again.
inline constexpr int down_threads = 128;
inline constexpr int reduce_down_lanes = 64;
inline constexpr int spread_down_lanes = 128;
inline constexpr int count_down_lanes = 32;
/// Bytes of a thread's pack at most: a GPU's widest access, and half of it where rows are walked down, because more of
/// them are under way then.
inline constexpr int reduce_along_pack_bytes = 16;
inline constexpr int reduce_down_pack_bytes = 8;

/// Packs of a row that a thread has under way at once: where it reads them only, where a row has no more than so many a
/// lane, and where it keeps them to write.
PORTOPS_FUNCTION constexpr int reduce_along_batch(int pack_bytes) { return pack_bytes > 4 ? 64 / pack_bytes : 16; }
inline constexpr int reduce_along_short_batch = 8;
PORTOPS_FUNCTION constexpr int spread_along_batch(int pack_bytes) { return pack_bytes > 4 ? 32 / pack_bytes : 8; }
/// The same where rows are walked down and written: rows, of which each gives a pack.
PORTOPS_FUNCTION constexpr int spread_down_batch(int pack_bytes) { return pack_bytes > 4 ? 64 / pack_bytes : 16; }

/// The direction in which the terms of a result lie.
enum class Direction : std::int32_t {
  along,  ///< the last axis is reduced: a group of lanes goes along it, pack i falling to lane i modulo lanes
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
    bool packs = false;  ///< a pack of columns can be read or written at once, in every row
  };
  std::array<Operand, max_operands> operand{};

  /// Neighbouring columns that a thread takes together: a power of two that divides their number, so that every row
  /// is as well aligned as the first one.
  int pack = 1;
  int lanes = 1;  ///< of a group of threads that share a result (along), or side by side (down); a power of two
  int slots = 1;  ///< threads that share a column, where these are kept; a power of two
  std::int64_t column_blocks = 1;  ///< of columns that a group takes, where they are kept
  std::int64_t part_columns = 1;   ///< where they are reduced
  std::int64_t column_parts = 1;
  std::int64_t part_runs = 1;
  std::int64_t run_parts = 1;

  std::int64_t parts() const { return column_parts * run_parts; }
  std::int64_t results() const { return direction == Direction::down ? kept * columns : kept; }
};

/// The loop's `reduced` axes say what is reduced. None may be without elements.
ReducePlan make_reduce_plan(const Loop& loop);

/// The same, cut for what is spread over the terms of results: nobody joins these, so that walks down on GPUs may be
/// short. Where ties are counted, fewer parts are better.
ReducePlan make_spread_plan(const Loop& loop, Backend backend, bool counts);

/// Whether each result is one whole row, which a warp or less reduces.
bool has_single_rows(const ReducePlan& plan);

/// Whether results are rows of `columns` neighbours that lie one behind the other in the operand, and are counted along
/// one axis.
bool is_row_of_rows(const ReducePlan& plan, int operand);

/// Bytes of workspace for the partial results of a reduction, and for the counts of a spread that counts ties.
std::size_t reduce_workspace(const ReducePlan& plan, ElementType type);
std::size_t count_workspace(const ReducePlan& plan);

}  // namespace portops::impl
