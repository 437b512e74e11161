// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/column_access.hpp"
#include "core/divide.hpp"
#include "core/lanes.hpp"
#include "core/launch.hpp"
#include "core/pack.hpp"
#include "core/rearrangement.hpp"

namespace portops::impl {

/// to(b, r, y, x) = from(b, r, y, x), rounded once where the types differ. A team takes a square tile of rows and
/// columns (y and x together), reads it in the order in which it lies in `from` and writes it in that of `to`.
template <Backend B, class From, class To>
class Rearrange {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = B == Backend::cuda ? 256 : 1;
  static constexpr int blocks = 4;
  std::int64_t first_team = 0;

  explicit Rearrange(const Rearrangement& what)
      : what_(what),
        from_(static_cast<const From*>(what.from.data)),
        to_(static_cast<To*>(what.to.data)),
        tile_columns_(static_cast<int>(std::min<std::int64_t>(side, what.columns()))),
        tile_rows_(static_cast<int>(std::min<std::int64_t>(side, what.rows))),
        tiles_down_(ceil_div(what.rows, tile_rows_)),
        tiles_across_(ceil_div(what.columns(), tile_columns_)) {}

  std::int64_t teams() const { return what_.batches * tiles_down_ * tiles_across_; }
  std::size_t scratch_bytes() const {
    return threads > 1 ? static_cast<std::size_t>(tile_rows_) * (tile_columns_ + 1) * sizeof(To) : 0;
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t tile = first_team + team.league_rank();
    const std::int64_t row_of_tiles = quotient(tile, tiles_across_);
    const std::int64_t batch = quotient(row_of_tiles, tiles_down_);
    const Tile at{batch, (row_of_tiles - batch * tiles_down_) * tile_rows_,
                  (tile - row_of_tiles * tiles_across_) * tile_columns_};
    if constexpr (threads == 1) {
      copy(at);
    } else {
      To* const scratch = scratch_of<To>(team);
      // All loads are on their way before the first one is waited for.
      From own[per_thread];
      walk(what_.from, at, team.team_rank(),
           [&](int k, int, int, std::int64_t from) { own[k] = in_device_memory(from_)[from]; });
      walk(what_.from, at, team.team_rank(), [&](int k, int row, int column, std::int64_t) {
        scratch[row * (tile_columns_ + 1) + column] = converted(own[k]);
      });
      team.team_barrier();
      walk(what_.to, at, team.team_rank(), [&](int, int row, int column, std::int64_t to) {
        in_device_memory(to_)[to] = scratch[row * (tile_columns_ + 1) + column];
      });
    }
  }

 private:
  static constexpr int side = sizeof(From) == 8 ? 32 : 64;
  static constexpr int lanes = 32;
  static constexpr int groups = (threads + lanes - 1) / lanes;
  static constexpr int lane_steps = side / lanes;
  static constexpr int per_thread = side / groups * lane_steps;

  struct Tile {
    std::int64_t batch, row, column;
  };

  KOKKOS_FORCEINLINE_FUNCTION static bool is_denser(const Rearrangement::Side& side) { return side.row < side.x; }

  KOKKOS_FUNCTION static To converted(From element) {
    if constexpr (std::is_same_v<From, To>) {
      return element;
    } else {
      return static_cast<To>(static_cast<Arithmetic<From>>(element));
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t offset(const Rearrangement::Side& side, const Tile& at, int row,
                                                  int column) const {
    return at.batch * side.batch + (at.row + row) * side.row + along_columns(side, at.column + column);
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t along_columns(const Rearrangement::Side& side, std::int64_t column) const {
    if (what_.height == 1) return column * side.x;
    const std::int64_t y = quotient(column, what_.width);
    return y * side.y + (column - y * what_.width) * side.x;
  }

  /// On hosts: a tile, in the order in which it is written.
  KOKKOS_FUNCTION void copy(const Tile& at) const {
    const int rows = static_cast<int>(lesser(tile_rows_, what_.rows - at.row));
    const int columns = static_cast<int>(lesser(tile_columns_, what_.columns() - at.column));
    const bool along_rows = is_denser(what_.to);
    for (int i = 0; i < (along_rows ? columns : rows); ++i) {
      for (int j = 0; j < (along_rows ? rows : columns); ++j) {
        const int row = along_rows ? j : i, column = along_rows ? i : j;
        to_[offset(what_.to, at, row, column)] = converted(from_[offset(what_.from, at, row, column)]);
      }
    }
  }

  /// Calls action(k, row, column, offset) for a thread's elements of the tile, the k-th of them that may exist.
  /// Neighbouring threads take neighbours in memory; each goes along the other axis.
  template <class Action>
  KOKKOS_FORCEINLINE_FUNCTION void walk(const Rearrangement::Side& side, const Tile& at, int thread,
                                        const Action& action) const {
    const bool along_rows = is_denser(side);
    const int rows = static_cast<int>(lesser(tile_rows_, what_.rows - at.row));
    const int columns = static_cast<int>(lesser(tile_columns_, what_.columns() - at.column));
    const int lane = thread % lanes, first = thread / lanes;
    if (along_rows) {
      const std::int64_t base = offset(side, at, 0, 0) - along_columns(side, at.column);
      PORTOPS_UNROLL
      for (int k = 0; k < per_thread; ++k) {
        const int row = lane + k % lane_steps * lanes, column = first + k / lane_steps * groups;
        if (row >= rows || column >= columns) continue;
        action(k, row, column, base + row * side.row + along_columns(side, at.column + column));
      }
    } else {
      std::int64_t base[lane_steps];
      PORTOPS_UNROLL
      for (int l = 0; l < lane_steps; ++l) base[l] = offset(side, at, first, lane + l * lanes);
      PORTOPS_UNROLL
      for (int k = 0; k < per_thread; ++k) {
        const int row = first + k / lane_steps * groups, column = lane + k % lane_steps * lanes;
        if (row >= rows || column >= columns) continue;
        action(k, row, column, base[k % lane_steps] + k / lane_steps * (groups * side.row));
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  Rearrangement what_;
  const From* from_;
  To* to_;
  int tile_columns_, tile_rows_;
  std::int64_t tiles_down_, tiles_across_;
};

/// Enqueues the rearrangement of elements of type From into elements of type To.
template <Backend B, class From, class To>
void rearrange(const Context& ctx, const std::string& label, const Rearrangement& what) {
  if (what.size() > 0) launch_by_teams<B>(ctx, label, Rearrange<B, From, To>(what));
}

}  // namespace portops::impl
