// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/rescale.hpp"

#include <bit>

namespace portops::impl {

/// Reduces rows on a GPU: a group of lanes takes a part of a result, each lane every lanes-th pack of its rows.
/// `single_rows` is for plans whose results are whole rows, with groups of a warp or less: such a kernel needs no
/// teams, and a fraction of the instructions around its loop.
template <Backend B, class T, class F, bool single_rows>
class ReduceAlong {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  /// Teams that should fit a multiprocessor at once.
  static constexpr int blocks = 4;
  static constexpr int threads = reduce_along_threads;

  ReduceAlong(const F& f, const ReducePlan& plan, Partial<A>* partials)
      : f_(f),
        rows_(plan, partials),
        dense_end_(end_of_dense_rows(plan)),
        groups_(plan.kept * plan.parts()),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))) {}

  /// Teams, or threads where there are none: whole warps.
  std::int64_t teams() const { return ceil_div(groups_, threads >> lane_bits_); }
  std::int64_t items() const { return teams() * threads; }
  std::size_t scratch_bytes() const { return threads / 32 * sizeof(A); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(std::int64_t thread) const
    requires single_rows
  {
    const std::int64_t group = thread >> lane_bits_;
    const bool active = group < groups_;
    const PartRange range{0, 1, 0, active ? static_cast<int>(rows_.parts.columns) : 0};
    const T* const x = rows_.x.data + (active ? rows_.axes.kept_offset(rows_.x, group) : 0);
    const auto join_group = [this](A value, const auto& join) { return join_over_lanes(value, lanes(), join); };
    const int lane = static_cast<int>(thread) & (lanes() - 1);
    const int before = active ? rows_.columns_before(group) : 0;
    const Partial<A> value = reduce(x, range, before, lane, active, join_group);
    if (active && lane == 0) {
      rows_.out.data[rows_.axes.kept_offset(rows_.out, group)] = static_cast<T>(f_.finish(value));
    }
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const
    requires(!single_rows)
  {
    auto* const scratch = scratch_of<A>(team);
    const int lane = team.team_rank() & (lanes() - 1);
    const std::int64_t group =
        (first_team + team.league_rank()) * (threads >> lane_bits_) + (team.team_rank() >> lane_bits_);
    const bool active = group < groups_;
    const std::int64_t kept = active ? rows_.parts.by_parts.quotient(group) : 0;
    const std::int64_t part = group - kept * rows_.parts.parts;
    const T* x = rows_.x.data;
    PartRange range{0, 0, 0, 0};
    if (active) {
      range = rows_.parts.range(part);
      x += rows_.axes.kept_offset(rows_.x, kept) + range.first_column * rows_.x.column_stride;
    }
    const auto join_group = [&](A value, const auto& join) {
      return join_over_group<threads>(team, scratch, value, lanes(), join);
    };
    const Partial<A> value = reduce(x, range, rows_.columns_before(kept), lane, active, join_group);
    if (active && lane == 0) rows_.write(f_, kept, 0, part, value);
  }

 private:
  static constexpr int widest_pack = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  /// Where x's rows end, if they follow each other without gaps: packs before it can be read though they are of two
  /// rows. Else nothing is before it.
  static const T* end_of_dense_rows(const ReducePlan& plan) {
    const ReducePlan::Operand& x = plan.operand[reduction_x];
    std::int64_t dense = plan.columns;
    for (int axis = plan.kept_rank - 1; axis >= 0; --axis) {
      if (x.stride[axis] != dense) return nullptr;
      dense *= plan.extent[axis];
    }
    return reinterpret_cast<const T*>(x.data) + dense;
  }

  /// Whether rows of such packs may be shifted.
  template <class Access>
  static constexpr bool can_shift = Access::width == widest_pack && widest_pack > 1;

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }

  KOKKOS_FORCEINLINE_FUNCTION const T* row_of(const T* x, const PartRange& range, std::int64_t run) const {
    return single_rows ? x : x + rows_.axes.run_offset(rows_.x, range.first_run + run);
  }

  /// The group's part; join_group joins the values of its lanes, and gives the result to each of them. `before`:
  /// columns of the first pack that are not the row's.
  template <class JoinGroup>
  KOKKOS_FORCEINLINE_FUNCTION Partial<A> reduce(const T* x, const PartRange& range, int before, int lane, bool active,
                                                const JoinGroup& join_group) const {
    A sum = f_.identity();
    const auto add = [&]<class Access>(Access) { sum = add_up<Access>(x, range, before, lane); };
    if (rows_.pack == 1 && !rows_.x.packs) {
      add(ColumnAccess<1, false>());  // a thread has as many of them under way as of neighbours
    } else {
      with_access<widest_pack>(rows_.pack, rows_.x.packs, add);
    }
    const A total = join_group(sum, f_.join());
    if constexpr (F::rescales) {
      const bool safe = f_.is_safe(total);
      if (any_lane(active && !safe)) {
        const Partial<A> rescaled = rescale(x, range, before, lane, join_group);
        if (!safe) return rescaled;
      }
    }
    return {A(1), total};
  }

  /// What the lane's packs add up to.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION A add_up(const T* x, const PartRange& range, int before, int lane) const {
    constexpr int batch = Access::batch(reduce_along_batch(Access::width * static_cast<int>(sizeof(T))));
    constexpr int short_batch = batch < reduce_along_short_batch ? batch : reduce_along_short_batch;
    A sums[Access::width];
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) sums[i] = f_.identity();
    const int pack = Access::count(rows_.pack);
    const int step = lanes() * pack, end = before + range.columns;
    x -= before * rows_.x.column_stride;
    PORTOPS_NO_UNROLL
    for (std::int64_t run = 0; run < (single_rows ? 1 : range.runs); ++run) {
      const T* const row = pinned(row_of(x, range, run));
      if (short_batch < batch && end <= short_batch * step) {
        add_packs<Access, short_batch>(row, lane * pack, step, before, end, sums);
        continue;
      }
      PORTOPS_NO_UNROLL
      for (int first = lane * pack; first < end; first += batch * step) {
        add_packs<Access, batch>(row, first, step, before, end, sums);
      }
    }
    return join_array(sums, f_.join());
  }

  /// Adds `batch` packs, as far as they have columns of [begin, end). All are under way before the first is used.
  template <class Access, int batch>
  KOKKOS_FORCEINLINE_FUNCTION void add_packs(const T* row, int first, int step, int begin, int end,
                                             A (&sums)[Access::width]) const {
    Word<T, Access::width> loaded[batch];
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      loaded[b] = Word<T, Access::width>(static_cast<T>(f_.fill()));
      const int column = first + b * step;
      if (column >= end) continue;
      const T* const from = Access::at(row, column, rows_.x.column_stride);
      const bool is_whole = !can_shift<Access> || !rows_.shifted || (column >= begin && column + Access::width <= end);
      if (is_whole || from + Access::width <= dense_end_) {
        Access::load(loaded[b], from, rows_.x.column_stride, Access::count(rows_.pack));
        if (!is_whole) keep_columns(loaded[b], begin - column, end - column);
      } else {
        PORTOPS_UNROLL
        for (int i = 0; i < Access::width; ++i) {
          if (column + i >= begin && column + i < end) loaded[b].set(i, from[i * rows_.x.column_stride]);
        }
      }
    }
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) sums[i] = f_.add(sums[i], static_cast<A>(loaded[b][i]));
    }
  }

  /// Of a pack's elements those in [begin, end); the others add nothing.
  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void keep_columns(Word<T, N>& word, int begin, int end) const {
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) {
      if (i < begin || i >= end) word.set(i, static_cast<T>(f_.fill()));
    }
  }

  template <class JoinGroup>
  KOKKOS_FUNCTION Partial<A> rescale(const T* x, const PartRange& range, int before, int lane,
                                     const JoinGroup& join_group) const {
    return rescaled_sum<A>(f_, [&](A value, const auto& join, const auto& term) {
      for_each_pack(x, range, before, lane, value, join, term);
      return join_group(value, join);
    });
  }

  /// Joins term(element), pack by pack, to the value of the lane.
  template <class Join, class Term>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_pack(const T* x, const PartRange& range, int before, int lane, A& value,
                                                 const Join& join, const Term& term) const {
    PORTOPS_NO_UNROLL
    for (std::int64_t run = 0; run < (single_rows ? 1 : range.runs); ++run) {
      const T* const row = row_of(x, range, run);
      PORTOPS_NO_UNROLL
      for (int pack = lane * rows_.pack - before; pack < range.columns; pack += lanes() * rows_.pack) {
        const int first = pack < 0 ? 0 : pack,
                  end = pack + rows_.pack < range.columns ? pack + rows_.pack : range.columns;
        if (first >= end) continue;
        A of_pack = term(static_cast<A>(row[first * rows_.x.column_stride]));
        PORTOPS_NO_UNROLL
        for (int i = first + 1; i < end; ++i) {
          of_pack = join(of_pack, term(static_cast<A>(row[i * rows_.x.column_stride])));
        }
        value = join(value, of_pack);
      }
    }
  }

  F f_;
  ReduceRows<T> rows_;
  const T* dense_end_;
  std::int64_t groups_;
  int lane_bits_;
};

}  // namespace portops::impl
