// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/down_tiles.hpp"
#include "core/reduce/spread_rows.hpp"

namespace portops::impl {

/// Spreads a value a column down columns, on a GPU: a thread keeps its columns' values in registers and walks down the
/// rows of its slot, as in ReduceDown.
template <Backend B, class T, class F>
class SpreadDown {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 4;
  static constexpr int threads = down_threads;

  SpreadDown(const F& f, const ReducePlan& plan, const TieCounts& counts) : f_(f), rows_(plan, counts), tiles_(plan) {}

  std::int64_t teams() const { return tiles_.teams(); }
  std::int64_t first_team = 0;
  std::size_t scratch_bytes() const { return F::counts ? threads * widest_pack * sizeof(std::int64_t) : 0; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const DownTile tile = tiles_.locate(rows_.parts, first_team + team.league_rank(), team.team_rank());
    const Place at = rows_.place(tile.kept);
    with_access<widest_pack>(rows_.pack, rows_.x.packs && rows_.y.packs, [&]<class Access>(Access) {
      Row rows[Access::width];
      if constexpr (F::counts) {
        read_rows<Access>(tile, at, rows);
        if (!share_out<Access>(team, tile, at, rows)) return;
      }
      write<Access>(tile, at, rows);
    });
  }

 private:
  using Place = typename SpreadRows<T>::Place;
  static constexpr int widest_pack = reduce_down_pack_bytes / static_cast<int>(sizeof(T));
  /// Rows that are loaded together.
  template <class Access>
  static constexpr int batch = Access::batch(spread_down_batch(Access::width * static_cast<int>(sizeof(T))));

  KOKKOS_FORCEINLINE_FUNCTION const T* x_of(const DownTile& tile, const Place& at) const {
    return at.x + tile.column * rows_.x.column_stride;
  }
  KOKKOS_FORCEINLINE_FUNCTION T* y_of(const DownTile& tile, const Place& at) const {
    return at.y + tile.column * rows_.y.column_stride;
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void read_rows(const DownTile& tile, const Place& at, Row (&rows)[Access::width]) const {
    if (!tile.active) return;
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) {
      if (i < Access::count(rows_.pack)) rows[i] = rows_.row(f_, at, tile.column + i);
    }
  }

  /// Shares each column's gradient out between its ties. False where these were only counted.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION bool share_out(const Team& team, const DownTile& tile, const Place& at,
                                             Row (&rows)[Access::width]) const {
    const std::int64_t first = tile.kept * rows_.parts.columns + tile.column;
    const int pack = tile.active ? Access::count(rows_.pack) : 0;
    std::int64_t counts[Access::width];
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) counts[i] = 0;
    if (rows_.counts.mode == Ties::given) {
      // The slots share the parts.
      for (std::int64_t p = tiles_.slot(team.team_rank()); p < rows_.parts.parts; p += tiles_.slots()) {
        PORTOPS_UNROLL
        for (int i = 0; i < Access::width; ++i) {
          if (i < pack) counts[i] += rows_.counts.of(p, first + i);
        }
      }
    } else {
      count<Access>(tile, at, rows, pack, counts);
    }
    auto* const scratch = scratch_of<std::int64_t>(team);
    join_over_slots(team, scratch, tiles_.slots(), tiles_.lanes(), counts, Plus());
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) {
      if (i >= pack) continue;
      if (rows_.counts.mode == Ties::counted) {
        if (tiles_.slot(team.team_rank()) == 0) rows_.counts.of(tile.part, first + i) = static_cast<int>(counts[i]);
      } else {
        rows[i] = f_.shared(rows[i], static_cast<A>(counts[i]));
      }
    }
    return rows_.counts.mode != Ties::counted;
  }

  /// Counts the ties in the rows of the thread's slot.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void count(const DownTile& tile, const Place& at, const Row (&rows)[Access::width],
                                         int pack, std::int64_t (&counts)[Access::width]) const {
    const auto add = [&](const Word<T, Access::width>& word) {
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        counts[i] += i < pack && f_.is_tie(static_cast<A>(word[i]), rows[i]) ? 1 : 0;
      }
    };
    if (!rows_.axes.has_one_run_axis()) {
      PORTOPS_NO_UNROLL
      for (int r = 0; r < tile.runs; ++r) {
        const T* x = x_of(tile, at) + rows_.axes.run_offset(rows_.x, tile.run + r * tiles_.slots());
        Word<T, Access::width> loaded[1];
        load<Access>(x, 0, 1, loaded);
        add(loaded[0]);
      }
      return;
    }
    const std::int64_t x_stride = rows_.axes.run_stride(rows_.x);
    const T* x = pinned(x_of(tile, at) + tile.run * x_stride);
    PORTOPS_NO_UNROLL
    for (int left = tile.runs; left > 0; left -= batch<Access>) {
      Word<T, Access::width> loaded[batch<Access>];
      load<Access>(x, tiles_.slots() * x_stride, left, loaded);
      PORTOPS_UNROLL
      for (int r = 0; r < batch<Access>; ++r) {
        if (r < left) add(loaded[r]);
      }
    }
  }

  /// Maps the rows of the thread's slot. Where nothing was counted, their first ones are under way while the columns'
  /// values are read.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void write(const DownTile& tile, const Place& at, Row (&rows)[Access::width]) const {
    if (!rows_.axes.has_one_run_axis()) {
      if constexpr (!F::counts) read_rows<Access>(tile, at, rows);
      PORTOPS_NO_UNROLL
      for (int r = 0; r < tile.runs; ++r) {
        const std::int64_t run = tile.run + r * tiles_.slots();
        const T* x = x_of(tile, at) + rows_.axes.run_offset(rows_.x, run);
        T* y = y_of(tile, at) + rows_.axes.run_offset(rows_.y, run);
        Word<T, Access::width> loaded[1];
        load<Access>(x, 0, 1, loaded);
        store<Access>(y, 0, 1, rows, loaded);
      }
      return;
    }
    const std::int64_t x_stride = rows_.axes.run_stride(rows_.x);
    const std::int64_t y_stride = rows_.axes.run_stride(rows_.y);
    const T* x = pinned(x_of(tile, at) + tile.run * x_stride);
    T* y = pinned(y_of(tile, at) + tile.run * y_stride);
    PORTOPS_NO_UNROLL
    for (int left = tile.runs; left > 0; left -= batch<Access>) {
      Word<T, Access::width> loaded[batch<Access>];
      load<Access>(x, tiles_.slots() * x_stride, left, loaded);
      if constexpr (!F::counts) {
        if (left == tile.runs) read_rows<Access>(tile, at, rows);
      }
      store<Access>(y, tiles_.slots() * y_stride, left, rows, loaded);
    }
  }

  /// Loads `rows` rows or, if that is less, `left`; x becomes the next one.
  template <class Access, int rows>
  KOKKOS_FORCEINLINE_FUNCTION void load(const T*& x, std::int64_t step, int left,
                                        Word<T, Access::width> (&loaded)[rows]) const {
    PORTOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      if (r < left) Access::load(loaded[r], x, rows_.x.column_stride, Access::count(rows_.pack));
      x = pinned(x + step);
    }
  }

  template <class Access, int rows>
  KOKKOS_FORCEINLINE_FUNCTION void store(T*& y, std::int64_t step, int left, const Row (&of_columns)[Access::width],
                                         const Word<T, Access::width> (&loaded)[rows]) const {
    PORTOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      Word<T, Access::width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        results.set(i, static_cast<T>(f_(static_cast<A>(loaded[r][i]), of_columns[i])));
      }
      if (r < left) Access::store(y, results, rows_.y.column_stride, Access::count(rows_.pack));
      y = pinned(y + step);
    }
  }

  F f_;
  SpreadRows<T> rows_;
  DownTiles tiles_;
};

}  // namespace portops::impl
