// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/lanes/host_caches.hpp"
#include "ops/normalization/norm_finish.hpp"
#include "ops/normalization/norm_functions.hpp"
#include "ops/normalization/norm_kernels.hpp"
#include "ops/normalization/norm_map.hpp"
#include "ops/normalization/norm_map_columns.hpp"
#include "ops/normalization/norm_map_dense.hpp"
#include "ops/normalization/norm_map_planes.hpp"
#include "ops/normalization/norm_reduce.hpp"
#include "ops/normalization/norm_reduce_columns.hpp"
#include "ops/normalization/norm_reduce_host.hpp"
#include "ops/normalization/norm_reduce_runs.hpp"

#include <array>

namespace portops::impl {

template <Backend B, class T, class F>
void launch_norm_reduce(const Context& ctx, const NormLabels& labels, const NormRows<T, F>& rows, const NormPlan& plan,
                        typename F::State* partials) {
  const std::string& label = plan.along() ? labels.along : labels.down;
  if constexpr (B == Backend::cuda) {
    const auto launch = [&](const auto& kernel) {
      launch_all_teams<B>(ctx, label, kernel, kernel.teams(), kernel.threads(), kernel.scratch_bytes());
    };
    using Columns = NormReduceColumns<B, T, F>;
    if (Columns::suits(plan)) return launch(Columns(rows, plan, partials));
    using Runs = NormReduceRuns<B, T, F>;
    if (Runs::suits(plan)) return launch(Runs(rows, plan, partials));
    const auto launch_along_or_down = [&]<bool steady>() {
      plan.along() ? launch(NormReduceAlong<B, T, F, steady>(rows, plan, partials))
                   : launch(NormReduceDown<B, T, F, steady>(rows, plan, partials));
    };
    if constexpr (F::sides == 0) {
      launch_along_or_down.template operator()<true>();
    } else if (are_steady(plan.rows, F::inputs, F::sides)) {
      launch_along_or_down.template operator()<true>();
    } else {
      launch_along_or_down.template operator()<false>();
    }
  } else if (plan.along()) {
    launch_by_items<B>(ctx, label, NormReduceAlongHost<T, F>(rows, plan, partials));
  } else {
    launch_by_items<B>(ctx, label, NormReduceDownHost<T, F>(rows, plan, partials));
  }
}

/// Large outputs are streamed past a host's caches.
template <Backend B, class T, class F>
void launch_norm_map(const Context& ctx, const NormLabels& labels, const NormRows<T, F>& rows, const ReducePlan& plan,
                     int out) {
  if constexpr (B == Backend::cuda) {
    using Planes = NormMapPlanes<B, T, F>;
    if (Planes::suits(plan)) return launch_by_teams<B>(ctx, labels.dense, Planes(rows, plan));
    using Dense = NormMapDense<B, T, F>;
    if (Dense::suits(plan)) return launch_by_items<B>(ctx, labels.dense, Dense(rows, plan));
    using Columns = NormMapColumns<B, T, F>;
    if (Columns::suits(plan)) return launch_by_items<B>(ctx, labels.columns, Columns(rows, plan));
    launch_by_items<B>(ctx, labels.normalize, NormMap<B, T, F>(rows, plan, out));
  } else {
    const bool streaming = exceeds_host_caches(plan.runs * plan.columns * static_cast<std::int64_t>(sizeof(T)));
    launch_by_items<B>(ctx, labels.normalize, NormMapHost<T, F>(rows, plan, out, streaming));
  }
}

template <Backend B, class T>
void NormKernels<B, T>::statistics(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                   const AxisSet& reduced, const TensorRef& mean, const TensorRef& inv_std,
                                   double epsilon, const RunningStatistics& running, void* memory) {
  using A = Arithmetic<T>;
  using F = MomentsOf<A>;
  const std::array others{mean, inv_std, running.mean, running.variance, running.mean_out, running.variance_out};
  const TensorRef shape = without_reduced(x, reduced);
  if (shape.size() == 0) return;
  const NormPlan plan = make_norm_plan(make_norm_loop(shape, others, reduced), F::inputs, B);
  auto* const partials = static_cast<typename F::State*>(memory);
  const std::int64_t parts = x.size() == 0 ? 0 : plan.parts;
  if (parts > 0) launch_norm_reduce<B>(ctx, labels, NormRows<T, F>(plan.rows, 1, {}, {A(0)}), plan, partials);
  const WriteStatistics<T> finish(plan.rows, others, epsilon, running.momentum);
  join_states<B, JoinMoments<double>>(ctx, labels, partials, plan.rows.results(), parts, plan.plane, finish);
}

template <Backend B, class T>
void NormKernels<B, T>::moments(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                const AxisSet& reduced, void* moments, void* memory) {
  using A = Arithmetic<T>;
  using F = MomentsOf<A>;
  const TensorRef shape = without_reduced(x, reduced);
  if (shape.size() == 0) return;
  const NormPlan plan = make_norm_plan(make_norm_loop(shape, {}, reduced), F::inputs, B);
  auto* const partials = static_cast<typename F::State*>(memory);
  const std::int64_t parts = x.size() == 0 ? 0 : plan.parts;
  if (parts > 0) launch_norm_reduce<B>(ctx, labels, NormRows<T, F>(plan.rows, 1, {}, {A(0)}), plan, partials);
  const WriteMoments finish{static_cast<Moments<double>*>(moments)};
  join_states<B, JoinMoments<double>>(ctx, labels, partials, plan.rows.results(), parts, plan.plane, finish);
}

template <Backend B, class T>
void NormKernels<B, T>::joined_statistics(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                          const AxisSet& reduced, const JoinedStates& moments, const TensorRef& mean,
                                          const TensorRef& inv_std, double epsilon, const RunningStatistics& running) {
  const std::array others{mean, inv_std, running.mean, running.variance, running.mean_out, running.variance_out};
  const TensorRef shape = without_reduced(x, reduced);
  if (shape.size() == 0) return;
  const NormPlan plan = make_norm_plan(make_norm_loop(shape, others, reduced), 1, B);
  const WriteStatistics<T> finish(plan.rows, others, epsilon, running.momentum);
  join_states<B, JoinMoments<double>>(ctx, labels, static_cast<const Moments<double>*>(moments.states),
                                      plan.rows.results(), moments.parts, 1, finish);
}

/// mean as it is, and inv_std of a variance.
template <class T>
struct TakeStatistics {
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  std::int64_t items() const { return runs * columns; }
  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t run = quotient(item, columns), column = item - run * columns;
    const auto at = [&](const auto& operand) { return axes.run_offset(operand, run) + column * operand.column_stride; };
    mean_out.set(at(mean_out.operand), mean.get(at(mean.operand)));
    const auto value = static_cast<double>(variance.get(at(variance.operand)));
    inv_std.set(at(inv_std.operand), static_cast<A>(1.0 / Kokkos::sqrt(value + epsilon)));
  }

  RowAxes axes;
  std::int64_t runs;
  std::int64_t columns;
  Side<T> variance, mean, mean_out, inv_std;
  double epsilon;
};

template <Backend B, class T>
void NormKernels<B, T>::take_statistics(const Context& ctx, const NormLabels& labels, const TensorRef& mean,
                                        const TensorRef& variance, const TensorRef& mean_out, const TensorRef& inv_std,
                                        double epsilon) {
  const std::array others{mean, mean_out, inv_std};
  const ReducePlan plan = make_norm_map(variance, others);
  const auto side = [&](int operand, const TensorRef& tensor) {
    return Side<T>(plan, operand, tensor, Arithmetic<T>(0));
  };
  const TakeStatistics<T> kernel{RowAxes(plan), plan.runs,         plan.columns,     side(0, variance),
                                 side(1, mean), side(2, mean_out), side(3, inv_std), epsilon};
  launch_by_items<B>(ctx, labels.join, kernel);
}

template <Backend B, class T>
void NormKernels<B, T>::normalize(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                  const TensorRef& mean, const TensorRef& inv_std, const TensorRef& weight,
                                  const TensorRef& bias, const TensorRef& out, bool with_relu) {
  using A = Arithmetic<T>;
  const std::array others{mean, inv_std, weight, bias, out};
  const ReducePlan plan = make_norm_map(x, others);
  const auto launch = [&]<class F>() {
    launch_norm_map<B>(ctx, labels, NormRows<T, F>(plan, 1, others, {A(0), A(1), A(1), A(0)}), plan, 5);
  };
  with_relu ? launch.template operator()<Normalize<A, true>>() : launch.template operator()<Normalize<A, false>>();
}

template <Backend B, class T>
void NormKernels<B, T>::gradient_sums(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                      const TensorRef& out_grad, const AxisSet& reduced, const TensorRef& mean,
                                      const TensorRef& inv_std, const TensorRef& weight, bool weight_is_kept,
                                      const GradientResults& results, void* memory) {
  using A = Arithmetic<T>;
  using F = GradientSumsOf<A>;
  const std::array others{out_grad, mean, inv_std, weight, results.means, results.weight_grad, results.bias_grad};
  const TensorRef shape = without_reduced(x, reduced);
  if (shape.size() == 0) return;
  const NormPlan plan = make_norm_plan(make_norm_loop(shape, others, reduced), F::inputs, B);
  auto* const partials = static_cast<typename F::State*>(memory);
  const std::int64_t parts = x.size() == 0 ? 0 : plan.parts;
  const TensorRef none;
  const std::array sides{mean, inv_std, weight_is_kept ? none : weight};
  const NormRows<T, F> rows(plan.rows, 2, sides, {A(0), A(1), A(1)});
  if (parts > 0) launch_norm_reduce<B>(ctx, labels, rows, plan, partials);
  const auto finish =
      write_gradient<T>(plan.rows, x.size() / plan.rows.results(), 4, weight_is_kept ? weight : none, results);
  join_states<B, JoinGradientSums<double>>(ctx, labels, partials, plan.rows.results(), parts, plan.plane, finish);
}

template <Backend B, class T>
void NormKernels<B, T>::gradient_sums_behind_relu(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                                  const TensorRef& out_grad, const AxisSet& reduced,
                                                  const TensorRef& mean, const TensorRef& inv_std,
                                                  const TensorRef& weight, const TensorRef& bias,
                                                  const GradientResults& results, void* memory) {
  if constexpr (B == Backend::cuda) {
    using A = Arithmetic<T>;
    using F = ReluGradientSumsOf<A, T>;
    if (x.size() == 0)
      return gradient_sums(ctx, labels, x, out_grad, reduced, mean, inv_std, weight, true, results, memory);
    const std::array others{out_grad, mean, inv_std, weight, bias};
    const NormPlan plan = make_norm_plan(make_norm_loop(x, others, reduced), F::inputs, B);
    auto* const partials = static_cast<typename F::State*>(memory);
    const std::array sides{mean, inv_std, weight, bias};
    const NormRows<T, F> rows(plan.rows, 2, sides, {A(0), A(1), A(1), A(0)});
    launch_norm_reduce<B>(ctx, labels, rows, plan, partials);
    finish_gradient_sums<B, T>(ctx, labels, plan, partials, x, reduced, weight, results);
  }
}

template <Backend B, class T>
void NormKernels<B, T>::joined_means(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                     const AxisSet& reduced, const JoinedStates& sums, std::int64_t count,
                                     const TensorRef& weight, const TensorRef& means) {
  const TensorRef shape = without_reduced(x, reduced), none;
  const std::array others{weight, means, none, none};
  if (shape.size() == 0) return;
  const NormPlan plan = make_norm_plan(make_norm_loop(shape, others, reduced), 1, B);
  const auto finish = write_gradient<T>(plan.rows, count, 1, weight, {.means = means});
  join_states<B, JoinGradientSums<double>>(ctx, labels, static_cast<const GradientSums<double>*>(sums.states),
                                           plan.rows.results(), sums.parts, 1, finish);
}

template <Backend B, class T>
void NormKernels<B, T>::normalize_grad(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                       const TensorRef& out_grad, const TensorRef& mean, const TensorRef& inv_std,
                                       const TensorRef& weight, const TensorRef& mean_of_sum,
                                       const TensorRef& mean_of_product, const TensorRef& x_grad) {
  using A = Arithmetic<T>;
  using F = NormalizeGrad<A>;
  const std::array others{out_grad, mean, inv_std, weight, mean_of_sum, mean_of_product, x_grad};
  const std::array sides{mean, inv_std, weight, mean_of_sum, mean_of_product};
  const ReducePlan plan = make_norm_map(x, others);
  launch_norm_map<B>(ctx, labels, NormRows<T, F>(plan, 2, sides, {A(0), A(1), A(1), A(0), A(0)}), plan, 7);
}

template <Backend B, class T>
void NormKernels<B, T>::normalize_grad_behind_relu(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                                   const TensorRef& out_grad, const TensorRef& mean,
                                                   const TensorRef& inv_std, const TensorRef& weight,
                                                   const TensorRef& bias, const TensorRef& means,
                                                   const TensorRef& x_grad) {
  if constexpr (B == Backend::cuda) {
    using A = Arithmetic<T>;
    using F = ReluNormalizeGrad<A, T>;
    const std::array others{out_grad, mean, inv_std, weight, bias, means, x_grad};
    const std::array sides{mean, inv_std, weight, bias, means};
    const ReducePlan plan = make_norm_map(x, others);
    NormRows<T, F> rows(plan, 2, sides, {A(0), A(1), A(1), A(0), A(0), A(0)});
    rows.place_behind(5, 4, means.size());
    launch_norm_map<B>(ctx, labels, rows, plan, 7);
  }
}

template <Backend B, class T>
void NormKernels<B, T>::scale_grad(const Context& ctx, const NormLabels& labels, const TensorRef& out_grad,
                                   const TensorRef& inv_std, const TensorRef& weight, const TensorRef& x_grad) {
  using A = Arithmetic<T>;
  const std::array others{inv_std, weight, x_grad};
  const ReducePlan plan = make_norm_map(out_grad, others);
  launch_norm_map<B>(ctx, labels, NormRows<T, Scale<A>>(plan, 1, others, {A(1), A(1)}), plan, 3);
}

}  // namespace portops::impl
