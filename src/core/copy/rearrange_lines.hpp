// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/rearrangement.hpp"
#include "core/exec/cuda/kernel_order.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <type_traits>

namespace portops::impl {

/// Rearranges elements of any strides on a GPU, where rows and columns are many. A team takes a tile of rows and
/// columns (y and x together); its warps read lines of neighbours in `from` and write lines of neighbours in `to`. A
/// thread has the same places in all of its lines, so that little is computed for each element.
template <class From, class To>
class RearrangeLines {
 public:
  static constexpr int threads = 256;
  static constexpr int blocks = 4;
  std::int64_t first_team = 0;

  /// Whether lines have neighbours for at least half of a warp.
  static bool suits(const Rearrangement& what) {
    constexpr int few = 16;
    return std::min(what.rows, what.columns()) > few;
  }

  explicit RearrangeLines(const Rearrangement& what)
      : what_(what),
        from_(static_cast<const From*>(what.from.data)),
        to_(static_cast<To*>(what.to.data)),
        by_width_(what.width),
        across_(what.rows <= warp        ? squares
                : what.columns() <= warp ? 1
                                         : squares_of_a_side),
        tiles_down_(ceil_div(what.rows, squares / across_ * warp)),
        tiles_across_(ceil_div(what.columns(), across_ * warp)),
        by_tiles_down_(tiles_down_),
        by_tiles_across_(tiles_across_),
        tile_rows_(static_cast<int>(ceil_div(what.rows, tiles_down_))),
        tile_columns_(static_cast<int>(ceil_div(what.columns(), tiles_across_))) {}

  std::int64_t teams() const { return what_.batches * tiles_down_ * tiles_across_; }
  static constexpr std::size_t scratch_bytes() { return scratch_elements * sizeof(To); }

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    let_next_kernel_start();
    To* const scratch = scratch_of<To>(team);
    const std::int64_t tile = first_team + team.league_rank();
    read(tile, team.team_rank(), scratch);
    team.team_barrier();
    write(tile, team.team_rank(), scratch);
  }

  /// A thread's part of a tile, from memory to scratch. All loads are on their way before the first one is waited for.
  KOKKOS_FORCEINLINE_FUNCTION void read(std::int64_t tile, int thread, To* scratch) const {
    with_shape(what_.from, [&](auto shape) {
      using Shape = decltype(shape);
      From own[per_thread] = {};
      walk<Shape>(what_.from, locate(tile), in_device_memory(from_), thread,
                  [&](int k, const From* from) { own[k] = *from; });
      // Places behind the last line or its end are there, and are not looked at.
      To* const first = scratch + Shape::first(thread);
      PORTOPS_UNROLL
      for (int k = 0; k < per_thread; ++k) first[Shape::place(k)] = static_cast<To>(own[k]);
    });
  }

  /// From scratch to memory.
  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t tile, int thread, const To* scratch) const {
    with_shape(what_.to, [&](auto shape) {
      using Shape = decltype(shape);
      const To* const first = scratch + Shape::first(thread);
      walk<Shape>(what_.to, locate(tile), in_device_memory(to_), thread,
                  [&](int k, To* to) { *to = first[Shape::place(k)]; });
    });
  }

 private:
  static constexpr int warp = 32, warps = threads / warp;
  static constexpr int per_thread = sizeof(From) == 8 ? 4 : 16;
  /// A tile has so many squares of 32 by 32 elements at most: two by two, or one beside the other where one side is
  /// short.
  static constexpr int squares = per_thread * threads / (warp * warp);
  static constexpr int squares_of_a_side = squares == 4 ? 2 : 1;
  static_assert(squares == 4 || squares == 1);
  /// An odd number of words follows each square: neither rows nor columns meet in the same banks.
  static constexpr int gap = sizeof(To) == 2 ? 2 : 1;
  static constexpr std::size_t scratch_elements = squares * warp * (warp + gap);

  struct Tile {
    std::int64_t batch, row, column;
    int rows, columns;
  };

  /// How a tile of `across` squares in a row is walked through: lines of neighbours along rows, or along columns.
  template <int across, bool along_rows_>
  struct WalkShape {
    static constexpr bool along_rows = along_rows_;
    static constexpr int of_line = along_rows ? squares / across : across;  ///< a thread's elements of a line
    static constexpr int stride = across * warp + gap;                      ///< of the scratch's rows

    /// Where in the scratch a thread's first element is, and its k-th one from there.
    KOKKOS_FORCEINLINE_FUNCTION static int first(int thread) { return at(thread / warp, thread % warp); }
    KOKKOS_FORCEINLINE_FUNCTION static constexpr int place(int k) {
      return at(k / of_line * warps, k % of_line * warp);
    }

   private:
    KOKKOS_FORCEINLINE_FUNCTION static constexpr int at(int line, int along) {
      return along_rows ? along * stride + line : line * stride + along;
    }
  };

  /// A place on a side that moves on by equal steps along rows.
  struct AlongRows {
    KOKKOS_FORCEINLINE_FUNCTION AlongRows(const RearrangeLines&, const Rearrangement::Side& side, std::int64_t row,
                                          int rows)
        : place(row * side.row), step(rows * side.row) {}
    KOKKOS_FORCEINLINE_FUNCTION void advance() { place += step; }

    std::int64_t place, step;
  };

  /// The same along columns. No step is longer than a tile.
  struct AlongColumns {
    KOKKOS_FORCEINLINE_FUNCTION AlongColumns(const RearrangeLines& of, const Rearrangement::Side& side,
                                             std::int64_t column, int columns) {
      const std::int64_t extent = of.what_.width;
      const std::int64_t y = of.by_width_.quotient(column), x = column - y * extent;
      const std::int64_t step_y = of.by_width_.quotient(columns);
      step_x = columns - static_cast<int>(step_y * extent);
      place = y * side.y + x * side.x;
      step = step_y * side.y + step_x * side.x;
      next_y = side.y - extent * side.x;
      constexpr int far = 1 << 30;  // no tile goes as far
      width = lesser(far, extent);
      left = lesser(far, extent - x);
    }
    KOKKOS_FORCEINLINE_FUNCTION void advance() {
      place += step;
      left -= step_x;
      if (left <= 0) {
        left += width;
        place += next_y;
      }
    }

    std::int64_t place, step;
    std::int64_t next_y;  ///< what the end of a line of x adds to a step
    int left, step_x, width;
  };

  KOKKOS_FORCEINLINE_FUNCTION Tile locate(std::int64_t tile) const {
    const std::int64_t row_of_tiles = by_tiles_across_.quotient(tile);
    const std::int64_t batch = by_tiles_down_.quotient(row_of_tiles);
    const std::int64_t row = (row_of_tiles - batch * tiles_down_) * tile_rows_;
    const std::int64_t column = (tile - row_of_tiles * tiles_across_) * tile_columns_;
    return {batch, row, column, lesser(tile_rows_, what_.rows - row), lesser(tile_columns_, what_.columns() - column)};
  }

  /// Calls action with the shape of the side's walk.
  template <class Action>
  KOKKOS_FORCEINLINE_FUNCTION void with_shape(const Rearrangement::Side& side, const Action& action) const {
    const bool along_rows = side.row < side.x;
    if constexpr (squares > 1) {
      if (across_ == 2) return along_rows ? action(WalkShape<2, true>()) : action(WalkShape<2, false>());
      if (across_ == 4) return along_rows ? action(WalkShape<4, true>()) : action(WalkShape<4, false>());
    }
    along_rows ? action(WalkShape<1, true>()) : action(WalkShape<1, false>());
  }

  /// Calls action(k, address) for those of a thread's per_thread elements that exist.
  template <class Shape, class T, class Action>
  KOKKOS_FORCEINLINE_FUNCTION void walk(const Rearrangement::Side& side, const Tile& at, T* data, int thread,
                                        const Action& action) const {
    constexpr int of_line = Shape::of_line;
    using Along = std::conditional_t<Shape::along_rows, AlongRows, AlongColumns>;
    using Lines = std::conditional_t<Shape::along_rows, AlongColumns, AlongRows>;
    const int lane = thread % warp, first = thread / warp;
    const int extent = Shape::along_rows ? at.rows : at.columns;
    const int left = (Shape::along_rows ? at.columns : at.rows) - first;
    Along along(*this, side, (Shape::along_rows ? at.row : at.column) + lane, warp);
    Lines line(*this, side, (Shape::along_rows ? at.column : at.row) + first, warps);
    T* in_line[of_line];
    int lines[of_line];  // that reach this far
    PORTOPS_UNROLL
    for (int i = 0; i < of_line; ++i) {
      in_line[i] = pinned(data + at.batch * side.batch + along.place);
      lines[i] = lane + i * warp < extent ? left : 0;
      along.advance();
    }
    PORTOPS_UNROLL
    for (int k = 0; k < per_thread; ++k) {
      if (k / of_line * warps < lines[k % of_line]) action(k, in_device_memory(in_line[k % of_line] + line.place));
      if (k % of_line == of_line - 1) line.advance();
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static int lesser(int a, std::int64_t b) { return a < b ? a : static_cast<int>(b); }

  Rearrangement what_;
  const From* from_;
  To* to_;
  IndexDivisor by_width_;
  int across_;  ///< squares in a row of a whole tile
  std::int64_t tiles_down_, tiles_across_;
  IndexDivisor by_tiles_down_, by_tiles_across_;
  int tile_rows_, tile_columns_;
};

}  // namespace portops::impl
