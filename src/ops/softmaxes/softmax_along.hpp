// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/prefetch.hpp"
#include "ops/softmaxes/softmax_numbers.hpp"
#include "ops/softmaxes/softmax_rows.hpp"

#include <algorithm>
#include <bit>

namespace portops::impl {

/// What a group of lanes has of its row.
enum class SoftmaxRowAccess : std::int32_t {
  kept,          ///< all of it, in registers: it is read once
  again,         ///< its end; all else is read twice
  kept_shifted,  ///< as kept, of rows of odd lengths: their packs begin where those of one long row would, so that they
                 ///< can be read at once, but for the first one and the last one
  shifted        ///< as again, of such rows
};

/// Softmax, or another functor of SoftmaxOfNumbers' kind, along rows on a GPU: a group of lanes, part of a warp or a
/// team, takes a row or a part of one, each lane every lanes-th pack.
template <Backend B, class T, class F, SoftmaxRowAccess row_access>
class SoftmaxAlong {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr bool reads_twice = F::collects && F::writes;
  static constexpr int most_threads = softmax_most_lanes(sizeof(T), reads_twice);
  /// Exponentials of f64 take registers.
  static constexpr int blocks = reads_twice ? 1 : sizeof(T) == 8 ? 2 : 4;

  /// `processors`: a GPU's.
  SoftmaxAlong(const SoftmaxRows<T, F>& rows, const ReducePlan& plan, std::int64_t processors)
      : rows_(rows),
        groups_(plan.kept * plan.parts()),
        shifts_align_(have_aligned_shifts(plan)),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))),
        team_bits_(std::max(lane_bits_, least_team_bits)),
        rows_ahead_(processors * threads_of_processor >> lane_bits_) {}

  int threads() const { return 1 << team_bits_; }
  std::int64_t teams() const { return ceil_div(groups_, threads() >> lane_bits_); }
  std::size_t scratch_bytes() const { return most_threads / warp * sizeof(A); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t group =
        ((first_team + rows_.number_of(team)) << (team_bits_ - lane_bits_)) + (team.team_rank() >> lane_bits_);
    Task task{group < groups_, 0, 0, team.team_rank() & (lanes() - 1), {0, 1, 0, 0}, 0};
    if (task.active) {
      task.kept = rows_.parts.by_parts.quotient(group);
      task.part = group - task.kept * rows_.parts.parts;
      task.range = rows_.parts.range(task.part);
    }
    if constexpr (shifts) {
      task.before = columns_before(task.kept, rows_.parts.columns, widest);
      task.range.columns += task.active ? task.before : 0;
      take<ColumnAccess<widest, true>>(team, task);
    } else {
      with_access<widest>(rows_.pack, keeps || rows_.packs, [&]<class Access>(Access) { take<Access>(team, task); });
    }
  }

 private:
  static constexpr bool shifts =
      row_access == SoftmaxRowAccess::kept_shifted || row_access == SoftmaxRowAccess::shifted;
  static constexpr bool keeps = row_access == SoftmaxRowAccess::kept || row_access == SoftmaxRowAccess::kept_shifted;
  static constexpr int warp = 32;
  static constexpr int least_team_bits = 7;
  /// Of those that keep rows.
  static constexpr int threads_of_processor = 1024;
  static constexpr int widest = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  /// Whether whole packs of shifted rows of all operands can be taken at once.
  static bool have_aligned_shifts(const ReducePlan& plan) {
    constexpr int operands = F::inputs + (F::writes ? 1 : 0);
    return std::all_of(plan.operand.begin(), plan.operand.begin() + operands,
                       [&](const auto& operand) { return has_shifted_packs(plan, operand, ElementTypeOf<T>::value); });
  }

  /// A group's part of a row; nothing of the first one where there are no more.
  struct Task {
    bool active;
    std::int64_t kept;
    std::int64_t part;
    int lane;
    PartRange range;
    int before;  ///< columns that belong to the first pack, and the range, but not to the row

    KOKKOS_FORCEINLINE_FUNCTION bool has(int column) const { return column >= before && column < range.columns; }
  };

  /// A thread's packs, in registers.
  template <class Access>
  struct Held {
    static constexpr int batch =
        Access::batch(softmax_along_batch(Access::width * static_cast<int>(sizeof(T)), sizeof(T), F::inputs));
    Word<T, Access::width> pack[F::inputs][batch];
  };

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Team& team, const Task& task) const {
    const int step = lanes() * Access::count(rows_.pack);
    const auto join = [&](A value, const auto& functor) {
      return join_group(team, scratch_of<A>(team), value, functor);
    };
    [[maybe_unused]] const bool finishes = !F::writes && task.active && task.lane == 0 && task.part == 0;
    Held<Access> held;
    if constexpr (keeps && F::has_terms) {
      load(task, 0, step, held);
      ask_for_row_ahead<Access>(task, step);
      auto numbers = numbers_of(held);
      softmax_of_numbers<F>(numbers.value, [&](int i) { return i / Access::width * step < task.range.columns; }, join);
      write<Access>(task, 0, step, [&](int b, int i) { return numbers.value[b * Access::width + i]; });
    } else if constexpr (keeps) {
      auto asked = ask(rows_.f, row_of(task), finishes);
      load(task, 0, step, held);
      ask_more(rows_.f, row_of(task), finishes, asked);
      State state = F::identity();
      if constexpr (F::sums_terms) {
        auto numbers = numbers_of(held);
        state =
            sum_of_terms<F>(numbers.value, [&](int i) { return i / Access::width * step < task.range.columns; }, join);
      } else if constexpr (F::collects) {
        add(state, held, step, task.range.columns);
        state = F::joined(state, join);
      }
      if constexpr (F::writes) {
        write(task, 0, step, rows_.f.row(state, row_of(task)), held);
      } else if (finishes) {
        rows_.f.finish(state, row_of(task), asked);
      }
    } else {
      // Forwards, and then backwards: the last batch is still in registers, and those before it are in a cache.
      const int batch_columns = held.batch * step;
      const int last = (task.range.columns - 1) / batch_columns * batch_columns;
      auto asked = ask(rows_.f, row_of(task), finishes);
      State state = F::identity();
      if constexpr (F::collects) {
        collect(task, step, last, held, state);
        ask_more(rows_.f, row_of(task), finishes, asked);
        state = F::joined(state, join);
        if (rows_.pass == SoftmaxPass::states) {
          if (task.active && task.lane == 0) rows_.partial(task.kept, task.part) = state;
          return;
        }
      }
      if constexpr (F::writes) {
        const typename F::Row row = rows_.f.row(state, row_of(task));
        const bool holds_last = F::collects && rows_.pass != SoftmaxPass::apply;
        PORTOPS_NO_UNROLL
        for (int first = last; first >= 0; first -= batch_columns) {
          if (first < last || !holds_last) load(task, first, step, held);
          write(task, first, step, row, held);
        }
      } else if (finishes) {
        rows_.f.finish(state, row_of(task), asked);
      }
    }
  }

  /// Where a team has a multiprocessor to itself, nothing is read while it joins and writes. So it asks for the row
  /// that comes after, of 16-bit elements: rows of others are too much for the second-level cache.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void ask_for_row_ahead(const Task& task, int step) const {
    if constexpr (sizeof(T) == 2 && Access::width == widest) {
      const std::int64_t row = task.kept + rows_ahead_;
      if (lanes() < threads_of_processor / 2 || row >= groups_) return;
      prefetch_packs<Held<Access>::batch>(rows_.at(rows_.in[0], row, 0), task.lane, task.lane * widest, step,
                                          task.range.columns);
    }
  }

  /// A thread's packs of the first input, as numbers.
  template <class Access>
  struct Numbers {
    A value[Held<Access>::batch * Access::width];
  };
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION static Numbers<Access> numbers_of(const Held<Access>& held) {
    Numbers<Access> numbers;
    PORTOPS_UNROLL
    for (int i = 0; i < held.batch * Access::width; ++i) {
      numbers.value[i] = static_cast<A>(held.pack[0][i / Access::width][i % Access::width]);
    }
    return numbers;
  }

  KOKKOS_FORCEINLINE_FUNCTION SoftmaxRow row_of(const Task& task) const {
    return rows_.row(task.kept, 0, task.range.first_column);
  }

  /// What a lane's columns come to, the last batch of which stays in `held`, or the parts that other teams have left.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void collect(const Task& task, int step, int last, Held<Access>& held,
                                           State& state) const {
    if (rows_.pass == SoftmaxPass::apply) {
      PORTOPS_NO_UNROLL
      for (std::int64_t part = task.lane; task.active && part < rows_.parts.parts; part += lanes()) {
        state = rows_.f(state, rows_.partial(task.kept, part));
      }
      return;
    }
    PORTOPS_NO_UNROLL
    for (int first = 0; first <= last; first += held.batch * step) {
      load(task, first, step, held);
      add(state, held, step, task.range.columns - first);
    }
  }

  /// Joins the values of a group's lanes, each of which gets the result. `scratch` has room for a value a warp.
  template <class Join>
  KOKKOS_FORCEINLINE_FUNCTION A join_group(const Team& team, A* scratch, A value, const Join& join) const {
    value = join_over_lanes(value, lanes() < warp ? lanes() : warp, join);
    if (lanes() <= warp) return value;
    if (team.team_rank() % warp == 0) scratch[team.team_rank() / warp] = value;
    team.team_barrier();
    const int warps = lanes() / warp;
    const A* const of_group = scratch + (team.team_rank() >> lane_bits_) * warps;
    value = join_over_lanes(of_group[team.team_rank() & (warps - 1)], warps, join);
    team.team_barrier();
    return value;
  }

  /// The column, of the part, that is the first one of a lane's pack `b` of the batch from column `first` on.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION int column_of(const Task& task, int first, int step, int b) const {
    return first + task.lane * Access::count(rows_.pack) + b * step;
  }

  /// Whether the pack that begins at a column can be taken at once; rows that are not shifted have all of it or
  /// nothing.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION bool is_whole(const Task& task, int column) const {
    if constexpr (!shifts) return column < task.range.columns;
    return shifts_align_ && column >= task.before && column + Access::width <= task.range.columns;
  }

  /// Loads a batch of packs from column `first` of the part on, as far as they exist.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void load(const Task& task, int first, int step, Held<Access>& held) const {
    const int pack = Access::count(rows_.pack);
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      const auto& in = rows_.in[k];
      const T* const from = pinned(rows_.at(in, task.kept, task.range.first_column) - task.before * in.column_stride);
      PORTOPS_UNROLL
      for (int b = 0; b < held.batch; ++b) {
        held.pack[k][b] = Word<T, Access::width>(static_cast<T>(F::fill(k)));
        const int column = column_of<Access>(task, first, step, b);
        if (is_whole<Access>(task, column)) {
          Access::load(held.pack[k][b], Access::at(from, column, in.column_stride), in.column_stride, pack);
        } else if (shifts && column < task.range.columns) {
          PORTOPS_UNROLL
          for (int i = 0; i < Access::width; ++i) {
            if (task.has(column + i)) held.pack[k][b].set(i, from[(column + i) * in.column_stride]);
          }
        }
      }
    }
  }

  /// Takes a batch in, of which the group has so many columns: some packs at a time, as far as there are any.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add(State& state, const Held<Access>& held, int step, int columns) const {
    constexpr int width = Access::width;
    constexpr int some = held.batch < softmax_along_step ? held.batch : softmax_along_step;
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; b += some) {
      if (b * step >= columns) continue;
      A values[F::inputs][some * width];
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) {
        PORTOPS_UNROLL
        for (int i = 0; i < some * width; ++i) values[k][i] = static_cast<A>(held.pack[k][b + i / width][i % width]);
      }
      rows_.f.add(state, values);
    }
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void write(const Task& task, int first, int step, const typename F::Row& row,
                                         const Held<Access>& held) const {
    write<Access>(task, first, step, [&](int b, int i) {
      A values[F::inputs];
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) values[k] = static_cast<A>(held.pack[k][b][i]);
      return rows_.f(row, values, column_of<Access>(task, first, step, b) + i - task.before);
    });
  }

  /// Writes result(b, i) as element i of the batch's pack b.
  template <class Access, class Result>
  KOKKOS_FORCEINLINE_FUNCTION void write(const Task& task, int first, int step, const Result& result) const {
    const int pack = Access::count(rows_.pack);
    T* const to =
        pinned(rows_.at(rows_.out, task.kept, task.range.first_column) - task.before * rows_.out.column_stride);
    PORTOPS_UNROLL
    for (int b = 0; b < Held<Access>::batch; ++b) {
      const int column = column_of<Access>(task, first, step, b);
      if (column >= task.range.columns) continue;
      Word<T, Access::width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) results.set(i, static_cast<T>(result(b, i)));
      if (is_whole<Access>(task, column)) {
        Access::store(Access::at(to, column, rows_.out.column_stride), results, rows_.out.column_stride, pack);
      } else if constexpr (shifts) {
        PORTOPS_UNROLL
        for (int i = 0; i < Access::width; ++i) {
          if (task.has(column + i)) to[(column + i) * rows_.out.column_stride] = results[i];
        }
      }
    }
  }

  SoftmaxRows<T, F> rows_;
  std::int64_t groups_;
  bool shifts_align_;  ///< packs of shifted rows are aligned
  int lane_bits_;
  int team_bits_;
  std::int64_t rows_ahead_;
};

}  // namespace portops::impl
