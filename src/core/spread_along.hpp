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
template <Backend B, class T, class F>
class SpreadAlong {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int pack = reduce_along_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = 2;
  static constexpr int blocks = 6;
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

  KOKKOS_FUNCTION std::int64_t teams() const { return (groups_ + slots() - 1) / slots(); }
  KOKKOS_FUNCTION std::size_t scratch_bytes() const { return F::counts ? threads / 32 * sizeof(double) : 0; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    [[maybe_unused]] auto* const scratch =
        static_cast<double*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), 16));
    const int slot = team.team_rank() >> lane_bits_;
    const int lane = team.team_rank() & (lanes() - 1);
    for (std::int64_t index = team.league_rank(); index < teams(); index += team.league_size()) {
      const std::int64_t group = index * slots() + slot;
      const bool active = group < groups_;
      if (!F::counts && !active) break;  // no other thread waits for this one
      const std::int64_t result = !active || parts_.parts == 1 ? group : quotient(group, parts_.parts);
      const std::int64_t part = group - result * parts_.parts;
      Place place{x_.data, y_.data, {0, 0, 0, 0}};
      Row row{};
      if (active) {
        place.range = parts_.range(part);
        place.x += axes_.kept_offset(x_, result) + place.range.first_column * x_.column_stride;
        place.y += axes_.kept_offset(y_, result) + place.range.first_column * y_.column_stride;
        row = f_.row(static_cast<A>(out_.data[axes_.kept_offset(out_, result)]),
                     static_cast<A>(out_grad_.data[axes_.kept_offset(out_grad_, result)]));
      }
      T held[batch][pack];
      bool holds = false;
      if constexpr (F::counts) {
        double count = 0.0;
        if (counts_.mode == Ties::given) {
          for (std::int64_t p = lane; active && p < parts_.parts; p += lanes()) count += counts_.of(p, result);
        } else {
          count = count_ties(place, row, lane, held);
          holds = place.range.runs == 1 && place.range.columns <= batch * pack * lanes();
        }
        count = join_over_group<threads>(team, scratch, count, lanes(), Plus());
        if (counts_.mode == Ties::counted) {
          if (active && lane == 0) counts_.of(part, result) = static_cast<float>(count);
          continue;
        }
        row = f_.shared(row, static_cast<A>(count));
      }
      write(place, row, lane, held, holds);
    }
  }

 private:
  /// Where a group works.
  struct Place {
    const T* x;
    T* y;
    PartRange range;
  };

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }
  KOKKOS_FORCEINLINE_FUNCTION int slots() const { return threads >> lane_bits_; }

  KOKKOS_FORCEINLINE_FUNCTION void load(const T* row, int first, int packs, T (&loaded)[batch][pack]) const {
    with_access<T, pack>(access_bytes_, [&]<int bytes>() {
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int at = first + b * lanes();
        if (at < packs) load_columns<bytes>(loaded[b], row + at * pack * x_.column_stride, x_.column_stride);
      }
    });
  }

  /// The lane's elements that are ties.
  KOKKOS_FORCEINLINE_FUNCTION double count_ties(const Place& place, const Row& row, int lane,
                                                T (&loaded)[batch][pack]) const {
    int count = 0;
    const int packs = place.range.columns / pack;
    for (std::int64_t run = 0; run < place.range.runs; ++run) {
      const T* const x = place.x + axes_.run_offset(x_, place.range.first_run + run);
      for (int p = lane; p < packs; p += batch * lanes()) {
        load(x, p, packs, loaded);
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          if (p + b * lanes() >= packs) continue;
          PORTOPS_UNROLL
          for (int i = 0; i < pack; ++i) count += f_.is_tie(static_cast<A>(loaded[b][i]), row) ? 1 : 0;
        }
      }
      for (int c = packs * pack + lane; c < place.range.columns; c += lanes()) {
        count += f_.is_tie(static_cast<A>(x[c * x_.column_stride]), row) ? 1 : 0;
      }
    }
    return count;
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(const Place& place, const Row& row, int lane, T (&loaded)[batch][pack],
                                         bool holds) const {
    const int packs = place.range.columns / pack;
    for (std::int64_t run = 0; run < place.range.runs; ++run) {
      const T* const x = place.x + axes_.run_offset(x_, place.range.first_run + run);
      T* const y = place.y + axes_.run_offset(y_, place.range.first_run + run);
      for (int p = lane; p < packs; p += batch * lanes()) {
        if (!holds) load(x, p, packs, loaded);
        T results[batch][pack];
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          if (p + b * lanes() >= packs) continue;
          PORTOPS_UNROLL
          for (int i = 0; i < pack; ++i) results[b][i] = static_cast<T>(f_(static_cast<A>(loaded[b][i]), row));
        }
        with_access<T, pack>(access_bytes_, [&]<int bytes>() {
          PORTOPS_UNROLL
          for (int b = 0; b < batch; ++b) {
            const int at = p + b * lanes();
            if (at < packs) store_columns<bytes>(y + at * pack * y_.column_stride, results[b], y_.column_stride);
          }
        });
      }
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
