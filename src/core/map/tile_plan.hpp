// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "core/loop/loop.hpp"

#include <array>

// The tiled form of a loop: how it is cut into the work of teams and threads. Decided here, on the host, from extents,
// strides and alignment alone (never from the number of threads), so that sums have the same bits on every run.

namespace portops::impl {

/// How the kernel reads an input or writes an output.
enum class Access : std::int32_t {
  none,      ///< a number; an output that is not wanted
  row,       ///< one element a row
  packs,     ///< neighbouring columns are neighbours in memory; packs are aligned where the kernel needs it
  elements,  ///< one by one
  staged,    ///< an input that is the same for all rows of a tile: read once a tile, into team scratch or registers
};

/// Where an output's results go. `elements`: one a column and row, straight to the tensor. The others are sums; each
/// gives an array of results [outer][i][j], where i is a row or, for outputs summed over rows, a block of rows, and j a
/// column or a block of columns.
enum class TileSum : std::int32_t { elements, none, rows, columns, both };

/// How the threads of a GPU go through a tile: down the rows, or along each row. Outputs that are sums must be summed
/// in that direction, or in both, or, where the walk is down and a row of a tile falls to a whole warp, in either;
/// operands are read and written by packs, are the same in all rows, or are one element a row. Walks down need one row
/// axis at most, rows of whole packs, and all packs aligned. Along a row it is enough if all operands miss the
/// alignment by as many elements: those before the first whole pack and after the last are taken one by one. Walks
/// interleaved are walks down in which the columns of a thread are a warp apart, so that neighbouring threads take
/// neighbouring elements one by one: they need no alignment, no whole packs, and sum in either direction. Other plans
/// have no walk but a kernel that can do everything.
enum class Walk : std::int32_t { none, down, along, interleaved };

/// An operand over the axes of a TilePlan.
struct TileOperand {
  std::byte* data = nullptr;
  double number = 0.0;
  std::int64_t column_stride = 0;
  std::array<std::int64_t, max_rank> stride{};  ///< along the outer axes, then the row axes
  std::int64_t period = 0;                      ///< of a folded operand: its element is column modulo period
  unsigned step_bytes = 0;                      ///< from a step of a walk to the next
  Access access = Access::none;
  TileSum sum = TileSum::elements;
  bool direct = true;           ///< the results are final: they are written to the tensor itself
  std::int64_t partial_at = 0;  ///< else: where in the workspace they are kept, counted in elements
};

/// The axes of the loop, cut in three: the last one gives the columns of a tile, some give its rows, and the outer ones
/// tell the tiles apart. A loop over contiguous memory may be folded instead: cut into rows of a convenient length,
/// the last of which may be shorter.
struct TilePlan {
  std::int64_t columns = 1;  ///< length of a row
  std::int64_t rows = 1;     ///< rows for each outer index
  std::int64_t size = 1;     ///< columns of all rows together: less than rows · columns where the last row is shorter
  int outer_rank = 0;
  int row_rank = 0;
  std::array<std::int64_t, max_rank> extent{};  ///< of the outer axes, then of the row axes
  std::array<TileOperand, max_operands> operand{};

  int lanes = 1;  ///< a power of two
  int slots = 1;  ///< a power of two
  int tile_columns = 1;
  int tile_rows = 1;
  std::int64_t column_blocks = 1;
  std::int64_t row_blocks = 1;
  std::int64_t outer = 1;
  int staged = 0;          ///< operands with Access::staged
  bool sums_rows = false;  ///< some output is summed over the rows of a tile
  bool streaming = false;  ///< outputs are too large to stay in a host's caches
  Walk walk = Walk::none;
  std::int64_t partials = 0;  ///< elements of workspace

  std::int64_t tiles() const { return outer * row_blocks * column_blocks; }
};

/// For a loop of one axis or more.
TilePlan make_tile_plan(const Loop& loop, Backend backend);

/// Whether tiles are worth it for a loop that sums nothing and has contiguous outputs, but inputs that are not.
bool suits_tiles(const Loop& loop, Backend backend);

}  // namespace portops::impl
