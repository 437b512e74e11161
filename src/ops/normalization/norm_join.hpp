// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/rows.hpp"
#include "ops/normalization/norm_functions.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace portops::impl {

template <class A>
KOKKOS_FORCEINLINE_FUNCTION Moments<double> widened(const Moments<A>& from) {
  return {from.count, from.mean, from.rest, from.squares};
}
template <class A>
KOKKOS_FORCEINLINE_FUNCTION GradientSums<double> widened(const GradientSums<A>& from) {
  return {from.sum, from.product};
}

/// How the states of a result are added up: by the functor that joins them,
template <class Join>
struct JoinedStatesOf {
  using State = typename Join::State;
  using Sums = State;
  using JoinSums = Join;
  static constexpr bool has_pivot = false;

  KOKKOS_FORCEINLINE_FUNCTION static Sums sums_of(const State& state, const State&) { return state; }
  KOKKOS_FORCEINLINE_FUNCTION static State state_of(const Sums& sums) { return sums; }
};
/// or, moments of f32, in double by additions alone: as distances from the mean of one of them, the pivot. What that
/// costs of digits where the pivot lies apart is nothing beside those of f32.
struct ShiftedMoments {
  using State = Moments<double>;
  using Sums = Distances<double>;
  struct JoinSums {
    KOKKOS_FORCEINLINE_FUNCTION Sums operator()(const Sums& a, const Sums& b) const {
      return {a.count + b.count, a.near, a.sum + b.sum, a.squares + b.squares};
    }
  };
  static constexpr bool has_pivot = true;

  KOKKOS_FORCEINLINE_FUNCTION static Sums sums_of(const State& state, const State& pivot) {
    const double distance = (state.mean - pivot.mean) + state.rest, sum = state.count * distance;
    return {state.count, pivot.mean, sum, Kokkos::fma(sum, distance, state.squares)};
  }
  KOKKOS_FORCEINLINE_FUNCTION static State state_of(const Sums& sums) {
    if (sums.count == 0.0) return JoinMoments<double>::identity();
    return JoinMoments<double>::about(sums.near, sums.count, sums.sum, sums.squares);
  }
};

/// Joins the parts of each result, in double, and calls finish(finish.at(result), state): a Finish::Target is what the
/// result needs besides its state, read while the parts are on their way. States lie part by part, those of the `plane`
/// columns that a result may have side by side. On a GPU a team takes some results side by side, and its slots share
/// the parts and columns.
template <Backend B, class State, class Join, class Finish>
class NormJoin {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  using Wide = typename Join::State;
  using Way = std::conditional_t<B == Backend::cuda && std::is_same_v<State, Moments<float>>, ShiftedMoments,
                                 JoinedStatesOf<Join>>;
  using Sums = typename Way::Sums;
  static constexpr int threads = B == Backend::cuda ? 512 : 1;
  static constexpr int blocks = 1;

  NormJoin(const State* partials, std::int64_t results, std::int64_t parts, std::int64_t plane, const Finish& finish)
      : partials_(partials),
        results_(results),
        plane_(plane),
        parts_(parts * plane),
        by_plane_(plane),
        finish_(finish) {
    if (B != Backend::cuda) return;
    // Joining takes long: few results are spread over many teams, although these then read half of each sector.
    constexpr std::int64_t enough_teams = 256;
    const std::int64_t most_lanes = std::clamp<std::int64_t>(results / enough_teams, 1, plane == 1 ? 32 : 8);
    lanes_ = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::min(results, most_lanes))));
    // Few parts leave room for more results.
    while (lanes_ < threads && lanes_ < results && threads / lanes_ > parts_) lanes_ *= 2;
  }

  std::int64_t teams() const { return ceil_div(results_, lanes_); }
  std::size_t scratch_bytes() const { return threads > 1 ? threads * sizeof(Sums) : 0; }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const int slots = threads / lanes_, slot = team.team_rank() / lanes_;
    const std::int64_t result = (first_team + team.league_rank()) * lanes_ + team.team_rank() % lanes_;
    Wide pivot = Join::identity();
    Sums sums[1] = {Way::sums_of(pivot, pivot)};
    typename Finish::Target target{};
    if (result < results_) {
      if (slot == 0) target = finish_.at(result);
      if constexpr (Way::has_pivot) pivot = first_state(result);
      sums[0] = Way::sums_of(Join::identity(), pivot);
      PORTOPS_NO_UNROLL
      for (std::int64_t first = slot; first < parts_; first += batch * slots) {
        // Loaded together: one after the other they would take longer than all the rest.
        State loaded[batch];
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          const std::int64_t part = first + b * slots;
          if (part < parts_) loaded[b] = partials_[at(part, result)];
        }
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          if (first + b * slots >= parts_) continue;
          sums[0] = typename Way::JoinSums()(sums[0], Way::sums_of(widened(loaded[b]), pivot));
        }
      }
    }
    if constexpr (threads > 1) {
      join_over_slots(team, scratch_of<Sums>(team), slots, lanes_, sums, typename Way::JoinSums());
    }
    if (result < results_ && slot == 0) finish_(target, Way::state_of(sums[0]));
  }

 private:
  static constexpr int batch = B == Backend::cuda ? 4 : 1;

  /// Of the result's states, the first one of anything.
  KOKKOS_FORCEINLINE_FUNCTION Wide first_state(std::int64_t result) const {
    Wide state = Join::identity();
    PORTOPS_NO_UNROLL
    for (std::int64_t part = 0; part < parts_; ++part) {
      state = widened(partials_[at(part, result)]);
      if (state.count != 0.0) break;
    }
    return state;
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t at(std::int64_t part, std::int64_t result) const {
    if (plane_ == 1) return part * results_ + result;
    const std::int64_t outer = by_plane_.quotient(part);
    return (outer * results_ + result) * plane_ + (part - outer * plane_);
  }

  const State* partials_;
  std::int64_t results_;
  std::int64_t plane_;
  std::int64_t parts_;  ///< of a result, each column's counted
  IndexDivisor by_plane_;
  Finish finish_;
  int lanes_ = 1;
};

/// Where the operand has a result of the reduction.
struct ResultPlaces {
  explicit ResultPlaces(const ReducePlan& plan)
      : axes(plan), columns(plan.direction == Direction::down ? plan.columns : 1) {}

  /// A result: its position along the kept axes, and its column.
  struct Place {
    std::int64_t kept = 0, column = 0;
  };
  KOKKOS_FORCEINLINE_FUNCTION Place locate(std::int64_t result) const {
    const std::int64_t kept = columns == 1 ? result : quotient(result, columns);
    return {kept, result - kept * columns};
  }

  template <class E>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t of(const RowOperand<E>& operand, const Place& place) const {
    return axes.kept_offset(operand, place.kept) + place.column * operand.column_stride;
  }

  RowAxes axes;
  std::int64_t columns;
};

}  // namespace portops::impl
