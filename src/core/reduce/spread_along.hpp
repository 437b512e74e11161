// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/spread_rows.hpp"

#include <bit>

namespace portops::impl {

/// Spreads a value a row along rows, on a GPU, by the groups of lanes of ReduceAlong. A function that needs to know how
/// many ties a row has first counts them, and keeps what it has read if that fits its registers.
template <Backend B, class T, class F, bool single_rows>
class SpreadAlong {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 4;
  static constexpr int threads = reduce_along_threads;

  SpreadAlong(const F& f, const ReducePlan& plan, const TieCounts& counts)
      : f_(f),
        rows_(plan, counts),
        groups_(plan.kept * plan.parts()),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))) {}

  /// Teams, or threads where there are none: whole warps.
  std::int64_t teams() const { return ceil_div(groups_, threads >> lane_bits_); }
  std::int64_t items() const { return teams() * threads; }
  std::size_t scratch_bytes() const { return F::counts ? threads / 32 * sizeof(std::int64_t) : 0; }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(std::int64_t thread) const
    requires single_rows
  {
    const std::int64_t group = thread >> lane_bits_;
    const bool active = group < groups_;
    if (!F::counts && !active) return;  // else others of the warp wait for this one
    const Task task{active, active ? group : 0, 0, {0, 1, 0, active ? static_cast<int>(rows_.parts.columns) : 0}};
    const auto join_group = [this](int count) { return join_over_lanes(count, lanes(), Plus()); };
    spread(task, static_cast<int>(thread) & (lanes() - 1), join_group);
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const
    requires(!single_rows)
  {
    const std::int64_t group =
        (first_team + team.league_rank()) * (threads >> lane_bits_) + (team.team_rank() >> lane_bits_);
    Task task{group < groups_, 0, 0, {0, 0, 0, 0}};
    if (!F::counts && !task.active) return;
    if (task.active) {
      task.kept = rows_.parts.by_parts.quotient(group);
      task.part = group - task.kept * rows_.parts.parts;
      task.range = rows_.parts.range(task.part);
    }
    const auto join_group = [&](std::int64_t count) {
      return join_over_group<threads>(team, scratch_of<std::int64_t>(team), count, lanes(), Plus());
    };
    spread(task, team.team_rank() & (lanes() - 1), join_group);
  }

 private:
  using Place = typename SpreadRows<T>::Place;
  static constexpr int widest_pack = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  /// A group's part of a result; nothing of the first one where there are no more.
  struct Task {
    bool active;
    std::int64_t kept;
    std::int64_t part;
    PartRange range;
  };

  /// A thread's packs of a part of a row, in registers.
  template <class Access>
  struct Held {
    static constexpr int batch = Access::batch(spread_along_batch(Access::width * static_cast<int>(sizeof(T))));
    Word<T, Access::width> pack[batch];
  };

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }

  /// The group's part; join_group adds up the counts of its lanes.
  template <class JoinGroup>
  KOKKOS_FORCEINLINE_FUNCTION void spread(const Task& task, int lane, const JoinGroup& join_group) const {
    const Place place = rows_.place(task.kept);
    const T* const x = place.x + task.range.first_column * rows_.x.column_stride;
    T* const y = place.y + task.range.first_column * rows_.y.column_stride;
    with_access<widest_pack>(rows_.pack, rows_.x.packs && rows_.y.packs, [&]<class Access>(Access) {
      const int step = lanes() * Access::count(rows_.pack);
      const int first = lane * Access::count(rows_.pack);
      if constexpr (F::counts) {
        // The most common case by itself: what the thread counts in, it keeps to write.
        if (single_rows && rows_.parts.columns <= Held<Access>::batch * step) {
          Held<Access> held;
          load(pinned(x), first, step, task.range.columns, held);
          const Row row = rows_.row(f_, place);
          const int count = join_group(count_ties(first, step, task.range.columns, row, held));
          store(pinned(y), first, step, task.range.columns, f_.shared(row, static_cast<A>(count)), held);
          return;
        }
      }
      Row row = rows_.row(f_, place);
      if constexpr (F::counts) {
        std::int64_t count = 0;
        if (!single_rows && rows_.counts.mode == Ties::given) {
          for (std::int64_t p = lane; task.active && p < rows_.parts.parts; p += lanes()) {
            count += rows_.counts.of(p, task.kept);
          }
        } else {
          for_each_batch<Access>(task, x, y, lane, [&](int at, Held<Access>& held, T*) {
            count += count_ties(at, step, task.range.columns, row, held);
          });
        }
        count = join_group(count);
        if (!single_rows && rows_.counts.mode == Ties::counted) {
          if (task.active && lane == 0) rows_.counts.of(task.part, task.kept) = static_cast<int>(count);
          return;
        }
        row = f_.shared(row, static_cast<A>(count));
      }
      for_each_batch<Access>(task, x, y, lane, [&](int at, Held<Access>& held, T* row_of_y) {
        store(row_of_y, at, step, task.range.columns, row, held);
      });
    });
  }

  /// Loads the lane's packs batch by batch, and calls visit(column of the first, batch, row of y).
  template <class Access, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_batch(const Task& task, const T* x, T* y, int lane,
                                                  const Visit& visit) const {
    const int step = lanes() * Access::count(rows_.pack);
    PORTOPS_NO_UNROLL
    for (std::int64_t run = 0; run < (single_rows ? 1 : task.range.runs); ++run) {
      const std::int64_t at = task.range.first_run + run;
      const T* const row_of_x = pinned(single_rows ? x : x + rows_.axes.run_offset(rows_.x, at));
      T* const row_of_y = pinned(single_rows ? y : y + rows_.axes.run_offset(rows_.y, at));
      PORTOPS_NO_UNROLL
      for (int first = lane * Access::count(rows_.pack); first < task.range.columns;
           first += Held<Access>::batch * step) {
        Held<Access> held;
        load(row_of_x, first, step, task.range.columns, held);
        visit(first, held, row_of_y);
      }
    }
  }

  /// Loads a batch of packs, as far as they exist.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void load(const T* row, int first, int step, int columns, Held<Access>& held) const {
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; ++b) {
      const int column = first + b * step;
      if (column < columns) {
        Access::load(held.pack[b], Access::at(row, column, rows_.x.column_stride), rows_.x.column_stride,
                     Access::count(rows_.pack));
      }
    }
  }

  /// The ties in a batch.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION int count_ties(int first, int step, int columns, const Row& row,
                                             const Held<Access>& held) const {
    int count = 0;
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; ++b) {
      if (first + b * step >= columns) continue;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        count += i < Access::count(rows_.pack) && f_.is_tie(static_cast<A>(held.pack[b][i]), row) ? 1 : 0;
      }
    }
    return count;
  }

  /// Maps a batch.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void store(T* row_of_y, int first, int step, int columns, const Row& row,
                                         const Held<Access>& held) const {
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; ++b) {
      const int column = first + b * step;
      if (column >= columns) continue;
      Word<T, Access::width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        results.set(i, static_cast<T>(f_(static_cast<A>(held.pack[b][i]), row)));
      }
      Access::store(Access::at(row_of_y, column, rows_.y.column_stride), results, rows_.y.column_stride,
                    Access::count(rows_.pack));
    }
  }

  F f_;
  SpreadRows<T> rows_;
  std::int64_t groups_;
  int lane_bits_;
};

}  // namespace portops::impl
