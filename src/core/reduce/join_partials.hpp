// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/host_rows.hpp"
#include "core/reduce/rescale.hpp"

#include <algorithm>
#include <bit>
#include <limits>

// The second kernel of a reduction whose results are cut into parts: it joins the parts of each, in double. A group of
// lanes takes a result, each lane every lanes-th part; a tree joins the lanes.

namespace portops::impl {

/// What these kernels work on.
template <class T, class F>
struct JoinRows {
  using A = Arithmetic<T>;
  static constexpr int most_lanes = 256;
  static constexpr int parts_of_lane = 8;
  static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

  JoinRows(const F& functor, const ReducePlan& plan, const Partial<A>* partial_results)
      : f(functor),
        axes(plan),
        out(plan.operand[reduction_out]),
        partials(partial_results),
        results(plan.results()),
        columns(plan.direction == Direction::down ? plan.columns : 1),
        parts(plan.parts()) {
    const auto wanted = static_cast<std::uint64_t>(std::min<std::int64_t>(ceil_div(parts, parts_of_lane), most_lanes));
    lane_bits = std::bit_width(std::bit_ceil(wanted)) - 1;
  }

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits; }

  /// Most parts have the scale 1: they are only added up. NaN tells that it was otherwise.
  KOKKOS_FORCEINLINE_FUNCTION static double total_or_nan(const Partial<A>& part) {
    return part.scale == A(1) ? static_cast<double>(part.total) : not_a_number;
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t result, const Partial<double>& value) const {
    const std::int64_t kept = columns == 1 ? result : quotient(result, columns);
    const std::int64_t column = result - kept * columns;
    out.data[axes.kept_offset(out, kept) + column * out.column_stride] =
        static_cast<T>(static_cast<A>(f.finish(value)));
  }

  F f;
  RowAxes axes;
  RowOperand<T> out;
  const Partial<A>* partials;  ///< [result][part]; on hosts as PartialPlaces says
  std::int64_t results;
  std::int64_t columns;  ///< of the results of one position along the kept axes
  std::int64_t parts;
  int lane_bits = 0;
};

template <Backend B, class T, class F>
class JoinPartials {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = JoinRows<T, F>::most_lanes;
  static constexpr int blocks = 4;

  JoinPartials(const F& f, const ReducePlan& plan, const Partial<A>* partials) : rows_(f, plan, partials) {}

  KOKKOS_FUNCTION std::int64_t teams() const { return (rows_.results + groups() - 1) / groups(); }
  std::size_t scratch_bytes() const { return threads * sizeof(double); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = scratch_of<double>(team);
    for (std::int64_t index = team.league_rank(); index < teams(); index += team.league_size()) {
      join(team, scratch, index * groups() + (team.team_rank() >> rows_.lane_bits));
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION int groups() const { return threads >> rows_.lane_bits; }

  /// A group's result, or none where there are no more.
  KOKKOS_FUNCTION void join(const Team& team, double* scratch, std::int64_t result) const {
    const auto collect = [&](double start, const auto& join, const auto& term) {
      return join_parts(team, scratch, result, start, join, term);
    };
    const auto total_or_nan = [](const Partial<A>& part) { return JoinRows<T, F>::total_or_nan(part); };
    Partial<double> value{1.0, collect(rows_.f.identity(), rows_.f.join(), total_or_nan)};
    if constexpr (F::rescales) {
      if (any_is_nan(team, scratch, value.total)) value = rescaled_sum<double>(rows_.f, collect);
    }
    if ((team.team_rank() & (rows_.lanes() - 1)) == 0 && result < rows_.results) rows_.write(result, value);
  }

  /// Whether a result of the team is NaN.
  KOKKOS_FUNCTION bool any_is_nan(const Team& team, double* scratch, double total) const {
    if (team.team_rank() == 0) scratch[0] = 0.0;
    team.team_barrier();
    if (any_lane(total != total) && team.team_rank() % 32 == 0) Kokkos::atomic_store(scratch, 1.0);
    team.team_barrier();
    const bool any = scratch[0] != 0.0;
    team.team_barrier();
    return any;
  }

  /// Joins term(part) over the parts of the group's result; each of its threads gets it.
  template <class Join, class Term>
  KOKKOS_FORCEINLINE_FUNCTION double join_parts(const Team& team, double* scratch, std::int64_t result, double value,
                                                const Join& join, const Term& term) const {
    constexpr int batch = JoinRows<T, F>::parts_of_lane;
    const int lane = team.team_rank() & (rows_.lanes() - 1);
    if (result < rows_.results) {
      const Partial<A>* const partials = rows_.partials + result * rows_.parts;
      for (std::int64_t part = lane; part < rows_.parts; part += batch * rows_.lanes()) {
        // Loaded together: one after the other they would take longer than all the rest.
        Partial<A> loaded[batch];
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          if (part + b * rows_.lanes() < rows_.parts) loaded[b] = partials[part + b * rows_.lanes()];
        }
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          if (part + b * rows_.lanes() < rows_.parts) value = join(value, term(loaded[b]));
        }
      }
    }
    double* const own = scratch + team.team_rank();
    *own = value;
    for (int half = rows_.lanes() / 2; half > 0; half /= 2) {
      team.team_barrier();
      if (lane < half) *own = join(own[0], own[half]);
    }
    team.team_barrier();
    value = own[-lane];
    team.team_barrier();
    return value;
  }

  JoinRows<T, F> rows_;
};

/// One thread does what a GPU's groups of lanes do, for some neighbouring results side by side.
template <class T, class F>
class JoinPartialsHost {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;  // a matter of GPUs

  JoinPartialsHost(const F& f, const ReducePlan& plan, const Partial<A>* partials)
      : rows_(f, plan, partials), places_(plan, true) {}

  std::int64_t items() const { return ceil_div(rows_.results, results_at_once); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((
        join(item * results_at_once, std::min<std::int64_t>(results_at_once, rows_.results - item * results_at_once));))
  }

  /// Joins the parts of `count` results from `first` on.
  void join(std::int64_t first, std::int64_t count) const {
    for (; count >= results_at_once; count -= results_at_once, first += results_at_once)
      join_some<results_at_once>(first);
    for (; count > 0; --count, ++first) join_some<1>(first);
  }

 private:
  static constexpr int results_at_once = 8;

  template <int some>
  void join_some(std::int64_t first) const {
    const F f = rows_.f;
    double of_lane[JoinRows<T, F>::most_lanes * some];
    std::fill_n(of_lane, rows_.lanes() * some, f.identity());
    for (std::int64_t part = 0; part < rows_.parts; ++part) {
      double* const own = of_lane + (part & (rows_.lanes() - 1)) * some;
      const Partial<A>* const partial = rows_.partials + places_.of(first, part);
      for (int k = 0; k < some; ++k) own[k] = f.join()(own[k], JoinRows<T, F>::total_or_nan(partial[k]));
    }
    join_halves(of_lane, rows_.lanes(), some, f.join());
    for (int k = 0; k < some; ++k) write(first + k, of_lane[k]);
  }

  void write(std::int64_t result, double total) const {
    Partial<double> value{1.0, total};
    if constexpr (F::rescales) {
      if (total != total) value = rescaled(result);
    }
    rows_.write(result, value);
  }

  [[gnu::noinline]] Partial<double> rescaled(std::int64_t result) const {
    return rescaled_sum<double>(rows_.f, [&](double start, const auto& join, const auto& term) {
      double of_lane[JoinRows<T, F>::most_lanes];
      std::fill_n(of_lane, rows_.lanes(), start);
      for (std::int64_t part = 0; part < rows_.parts; ++part) {
        double& own = of_lane[part & (rows_.lanes() - 1)];
        own = join(own, term(rows_.partials[places_.of(result, part)]));
      }
      return join_halves(of_lane, rows_.lanes(), 1, join);
    });
  }

  JoinRows<T, F> rows_;
  PartialPlaces places_;
};

}  // namespace portops::impl
