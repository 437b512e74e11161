// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/down_tiles.hpp"
#include "ops/softmaxes/softmax_rows.hpp"

namespace portops::impl {

/// The same as SoftmaxAlong down columns, by the tiles of a reduction: a thread keeps to a pack of columns and walks
/// down the rows of its slot, and the slots meet in a tree. `keeps`: rows are read once, because the threads have them
/// all in registers; else twice.
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
  std::size_t scratch_bytes() const { return F::collects ? team_threads * widest * sizeof(State) : 0; }
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
    if constexpr (keeps) {
      Held<Access> held;
      load(tile, 0, held);
      if constexpr (F::collects) {
        add<Access>(states, held);
        join_slots(team, states);
      }
      if (!tile.active) return;
      typename F::Row of_columns[width];
      make_rows<Access>(tile, states, of_columns);
      write(tile, 0, of_columns, held);
    } else {
      const bool is_first_slot = tiles_.slot(team.team_rank()) == 0;
      if constexpr (F::collects) {
        collect<Access>(tile, tiles_.slot(team.team_rank()), states);
        join_slots(team, states);
        if (rows_.pass == SoftmaxPass::states) {
          if (tile.active && is_first_slot) leave<Access>(tile, states);
          return;
        }
      }
      if (!tile.active) return;
      if constexpr (F::writes) {
        typename F::Row of_columns[width];
        make_rows<Access>(tile, states, of_columns);
        PORTOPS_NO_UNROLL
        for (int row = 0; row < tile.runs; row += batch) {
          Held<Access> held;
          load(tile, row, held);
          write(tile, row, of_columns, held);
        }
      } else if (is_first_slot && tile.part == 0) {
        PORTOPS_UNROLL
        for (int i = 0; i < width; ++i) {
          if (i < Access::count(rows_.pack)) rows_.f.finish(states[i], row_of(tile, i));
        }
      }
    }
  }

  /// What the slot's share of the rows comes to, or of the parts that other teams have left.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void collect(const DownTile& tile, int slot, State (&states)[Access::width]) const {
    if (rows_.pass == SoftmaxPass::apply) return join_parts<Access>(tile, slot, states);
    PORTOPS_NO_UNROLL
    for (int row = 0; row < tile.runs; row += Held<Access>::batch) {
      Held<Access> held;
      load(tile, row, held);
      add<Access>(states, held);
    }
  }

  template <int width>
  KOKKOS_FORCEINLINE_FUNCTION void join_slots(const Team& team, State (&states)[width]) const {
    join_over_slots(team, scratch_of<State>(team), tiles_.slots(), tiles_.lanes(), states, rows_.f);
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void make_rows(const DownTile& tile, const State (&states)[Access::width],
                                             typename F::Row (&of_columns)[Access::width]) const {
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) {
      if (i < Access::count(rows_.pack)) of_columns[i] = rows_.f.row(states[i], row_of(tile, i));
    }
  }

  /// The row that goes down the i-th of the thread's columns.
  KOKKOS_FORCEINLINE_FUNCTION SoftmaxRow row_of(const DownTile& tile, int i) const {
    return rows_.row(tile.kept, tile.column + i, tile.part * rows_.parts.part_runs);
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
        if (i < Access::count(rows_.pack)) states[i] = rows_.f(states[i], rows_.partial(result_of(tile) + i, part));
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
        held.row[k][r] = Word<T, Access::width>(static_cast<T>(F::fill(k)));
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
      rows_.f.add(states[i], values);
    }
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void write(const DownTile& tile, int first,
                                         const typename F::Row (&of_columns)[Access::width],
                                         const Held<Access>& held) const {
    const std::int64_t step = rows_.axes.run_stride(rows_.out) * tiles_.slots();
    T* to = at(rows_.out, tile, first);
    const auto number = static_cast<int>(tile.run - tile.part * rows_.parts.part_runs) + first * tiles_.slots();
    PORTOPS_UNROLL
    for (int r = 0; r < held.batch; ++r) {
      Word<T, Access::width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        A values[F::inputs];
        PORTOPS_UNROLL
        for (int k = 0; k < F::inputs; ++k) values[k] = static_cast<A>(held.row[k][r][i]);
        results.set(i, static_cast<T>(rows_.f(of_columns[i], values, number + r * tiles_.slots())));
      }
      if (first + r < tile.runs) Access::store(to, results, rows_.out.column_stride, Access::count(rows_.pack));
      to = pinned(to + step);
    }
  }

  SoftmaxRows<T, F> rows_;
  DownTiles tiles_;
};

}  // namespace portops::impl
