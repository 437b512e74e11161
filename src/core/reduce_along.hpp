// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes.hpp"
#include "core/rows.hpp"
#include "core/spaces.hpp"

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
  static constexpr int pack = reduce_along_pack_bytes / static_cast<int>(sizeof(T));
  /// Packs whose loads are issued before the first is used.
  static constexpr int batch = reduce_along_batch;
  /// Teams that should fit a multiprocessor at once.
  static constexpr int blocks = 4;
  static constexpr int threads = reduce_along_threads;

  ReduceAlong(const F& f, const ReducePlan& plan, int x, int out, Partial<A>* partials)
      : f_(f),
        axes_(plan),
        parts_(plan),
        x_(plan.operand[x]),
        out_(plan.operand[out]),
        partials_(partials),
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
    const PartRange range{0, 1, 0, active ? static_cast<int>(parts_.columns) : 0};
    const T* const x = x_.data + (active ? axes_.kept_offset(x_, group) : 0);
    const auto join_group = [this](A value, const auto& join) { return join_over_lanes(value, lanes(), join); };
    const int lane = static_cast<int>(thread) & (lanes() - 1);
    const Partial<A> value = reduce(x, range, lane, active, join_group);
    if (active && lane == 0) out_.data[axes_.kept_offset(out_, group)] = static_cast<T>(f_.finish(value));
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const
    requires(!single_rows)
  {
    auto* const scratch = static_cast<A*>(team.team_scratch(0).get_shmem_aligned(threads / 32 * sizeof(A), 16));
    const int lane = team.team_rank() & (lanes() - 1);
    const std::int64_t group =
        (first_team + team.league_rank()) * (threads >> lane_bits_) + (team.team_rank() >> lane_bits_);
    const bool active = group < groups_;
    const std::int64_t result = active ? quotient(group, parts_.parts) : 0;
    const T* x = x_.data;
    PartRange range{0, 0, 0, 0};
    if (active) {
      range = parts_.range(group - result * parts_.parts);
      x += axes_.kept_offset(x_, result) + range.first_column * x_.column_stride;
    }
    const auto join_group = [&](A value, const auto& join) {
      return join_over_group<threads>(team, scratch, value, lanes(), join);
    };
    const Partial<A> value = reduce(x, range, lane, active, join_group);
    if (lane != 0 || !active) return;
    if (parts_.parts == 1) {
      out_.data[axes_.kept_offset(out_, result)] = static_cast<T>(f_.finish(value));
    } else {
      partials_[group] = value;
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }

  KOKKOS_FORCEINLINE_FUNCTION const T* row_of(const T* x, const PartRange& range, std::int64_t run) const {
    return single_rows ? x : x + axes_.run_offset(x_, range.first_run + run);
  }

  /// The group's part; join_group joins the values of its lanes, and gives the result to each of them.
  template <class JoinGroup>
  KOKKOS_FORCEINLINE_FUNCTION Partial<A> reduce(const T* x, const PartRange& range, int lane, bool active,
                                                const JoinGroup& join_group) const {
    A sum = f_.identity();
    with_access<T, pack>(x_.access_bytes, [&]<int bytes>() { sum = add_up<bytes>(x, range, lane); });
    const A total = join_group(sum, f_.join());
    if constexpr (F::rescales) {
      const bool safe = f_.is_safe(total);
      if (any_lane(active && !safe)) {
        const Partial<A> rescaled = rescale(x, range, lane, join_group);
        if (!safe) return rescaled;
      }
    }
    return {A(1), total};
  }

  /// What the lane's packs add up to; `bytes` is that of with_access.
  template <int bytes>
  KOKKOS_FORCEINLINE_FUNCTION A add_up(const T* x, const PartRange& range, int lane) const {
    A sums[pack];
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) sums[i] = f_.identity();
    const int packs = range.columns / pack;
    const int tail = range.columns % pack;
    const std::int64_t stride = bytes != 0 ? 1 : x_.column_stride;
    PORTOPS_NO_UNROLL
    for (std::int64_t run = 0; run < (single_rows ? 1 : range.runs); ++run) {
      const T* const row = row_of(x, range, run);
      if (packs <= lanes()) {
        add_packs<bytes, 1>(row, lane, packs, stride, sums);
      } else {
        PORTOPS_NO_UNROLL
        for (int p = lane; p < packs; p += batch * lanes()) add_packs<bytes, batch>(row, p, packs, stride, sums);
      }
      if (tail != 0 && (packs & (lanes() - 1)) == lane) {
        T loaded[pack];
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) {
          loaded[i] = i < tail ? row[(packs * pack + i) * stride] : static_cast<T>(f_.fill());
        }
        PORTOPS_UNROLL
        for (int i = 0; i < pack - 1; ++i) sums[i] = f_.add(sums[i], static_cast<A>(loaded[i]));
      }
    }
    return join_array(sums, f_.join());
  }

  /// Adds `count` packs, from pack `first` on, as far as they exist.
  template <int bytes, int count>
  KOKKOS_FORCEINLINE_FUNCTION void add_packs(const T* row, int first, int packs, std::int64_t stride,
                                             A (&sums)[pack]) const {
    T loaded[count][pack];
    PORTOPS_UNROLL
    for (int b = 0; b < count; ++b) {
      const int at = first + b * lanes();
      if (at < packs) {
        load_columns<bytes>(loaded[b], row + at * pack * stride, stride);
      } else {
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) loaded[b][i] = static_cast<T>(f_.fill());
      }
    }
    PORTOPS_UNROLL
    for (int b = 0; b < count; ++b) {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) sums[i] = f_.add(sums[i], static_cast<A>(loaded[b][i]));
    }
  }

  /// Takes the result anew, relative to the element that dominates it.
  template <class JoinGroup>
  KOKKOS_FUNCTION Partial<A> rescale(const T* x, const PartRange& range, int lane, const JoinGroup& join_group) const {
    A scale = f_.least_dominant();
    for_each(x, range, lane, [&](A element) { scale = f_.dominant()(scale, Kokkos::abs(element)); });
    scale = join_group(scale, f_.dominant());
    A total(0);
    for_each(x, range, lane, [&](A element) { total += f_.raise(Kokkos::abs(element) / scale); });
    return f_.rescaled(scale, join_group(total, f_.join()));
  }

  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(const T* x, const PartRange& range, int lane, const Visit& visit) const {
    PORTOPS_NO_UNROLL
    for (std::int64_t run = 0; run < (single_rows ? 1 : range.runs); ++run) {
      const T* const row = row_of(x, range, run);
      PORTOPS_NO_UNROLL
      for (int first = lane * pack; first < range.columns; first += lanes() * pack) {
        PORTOPS_NO_UNROLL
        for (int i = first; i < first + pack && i < range.columns; ++i)
          visit(static_cast<A>(row[i * x_.column_stride]));
      }
    }
  }

  F f_;
  RowAxes axes_;
  RowParts parts_;
  RowOperand<T> x_;
  RowOperand<T> out_;
  Partial<A>* partials_;
  std::int64_t groups_;
  int lane_bits_;
};

}  // namespace portops::impl
