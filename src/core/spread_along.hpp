// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes.hpp"
#include "core/rows.hpp"
#include "core/spaces.hpp"

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
  static constexpr int pack = reduce_along_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = spread_along_batch;
  static constexpr int blocks = sizeof(T) == 2 ? 2 : 3;
  static constexpr int threads = reduce_along_threads;

  SpreadAlong(const F& f, const ReducePlan& plan, const SpreadOperands& operands, const TieCounts& counts)
      : f_(f),
        axes_(plan),
        parts_(plan),
        out_(plan.operand[operands.out]),
        out_grad_(plan.operand[operands.out_grad]),
        x_(plan.operand[operands.x]),
        y_(plan.operand[operands.y]),
        counts_(counts),
        groups_(plan.kept * plan.parts()),
        access_bytes_(x_.access_bytes < y_.access_bytes ? x_.access_bytes : y_.access_bytes),
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
    Place place{x_.data, y_.data, {0, 1, 0, 0}};
    if (active) {
      place.range.columns = static_cast<int>(parts_.columns);
      place.x += axes_.kept_offset(x_, group);
      place.y += axes_.kept_offset(y_, group);
    }
    const auto join_group = [this](int count) { return join_over_lanes(count, lanes(), Plus()); };
    spread(place, static_cast<int>(thread) & (lanes() - 1), active, group, 0, join_group);
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const
    requires(!single_rows)
  {
    const std::int64_t group =
        (first_team + team.league_rank()) * (threads >> lane_bits_) + (team.team_rank() >> lane_bits_);
    const bool active = group < groups_;
    if (!F::counts && !active) return;
    const std::int64_t result = active ? quotient(group, parts_.parts) : 0;
    const std::int64_t part = active ? group - result * parts_.parts : 0;
    Place place{x_.data, y_.data, {0, 0, 0, 0}};
    if (active) {
      place.range = parts_.range(part);
      place.x += axes_.kept_offset(x_, result) + place.range.first_column * x_.column_stride;
      place.y += axes_.kept_offset(y_, result) + place.range.first_column * y_.column_stride;
    }
    const auto join_group = [&](std::int64_t count) {
      auto* const scratch =
          static_cast<std::int64_t*>(team.team_scratch(0).get_shmem_aligned(threads / 32 * sizeof(std::int64_t), 16));
      return join_over_group<threads>(team, scratch, count, lanes(), Plus());
    };
    spread(place, team.team_rank() & (lanes() - 1), active, result, part, join_group);
  }

 private:
  /// Where a group works.
  struct Place {
    const T* x;
    T* y;
    PartRange range;
  };

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }

  /// What a thread may keep of a row from counting to writing.
  struct Held {
    T element[batch][pack];
    bool complete = false;  ///< it is all that the thread has of the row
  };

  /// The group's part; join_group adds up the counts of its lanes.
  template <class JoinGroup>
  KOKKOS_FORCEINLINE_FUNCTION void spread(const Place& place, int lane, bool active, std::int64_t result,
                                          std::int64_t part, const JoinGroup& join_group) const {
    Row row{};
    if (active) {
      row = f_.row(static_cast<A>(out_.data[axes_.kept_offset(out_, result)]),
                   static_cast<A>(out_grad_.data[axes_.kept_offset(out_grad_, result)]));
    }
    with_access<T, pack>(access_bytes_, [&]<int bytes>() {
      Held held;
      if constexpr (F::counts) {
        std::conditional_t<single_rows, int, std::int64_t> count = 0;
        if (!single_rows && counts_.mode == Ties::given) {
          for (std::int64_t p = lane; active && p < parts_.parts; p += lanes()) count += counts_.of(p, result);
        } else {
          count = count_ties<bytes>(place, row, lane, held);
        }
        count = join_group(count);
        if (!single_rows && counts_.mode == Ties::counted) {
          if (active && lane == 0) counts_.of(part, result) = static_cast<int>(count);
          return;
        }
        row = f_.shared(row, static_cast<A>(count));
      }
      write<bytes>(place, row, lane, held);
    });
  }

  template <int bytes>
  KOKKOS_FORCEINLINE_FUNCTION void load(const T* row, int first, int packs, T (&loaded)[batch][pack]) const {
    const std::int64_t stride = bytes != 0 ? 1 : x_.column_stride;
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      const int at = first + b * lanes();
      if (at < packs) load_columns<bytes>(loaded[b], row + at * pack * stride, stride);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t run_offset(const RowOperand<T>& operand, const Place& place,
                                                      std::int64_t run) const {
    return single_rows ? 0 : axes_.run_offset(operand, place.range.first_run + run);
  }

  /// The lane's elements that are ties.
  template <int bytes>
  KOKKOS_FORCEINLINE_FUNCTION int count_ties(const Place& place, const Row& row, int lane, Held& held) const {
    int count = 0;
    const int packs = place.range.columns / pack;
    PORTOPS_NO_UNROLL
    for (std::int64_t run = 0; run < (single_rows ? 1 : place.range.runs); ++run) {
      const T* const x = place.x + run_offset(x_, place, run);
      PORTOPS_NO_UNROLL
      for (int p = lane; p < packs; p += batch * lanes()) {
        load<bytes>(x, p, packs, held.element);
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          if (p + b * lanes() >= packs) continue;
          PORTOPS_UNROLL
          for (int i = 0; i < pack; ++i) count += f_.is_tie(static_cast<A>(held.element[b][i]), row) ? 1 : 0;
        }
      }
      PORTOPS_NO_UNROLL
      for (int c = packs * pack + lane; c < place.range.columns; c += lanes()) {
        count += f_.is_tie(static_cast<A>(x[c * x_.column_stride]), row) ? 1 : 0;
      }
    }
    held.complete = place.range.runs == 1 && packs <= batch * lanes();
    return count;
  }

  template <int bytes>
  KOKKOS_FORCEINLINE_FUNCTION void write(const Place& place, const Row& row, int lane, Held& held) const {
    const int packs = place.range.columns / pack;
    const std::int64_t stride = bytes != 0 ? 1 : y_.column_stride;
    PORTOPS_NO_UNROLL
    for (std::int64_t run = 0; run < (single_rows ? 1 : place.range.runs); ++run) {
      const T* const x = place.x + run_offset(x_, place, run);
      T* const y = place.y + run_offset(y_, place, run);
      PORTOPS_NO_UNROLL
      for (int p = lane; p < packs; p += batch * lanes()) {
        if (!held.complete) load<bytes>(x, p, packs, held.element);
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          const int at = p + b * lanes();
          if (at >= packs) continue;
          T results[pack];
          PORTOPS_UNROLL
          for (int i = 0; i < pack; ++i) results[i] = static_cast<T>(f_(static_cast<A>(held.element[b][i]), row));
          store_columns<bytes>(y + at * pack * stride, results, stride);
        }
      }
      PORTOPS_NO_UNROLL
      for (int c = packs * pack + lane; c < place.range.columns; c += lanes()) {
        y[c * y_.column_stride] = static_cast<T>(f_(static_cast<A>(x[c * x_.column_stride]), row));
      }
    }
  }

  F f_;
  RowAxes axes_;
  RowParts parts_;
  RowOperand<T> out_;
  RowOperand<T> out_grad_;
  RowOperand<T> x_;
  RowOperand<T> y_;
  TieCounts counts_;
  std::int64_t groups_;
  int access_bytes_;
  int lane_bits_;
};

}  // namespace portops::impl
