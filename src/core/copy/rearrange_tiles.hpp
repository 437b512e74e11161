// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/rearrangement.hpp"
#include "core/exec/cuda/kernel_order.hpp"
#include "core/exec/spaces.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>

namespace portops::impl {

/// Rearranges elements of any strides. A team takes a tile of rows and columns (y and x together), reads it in the
/// order in which it lies in `from` and writes it in that of `to`. On GPUs for few rows or columns (or RearrangeLines).
template <Backend B, class From, class To>
class RearrangeTiles {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = B == Backend::cuda ? 256 : 1;
  static constexpr int blocks = 4;
  std::int64_t first_team = 0;

  explicit RearrangeTiles(const Rearrangement& what)
      : what_(what),
        from_(static_cast<const From*>(what.from.data)),
        to_(static_cast<To*>(what.to.data)),
        by_width_(what.width) {
    const std::int64_t columns = std::min(side, what.columns());
    const std::int64_t rows = std::min(most_elements / columns, what.rows);
    tiles_down_ = ceil_div(what.rows, rows);
    tiles_across_ = ceil_div(what.columns(), std::min(most_elements / rows, what.columns()));
    tile_rows_ = static_cast<int>(ceil_div(what.rows, tiles_down_));
    tile_columns_ = static_cast<int>(ceil_div(what.columns(), tiles_across_));
  }

  std::int64_t teams() const { return what_.batches * tiles_down_ * tiles_across_; }
  std::size_t scratch_bytes() const {
    return threads > 1 ? static_cast<std::size_t>(tile_rows_) * scratch_stride() * sizeof(To) : 0;
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    let_next_kernel_start();
    const std::int64_t tile = first_team + team.league_rank();
    const std::int64_t row_of_tiles = quotient(tile, tiles_across_);
    const std::int64_t batch = quotient(row_of_tiles, tiles_down_);
    const std::int64_t row = (row_of_tiles - batch * tiles_down_) * tile_rows_;
    const std::int64_t column = (tile - row_of_tiles * tiles_across_) * tile_columns_;
    const Tile at{batch, row, column, lesser(tile_rows_, what_.rows - row),
                  lesser(tile_columns_, what_.columns() - column)};
    if constexpr (threads == 1) {
      copy(at);
    } else {
      To* const scratch = scratch_of<To>(team);
      const int stride = scratch_stride();
      // All loads are on their way before the first one is waited for.
      From own[per_thread];
      walk(what_.from, at, team.team_rank(),
           [&](int k, int, int, std::int64_t from) { own[k] = in_device_memory(from_)[from]; });
      walk(what_.from, at, team.team_rank(),
           [&](int k, int r, int c, std::int64_t) { scratch[r * stride + c] = static_cast<To>(own[k]); });
      team.team_barrier();
      walk(what_.to, at, team.team_rank(),
           [&](int, int r, int c, std::int64_t to) { in_device_memory(to_)[to] = scratch[r * stride + c]; });
    }
  }

 private:
  /// Of a tile where both sides are long. Where one is short, the other is longer.
  static constexpr std::int64_t side = sizeof(From) == 8 ? 32 : 64;
  static constexpr std::int64_t most_elements = side * side;
  static constexpr int per_thread = static_cast<int>(most_elements / threads);

  struct Tile {
    std::int64_t batch, row, column;
    int rows, columns;
  };

  KOKKOS_FUNCTION static bool is_denser(const Rearrangement::Side& side) { return side.row < side.x; }

  /// Odd, so that neither rows nor columns of a tile meet in the same banks.
  KOKKOS_FUNCTION int scratch_stride() const { return tile_columns_ | 1; }

  KOKKOS_FUNCTION static std::int64_t offset(const Rearrangement::Side& side, const Tile& at) {
    return at.batch * side.batch + at.row * side.row;
  }

  /// On hosts: a tile, in the order in which it is written.
  KOKKOS_FUNCTION void copy(const Tile& at) const {
    const bool along_rows = is_denser(what_.to);
    for (int i = 0; i < (along_rows ? at.columns : at.rows); ++i) {
      for (int j = 0; j < (along_rows ? at.rows : at.columns); ++j) {
        const int row = along_rows ? j : i;
        const std::int64_t column = at.column + (along_rows ? i : j);
        to_[offset(what_.to, at) + row * what_.to.row + what_.along_columns(what_.to, column)] = static_cast<To>(
            from_[offset(what_.from, at) + row * what_.from.row + what_.along_columns(what_.from, column)]);
      }
    }
  }

  /// Calls action(k, row, column, offset) for a thread's elements of the tile, the k-th of them that may exist.
  /// Neighbouring threads take neighbours in memory.
  template <class Action>
  KOKKOS_FORCEINLINE_FUNCTION void walk(const Rearrangement::Side& side, const Tile& at, int thread,
                                        const Action& action) const {
    const bool along_rows = is_denser(side), is_matrix = what_.height == 1;
    const int count = at.rows * at.columns, inner_extent = along_rows ? at.rows : at.columns;
    const int outer_step = threads / inner_extent, inner_step = threads - outer_step * inner_extent;
    int outer = thread / inner_extent, inner = thread - outer * inner_extent;
    // In a matrix, steps from element to element; else from the tile's row.
    const std::int64_t outer_stride = along_rows ? side.x : side.row, inner_stride = along_rows ? side.row : side.x;
    const std::int64_t step = outer_step * outer_stride + inner_step * inner_stride;
    const std::int64_t next_line = outer_stride - inner_extent * inner_stride;
    std::int64_t place =
        offset(side, at) + (is_matrix ? at.column * side.x + outer * outer_stride + inner * inner_stride : 0);
    PORTOPS_UNROLL
    for (int k = 0; k < per_thread; ++k) {
      if (k * threads >= count) break;
      const int row = along_rows ? inner : outer, column = along_rows ? outer : inner;
      if (thread + k * threads < count) {
        action(k, row, column, is_matrix ? place : place + row * side.row + along_columns(side, at.column + column));
      }
      outer += outer_step;
      inner += inner_step;
      if (is_matrix) place += step;
      if (inner >= inner_extent) {
        inner -= inner_extent;
        ++outer;
        if (is_matrix) place += next_line;
      }
    }
  }

  /// As Rearrangement's.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t along_columns(const Rearrangement::Side& side, std::int64_t column) const {
    const std::int64_t y = by_width_.quotient(column);
    return y * side.y + (column - y * what_.width) * side.x;
  }

  KOKKOS_FORCEINLINE_FUNCTION static int lesser(int a, std::int64_t b) { return a < b ? a : static_cast<int>(b); }

  Rearrangement what_;
  const From* from_;
  To* to_;
  IndexDivisor by_width_;
  int tile_columns_, tile_rows_;
  std::int64_t tiles_down_, tiles_across_;
};

}  // namespace portops::impl
