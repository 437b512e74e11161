// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "ops/normalization/norm_join.hpp"
#include "ops/normalization/norm_kernels.hpp"
#include "ops/normalization/norm_rows.hpp"

#include <array>

// The second half of a reduction: states are joined, and written as what they come to.

namespace portops::impl {

template <Backend B, class Join, class State, class Finish>
void join_states(const Context& ctx, const NormLabels& labels, const State* partials, std::int64_t results,
                 std::int64_t parts, std::int64_t plane, const Finish& finish) {
  launch_by_teams<B>(ctx, labels.join, NormJoin<B, State, Join, Finish>(partials, results, parts, plane, finish));
}

/// Writes what a result's moments say.
template <class T>
struct WriteStatistics {
  using A = Arithmetic<T>;

  /// The tensors are operands of the plan from its second one on: mean, inv_std, and the running ones.
  WriteStatistics(const ReducePlan& plan, const std::array<TensorRef, 6>& tensors, double its_epsilon,
                  double its_momentum)
      : places(plan),
        mean(plan, 1, tensors[0], A(0)),
        inv_std(plan, 2, tensors[1], A(0)),
        running_mean(plan, 3, tensors[2], A(0)),
        running_variance(plan, 4, tensors[3], A(0)),
        running_mean_out(plan, 5, tensors[4], A(0)),
        running_variance_out(plan, 6, tensors[5], A(0)),
        epsilon(its_epsilon),
        momentum(its_momentum) {}

  struct Target {
    ResultPlaces::Place place;
    A running_mean, running_variance;  ///< as they were
  };
  KOKKOS_FUNCTION Target at(std::int64_t result) const {
    const ResultPlaces::Place place = places.locate(result);
    const auto read = [&](const Side<T>& before) { return before.get(places.of(before.operand, place)); };
    return {place, running_mean_out.given ? read(running_mean) : A(0),
            running_variance_out.given ? read(running_variance) : A(0)};
  }

  KOKKOS_FUNCTION void operator()(const Target& target, const Moments<double>& state) const {
    const double batch_mean = state.mean + state.rest, batch_variance = state.variance();
    const auto write = [&](const Side<T>& to, A value) {
      if (to.given) to.set(places.of(to.operand, target.place), value);
    };
    write(mean, static_cast<A>(batch_mean));
    write(inv_std, static_cast<A>(1.0 / Kokkos::sqrt(batch_variance + epsilon)));
    const auto updated = [&](A was, double value) {
      const auto is = static_cast<A>(momentum * static_cast<double>(was) + (1.0 - momentum) * value);
      return state.count == 0.0 ? was : is;
    };
    write(running_mean_out, updated(target.running_mean, batch_mean));
    const double unbiased = batch_variance * (state.count / (state.count - 1.0));
    write(running_variance_out, updated(target.running_variance, unbiased));
  }

  ResultPlaces places;
  Side<T> mean, inv_std, running_mean, running_variance, running_mean_out, running_variance_out;
  double epsilon;
  double momentum;
};

/// Writes what the sums of a gradient give.
template <class T>
struct WriteGradient {
  using A = Arithmetic<T>;

  struct Target {
    std::int64_t result;
    ResultPlaces::Place place;
    A weight;
  };
  KOKKOS_FUNCTION Target at(std::int64_t result) const {
    const ResultPlaces::Place place = places.locate(result);
    return {result, place, means.given ? weight.get(places.of(weight.operand, place)) : A(0)};
  }

  KOKKOS_FUNCTION void operator()(const Target& target, const GradientSums<double>& state) const {
    if (means.given) {
      const double by = static_cast<double>(target.weight) / count;
      const std::int64_t to = places.of(means.operand, target.place);
      means.set(to, static_cast<A>(state.sum * by));
      means.set(to + results, static_cast<A>(state.product * by));
    }
    const auto write = [&](const Side<T>& to, double value) {
      if (to.given) to.set(places.of(to.operand, target.place), static_cast<A>(value));
    };
    write(weight_grad, state.product);
    write(bias_grad, state.sum);
    if (sums != nullptr) sums[target.result] = state;
  }

  ResultPlaces places;
  double count;  ///< of elements that were added up
  std::int64_t results;
  Side<T> weight, means, weight_grad, bias_grad;
  GradientSums<double>* sums;
};

/// Writes the moments themselves.
struct WriteMoments {
  using Target = std::int64_t;  ///< the result's number
  KOKKOS_FUNCTION Target at(std::int64_t result) const { return result; }
  KOKKOS_FUNCTION void operator()(Target result, const Moments<double>& state) const { moments[result] = state; }

  Moments<double>* moments;
};

/// What finishes the sums of a gradient, whose weight, if it is a factor of the means, and results are operands of the
/// plan from that one on.
template <class T>
WriteGradient<T> write_gradient(const ReducePlan& plan, std::int64_t count, int first, const TensorRef& weight,
                                const GradientResults& results) {
  const auto side = [&](int operand, const TensorRef& tensor) {
    return Side<T>(plan, first + operand, tensor, Arithmetic<T>(1));
  };
  return {ResultPlaces(plan),
          static_cast<double>(count),
          plan.results(),
          side(0, weight),
          side(1, results.means),
          side(2, results.weight_grad),
          side(3, results.bias_grad),
          static_cast<GradientSums<double>*>(results.sums)};
}

/// Joins the sums of a gradient that kernels have taken by a plan, whose loop has no room for the results too, and
/// writes what they give for x.
template <Backend B, class T, class State>
void finish_gradient_sums(const Context& ctx, const NormLabels& labels, const NormPlan& plan, const State* partials,
                          const TensorRef& x, const AxisSet& reduced, const TensorRef& weight,
                          const GradientResults& results) {
  const std::array written{weight, results.means, results.weight_grad, results.bias_grad};
  const NormPlan of_results = make_norm_plan(make_norm_loop(x, written, reduced), 1, B);
  const auto finish = write_gradient<T>(of_results.rows, x.size() / plan.rows.results(), 1, weight, results);
  join_states<B, JoinGradientSums<double>>(ctx, labels, partials, plan.rows.results(), plan.parts, plan.plane, finish);
}

}  // namespace portops::impl
