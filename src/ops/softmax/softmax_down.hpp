// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/down_tiles.hpp"
#include "ops/softmax/softmax_rows.hpp"

namespace portops::impl {

/// Softmax down columns on a GPU, by the tiles of a reduction: a thread keeps to a pack of columns and walks down the
/// rows of its slot, and the slots meet in a tree. `keeps`: rows are read once, because the threads have them all in
/// registers; else twice.
template <Backend B, class T, class F, bool keeps>
class SoftmaxDown {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = sizeof(T) == 8 ? 2 : 4;
  static constexpr int team_threads = down_threads;

  SoftmaxDown(const SoftmaxRows<T, F>& rows, const ReducePlan& plan) : rows_(rows), tiles_(plan) {}

  static int threads() { return team_threads; }
  std::int64_t teams() const { return tiles_.teams(); }
  std::size_t scratch_bytes() const { return team_threads * widest * sizeof(State); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const DownTile tile = tiles_.locate(rows_.parts, first_team + team.league_rank(), team.team_rank());
    with_access<widest>(rows_.pack, keeps || rows_.packs, [&]<class Access>(Access) { take<Access>(team, tile); });
  }

 private:
  static constexpr int widest = reduce_down_pack_bytes / static_cast<int>(sizeof(T));

  /// A thread's rows, in registers.
  template <class Access>
  struct Held {
    static constexpr int batch = Access::batch(softmax_down_batch / F::inputs);
    Word<T, Access::width> row[F::inputs][batch];
  };

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Team& team, const DownTile& tile) const {
    constexpr int width = Access::width, batch = Held<Access>::batch;
    State states[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) states[i] = F::identity();
    typename F::Row of_columns[width];
    if constexpr (keeps) {
      Held<Access> held;
      load(tile, 0, held);
      add<Access>(states, held);
      join_slots(team, states, of_columns);
      if (tile.active) write(tile, 0, of_columns, held);
    } else {
      if (rows_.pass == SoftmaxPass::apply) {
        join_parts<Access>(tile, tiles_.slot(team.team_rank()), states);
      } else {
        PORTOPS_NO_UNROLL
        for (int row = 0; row < tile.runs; row += batch) {
          Held<Access> held;
          load(tile, row, held);
          add<Access>(states, held);
        }
      }
      join_slots(team, states, of_columns);
      if (rows_.pass == SoftmaxPass::states) {
        if (tile.active && tiles_.slot(team.team_rank()) == 0) leave<Access>(tile, states);
        return;
      }
      PORTOPS_NO_UNROLL
      for (int row = 0; row < tile.runs; row += batch) {
        Held<Access> held;
        load(tile, row, held);
        write(tile, row, of_columns, held);
      }
    }
  }

  template <int width>
  KOKKOS_FORCEINLINE_FUNCTION void join_slots(const Team& team, State (&states)[width],
                                              typename F::Row (&of_columns)[width]) const {
    join_over_slots(team, scratch_of<State>(team), tiles_.slots(), tiles_.lanes(), states, F());
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) of_columns[i] = F::row(states[i]);
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t result_of(const DownTile& tile) const {
    return tile.kept * rows_.parts.columns + tile.column;
  }

  /// Leaves what a part's columns come to.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void leave(const DownTile& tile, const State (&states)[Access::width]) const {
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) {
      if (i < Access::count(rows_.pack)) rows_.partial(result_of(tile) + i, tile.part) = states[i];
    }
  }

  /// The slot's share of what all parts came to.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void join_parts(const DownTile& tile, int slot, State (&states)[Access::width]) const {
    if (!tile.active) return;
    PORTOPS_NO_UNROLL
    for (std::int64_t part = slot; part < rows_.parts.parts; part += tiles_.slots()) {
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        if (i < Access::count(rows_.pack)) states[i] = F()(states[i], rows_.partial(result_of(tile) + i, part));
      }
    }
  }

  /// Where the slot's row `row` is, counted from its first one.
  template <class E>
  KOKKOS_FORCEINLINE_FUNCTION E* at(const RowOperand<E>& operand, const DownTile& tile, int row) const {
    return rows_.at(operand, tile.kept, tile.column) +
           rows_.axes.run_offset(operand, tile.run + std::int64_t{row} * tiles_.slots());
  }

  /// Loads a batch of the slot's rows, as far as they exist.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void load(const DownTile& tile, int first, Held<Access>& held) const {
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      const auto& in = rows_.in[k];
      const std::int64_t step = rows_.axes.run_stride(in) * tiles_.slots();
      const T* from = at(in, tile, first);
      PORTOPS_UNROLL
      for (int r = 0; r < held.batch; ++r) {
        held.row[k][r] = Word<T, Access::width>(static_cast<T>(F::fill()));
        if (first + r < tile.runs) Access::load(held.row[k][r], from, in.column_stride, Access::count(rows_.pack));
        from = pinned(from + step);
      }
    }
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add(State (&states)[Access::width], const Held<Access>& held) const {
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) {
      A values[F::inputs][held.batch];
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) {
        PORTOPS_UNROLL
        for (int r = 0; r < held.batch; ++r) values[k][r] = static_cast<A>(held.row[k][r][i]);
      }
      F().add(states[i], values);
    }
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void write(const DownTile& tile, int first,
                                         const typename F::Row (&of_columns)[Access::width],
                                         const Held<Access>& held) const {
    const std::int64_t step = rows_.axes.run_stride(rows_.out) * tiles_.slots();
    T* to = at(rows_.out, tile, first);
    PORTOPS_UNROLL
    for (int r = 0; r < held.batch; ++r) {
      Word<T, Access::width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        A values[F::inputs];
        PORTOPS_UNROLL
        for (int k = 0; k < F::inputs; ++k) values[k] = static_cast<A>(held.row[k][r][i]);
        results.set(i, static_cast<T>(F()(of_columns[i], values)));
      }
      if (first + r < tile.runs) Access::store(to, results, rows_.out.column_stride, Access::count(rows_.pack));
      to = pinned(to + step);
    }
  }

  SoftmaxRows<T, F> rows_;
  DownTiles tiles_;
};

}  // namespace portops::impl
