// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/down_tiles.hpp"
#include "ops/softmaxes/softmax_numbers.hpp"
#include "ops/softmaxes/softmax_rows.hpp"

namespace portops::impl {

/// What a thread has of its columns.
enum class SoftmaxKeptRows : std::int32_t {
  none,  ///< the last rows; the others are read twice
  few,   ///< all rows, as numbers, alone: softmax_few_rows at most
  all    ///< all rows of its slot, as numbers
};

/// The same as SoftmaxAlong down columns, by the tiles of a reduction: a thread keeps to a pack of columns and walks
/// down the rows of its slot, and the slots meet in a tree.
template <Backend B, class T, class F, SoftmaxKeptRows kept_rows>
class SoftmaxDown {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr bool keeps = kept_rows != SoftmaxKeptRows::none;
  static constexpr int blocks = (sizeof(T) == 8 ? 2 : 4) * (kept_rows == SoftmaxKeptRows::few ? 2 : 1);
  static constexpr int most_threads = 256;
  static constexpr int team_threads = down_threads;

  SoftmaxDown(const SoftmaxRows<T, F>& rows, const ReducePlan& plan) : rows_(rows), tiles_(plan) {}

  static int threads() { return team_threads; }
  std::int64_t teams() const { return tiles_.teams(); }
  std::size_t scratch_bytes() const {
    if (!F::collects) return 0;
    return team_threads * (keeps ? sizeof(A) : widest * sizeof(State));
  }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const DownTile tile = tiles_.locate(rows_.parts, first_team + rows_.number_of(team), team.team_rank());
    with_access<widest>(rows_.pack, keeps || rows_.packs, [&]<class Access>(Access) { take<Access>(team, tile); });
  }

 private:
  static constexpr bool has_all = kept_rows == SoftmaxKeptRows::all;
  static constexpr int widest =
      (has_all ? softmax_down_kept_bytes(sizeof(T)) : reduce_down_pack_bytes) / static_cast<int>(sizeof(T));

  /// A thread's rows, in registers.
  template <class Access>
  struct Held {
    static constexpr int batch = has_all ? softmax_down_kept_rows(sizeof(T), Access::width, F::inputs)
                                 : keeps ? softmax_few_rows
                                         : Access::batch(softmax_down_batch / F::inputs);
    Word<T, Access::width> row[F::inputs][batch];
  };

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Team& team, const DownTile& tile) const {
    constexpr int width = Access::width, batch = Held<Access>::batch;
    const int slot = tiles_.slot(team.team_rank());
    Held<Access> held;
    if constexpr (keeps) {
      const bool finishes = tile.active && slot == 0;
      typename F::Asked asked[width];
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) asked[i] = ask(rows_.f, row_of(tile, i), finishes);
      load(tile, 0, held);
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) ask_more(rows_.f, row_of(tile, i), finishes, asked[i]);
      A numbers[width][F::inputs][batch];
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        values_of_column(held, i, numbers[i]);
        take_numbers<false>(
            rows_.f, row_of(tile, i), numbers[i], [&](int r) { return r < tile.runs; },
            [&](int r) { return number_of(tile, r); },
            [&](A value, const auto& functor) { return join_slots(team, value, functor); }, asked[i], finishes);
      }
      if constexpr (F::writes) write<Access>(tile, 0, [&](int r, int i) { return numbers[i][0][r]; });
    } else {
      State states[width];
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) states[i] = F::identity();
      // Forwards, and then backwards: the last batch is still in registers, and those before it are in a cache.
      const int last = (tile.runs - 1) / batch * batch;
      if constexpr (F::collects) {
        collect(tile, slot, last, held, states);
        join_over_slots(team, scratch_of<State>(team), tiles_.slots(), tiles_.lanes(), states, rows_.f);
        if (rows_.pass == SoftmaxPass::states) {
          if (tile.active && slot == 0) leave<Access>(tile, states);
          return;
        }
      }
      if (!tile.active) return;
      if constexpr (F::writes) {
        typename F::Row of_columns[width];
        make_rows<Access>(tile, states, of_columns);
        const bool holds_last = F::collects && rows_.pass != SoftmaxPass::apply;
        PORTOPS_NO_UNROLL
        for (int row = last; row >= 0; row -= batch) {
          if (row < last || !holds_last) load(tile, row, held);
          write(tile, row, of_columns, held);
        }
      } else if (slot == 0 && tile.part == 0) {
        PORTOPS_UNROLL
        for (int i = 0; i < width; ++i) {
          if (i < Access::count(rows_.pack)) finish_row(rows_.f, states[i], row_of(tile, i));
        }
      }
    }
  }

  /// What the slot's share of the rows comes to, the last batch of which stays in `held`, or its share of the parts
  /// that other teams have left.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void collect(const DownTile& tile, int slot, int last, Held<Access>& held,
                                           State (&states)[Access::width]) const {
    if (rows_.pass == SoftmaxPass::apply) return join_parts<Access>(tile, slot, states);
    PORTOPS_NO_UNROLL
    for (int row = 0; row <= last; row += held.batch) {
      load(tile, row, held);
      add<Access>(states, held);
    }
  }

  /// Joins a value of each slot, in the order of the slots.
  template <class Join>
  KOKKOS_FORCEINLINE_FUNCTION A join_slots(const Team& team, A value, const Join& join) const {
    if (tiles_.slots() == 1) return value;
    A* const scratch = scratch_of<A>(team);
    const int thread = team.team_rank(), lanes = tiles_.lanes();
    scratch[thread] = value;
    team.team_barrier();
    const A* const of_lane = scratch + (thread - tiles_.slot(thread) * lanes);
    value = of_lane[0];
    PORTOPS_NO_UNROLL
    for (int slot = 1; slot < tiles_.slots(); ++slot) value = join(value, of_lane[slot * lanes]);
    team.team_barrier();
    return value;
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void make_rows(const DownTile& tile, const State (&states)[Access::width],
                                             typename F::Row (&of_columns)[Access::width]) const {
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) {
      if (i < Access::count(rows_.pack)) of_columns[i] = rows_.f.row(states[i], row_of(tile, i));
    }
  }

  /// The row that goes down the i-th of the thread's columns; the first of all for a thread without columns.
  KOKKOS_FORCEINLINE_FUNCTION SoftmaxRow row_of(const DownTile& tile, int i) const {
    return rows_.row(tile.active ? tile.kept : 0, tile.active ? tile.column + i : 0, tile.part * rows_.parts.part_runs);
  }

  /// Which element of its row, or of the part, the slot's row `row` has.
  KOKKOS_FORCEINLINE_FUNCTION int number_of(const DownTile& tile, int row) const {
    return static_cast<int>(tile.run - tile.part * rows_.parts.part_runs) + row * tiles_.slots();
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

  /// The numbers of the i-th of the thread's columns.
  template <class Access, int batch>
  KOKKOS_FORCEINLINE_FUNCTION static void values_of_column(const Held<Access>& held, int i,
                                                           A (&values)[F::inputs][batch]) {
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      PORTOPS_UNROLL
      for (int r = 0; r < batch; ++r) values[k][r] = static_cast<A>(held.row[k][r][i]);
    }
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add(State (&states)[Access::width], const Held<Access>& held) const {
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) {
      A values[F::inputs][held.batch];
      values_of_column(held, i, values);
      rows_.f.add(states[i], values);
    }
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void write(const DownTile& tile, int first,
                                         const typename F::Row (&of_columns)[Access::width],
                                         const Held<Access>& held) const {
    write<Access>(tile, first, [&](int r, int i) {
      A values[F::inputs];
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) values[k] = static_cast<A>(held.row[k][r][i]);
      return rows_.f(of_columns[i], values, number_of(tile, first + r));
    });
  }

  /// Writes result(r, i) in row `first` + r of the slot, column i of the thread's pack.
  template <class Access, class Result>
  KOKKOS_FORCEINLINE_FUNCTION void write(const DownTile& tile, int first, const Result& result) const {
    const std::int64_t step = rows_.axes.run_stride(rows_.out) * tiles_.slots();
    T* to = at(rows_.out, tile, first);
    PORTOPS_UNROLL
    for (int r = 0; r < Held<Access>::batch; ++r) {
      Word<T, Access::width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) results.set(i, static_cast<T>(result(r, i)));
      if (first + r < tile.runs) Access::store(to, results, rows_.out.column_stride, Access::count(rows_.pack));
      to = pinned(to + step);
    }
  }

  SoftmaxRows<T, F> rows_;
  DownTiles tiles_;
};

}  // namespace portops::impl
