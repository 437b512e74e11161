// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "core/loop/loop.hpp"
#include "core/types/macros.hpp"

#include <array>

// How a tensor is cut into work where an operator reduces some of its axes, or goes back over what it reduced.
// Decided on the host from extents, strides and element type: the terms of a result are added in an order that depends
// neither on the backend, nor on alignment, nor on the number of threads.

namespace portops::impl {

/// Threads of a team that works along what is reduced.
inline constexpr int reduce_along_threads = 256;
/// Threads of a team that works down, and how many of them lie side by side where columns and rows are many: as many as
/// leave enough teams for a reduction.
inline constexpr int down_threads = 128;
inline constexpr int reduce_down_lanes = 64;
/// Bytes of a thread's pack at most: a GPU's widest access, and half of it where rows are walked down, because more of
/// them are under way then.
inline constexpr int reduce_along_pack_bytes = 16;
inline constexpr int reduce_down_pack_bytes = 8;

/// Packs of a row that a thread has under way at once, and where a row has no more than so many a lane.
PORTOPS_FUNCTION constexpr int reduce_along_batch(int pack_bytes) { return pack_bytes > 4 ? 64 / pack_bytes : 16; }
inline constexpr int reduce_along_short_batch = 8;
/// The most terms that are added one after the other before their sum joins a tree.
inline constexpr std::int64_t longest_chain = 128;

/// Where rows are shifted: the columns of the first pack of a row that are not the row's, if packs of `width` columns
/// begin where those of one long row would. By extents alone: it decides what is added to what.
PORTOPS_FUNCTION constexpr int columns_before(std::int64_t row, std::int64_t columns, int width) {
  return static_cast<int>(static_cast<std::uint64_t>(row * columns) % static_cast<std::uint64_t>(width));
}
/// And the packs that hold a row wherever it begins in the first one.
constexpr std::int64_t shifted_packs(std::int64_t columns, int width) { return ceil_div(columns + width - 1, width); }

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
  /// is as well aligned as the first one, unless rows are `shifted`.
  int pack = 1;
  int lanes = 1;  ///< of a group of threads that share a result (along), or side by side (down); a power of two
  int slots = 1;  ///< threads that share a column, where these are kept; a power of two
  /// Rows that are no whole packs of the widest access are taken by these all the same: they begin where those of one
  /// long row would (columns_before), so that they can be read at once, but for the first one and the last one.
  bool shifted = false;
  std::int64_t column_blocks = 1;  ///< of columns that a group takes, where they are kept
  std::int64_t part_columns = 1;   ///< where they are reduced
  std::int64_t column_parts = 1;
  std::int64_t part_runs = 1;
  std::int64_t run_parts = 1;

  std::int64_t parts() const { return column_parts * run_parts; }
  std::int64_t results() const { return direction == Direction::down ? kept * columns : kept; }
};

/// Whether the operand's rows lie as those of one long row would, to a pack of the widest access.
bool has_shifted_packs(const ReducePlan& plan, const ReducePlan::Operand& operand, ElementType type);

/// The loop's `reduced` axes say what is reduced. None may be without elements.
ReducePlan make_reduce_plan(const Loop& loop);

/// The steps of which a plan is made. Along: how many packs of a row a thread has under way. Down: how many threads lie
/// side by side where columns and rows are many, and the most rows of a thread.
ReducePlan make_uncut_plan(const Loop& loop);
void cut_along(ReducePlan& plan, int batch);
void cut_down(ReducePlan& plan, int lanes, std::int64_t longest);
/// Down: a thread has all rows of its columns alone.
void leave_columns_whole(ReducePlan& plan);
/// How many threads lie side by side where a column's rows are to be one part: `most`, or fewer where the rows fit
/// then.
int lanes_of_whole_columns(const ReducePlan& plan, int most);

/// Whether each result is one whole row, which a warp or less reduces.
bool has_single_rows(const ReducePlan& plan);

/// Bytes of workspace for the partial results of a reduction.
std::size_t reduce_workspace(const ReducePlan& plan, ElementType type);

}  // namespace portops::impl
