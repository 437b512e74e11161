// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/rows.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace portops::impl {

/// Joins the parts of each result, in double: the second kernel of a reduction whose results are cut into parts. A
/// group of lanes takes a result, each lane every lanes-th part; a tree joins the lanes.
template <Backend B, class T, class F>
class JoinPartials {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int members = 256;  ///< lanes of all groups of a team, whatever the number of its threads
  static constexpr int threads = B == Backend::cuda ? members : 1;
  static constexpr int blocks = 4;

  JoinPartials(const F& f, const ReducePlan& plan, int out, const Partial<A>* partials)
      : f_(f),
        axes_(plan),
        out_(plan.operand[out]),
        partials_(partials),
        results_(plan.results()),
        columns_(plan.direction == Direction::down ? plan.columns : 1),
        parts_(plan.parts()) {
    const auto lanes = static_cast<std::uint64_t>(std::min<std::int64_t>(ceil_div(parts_, parts_of_lane), members));
    lane_bits_ = std::bit_width(std::bit_ceil(lanes)) - 1;
  }

  KOKKOS_FUNCTION std::int64_t teams() const { return (results_ + groups() - 1) / groups(); }
  KOKKOS_FUNCTION std::size_t scratch_bytes() const { return members * sizeof(double); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = scratch_of<double>(team);
    for (std::int64_t index = team.league_rank(); index < teams(); index += team.league_size()) {
      join(team, scratch, index * groups());
    }
  }

 private:
  static constexpr int parts_of_lane = 8;
  static constexpr int batch = B == Backend::cuda ? parts_of_lane : 1;
  static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }
  KOKKOS_FORCEINLINE_FUNCTION int groups() const { return members >> lane_bits_; }

  KOKKOS_FUNCTION void join(const Team& team, double* scratch, std::int64_t first) const {
    // Most parts have the scale 1: they are only added up. NaN tells that it was otherwise.
    double scales[members / threads];
    double totals[members / threads];
    for (int m = 0; m < members / threads; ++m) scales[m] = 1.0;
    join_values(
        team, scratch, first, f_.identity(), f_.join(),
        [&](const Partial<A>& partial, int) {
          return partial.scale == A(1) ? static_cast<double>(partial.total) : not_a_number;
        },
        totals);
    if constexpr (F::rescales) {
      if (any_is_nan(team, scratch, totals)) join_rescaled(team, scratch, first, scales, totals);
    }
    for (int m = 0; m < members / threads; ++m) {
      const int member = team.team_rank() + m * threads;
      const std::int64_t result = first + (member >> lane_bits_);
      if ((member & (lanes() - 1)) != 0 || result >= results_) continue;
      const std::int64_t kept = columns_ == 1 ? result : quotient(result, columns_);
      const std::int64_t column = result - kept * columns_;
      out_.data[axes_.kept_offset(out_, kept) + column * out_.column_stride] =
          static_cast<T>(static_cast<A>(f_.finish(whole(scales[m], totals[m]))));
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Partial<double> whole(double scale, double total) const {
    if constexpr (F::rescales) {
      return f_.rescaled(scale, total);
    } else {
      return {scale, total};
    }
  }

  KOKKOS_FUNCTION void join_rescaled(const Team& team, double* scratch, std::int64_t first,
                                     double (&scales)[members / threads], double (&totals)[members / threads]) const {
    join_values(
        team, scratch, first, f_.least_dominant(), f_.dominant(),
        [&](const Partial<A>& partial, int) { return static_cast<double>(partial.scale); }, scales);
    join_values(
        team, scratch, first, f_.identity(), f_.join(),
        [&](const Partial<A>& partial, int m) {
          const auto scale = static_cast<double>(partial.scale);
          const auto total = static_cast<double>(partial.total);
          return scale == scales[m] ? total : total * f_.raise(scale / scales[m]);
        },
        totals);
  }

  /// Whether a result of the team is NaN.
  KOKKOS_FUNCTION bool any_is_nan(const Team& team, double* scratch, const double (&totals)[members / threads]) const {
    if (team.team_rank() == 0) scratch[0] = 0.0;
    team.team_barrier();
    bool any = false;
    for (int m = 0; m < members / threads; ++m) any = any || totals[m] != totals[m];
    if (any_lane(any) && team.team_rank() % 32 == 0) Kokkos::atomic_store(scratch, 1.0);
    team.team_barrier();
    any = scratch[0] != 0.0;
    team.team_barrier();
    return any;
  }

  /// Joins value(part) over the parts of each member's result; each member gets it.
  template <class Join, class Value>
  KOKKOS_FORCEINLINE_FUNCTION void join_values(const Team& team, double* scratch, std::int64_t first, double identity,
                                               const Join& join, const Value& value,
                                               double (&results)[members / threads]) const {
    for (int m = 0; m < members / threads; ++m) {
      const int member = team.team_rank() + m * threads;
      const std::int64_t result = first + (member >> lane_bits_);
      double own = identity;
      if (result < results_) {
        const Partial<A>* const partials = partials_ + result * parts_;
        for (std::int64_t part = member & (lanes() - 1); part < parts_; part += batch * lanes()) {
          // Loaded together: one after the other they would take longer than all the rest.
          Partial<A> loaded[batch];
          PORTOPS_UNROLL
          for (int b = 0; b < batch; ++b) {
            if (part + b * lanes() < parts_) loaded[b] = partials[part + b * lanes()];
          }
          PORTOPS_UNROLL
          for (int b = 0; b < batch; ++b) {
            if (part + b * lanes() < parts_) own = join(own, value(loaded[b], m));
          }
        }
      }
      scratch[member] = own;
    }
    for (int half = lanes() / 2; half > 0; half /= 2) {
      team.team_barrier();
      for (int member = team.team_rank(); member < members; member += threads) {
        if ((member & (lanes() - 1)) < half) scratch[member] = join(scratch[member], scratch[member + half]);
      }
    }
    team.team_barrier();
    for (int m = 0; m < members / threads; ++m) {
      results[m] = scratch[(team.team_rank() + m * threads) & ~(lanes() - 1)];
    }
    team.team_barrier();
  }

  F f_;
  RowAxes axes_;
  RowOperand<T> out_;
  const Partial<A>* partials_;
  std::int64_t results_;
  std::int64_t columns_;  ///< of the results of one position along the kept axes
  std::int64_t parts_;
  int lane_bits_;
};

}  // namespace portops::impl
