// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/normalization/batch_norm/maxima_gradient_sums.hpp"
#include "ops/normalization/batch_norm/norm_maxima_kernels.hpp"
#include "ops/normalization/batch_norm/normalize_maxima.hpp"
#include "ops/normalization/batch_norm/normalize_maxima_grad.hpp"
#include "ops/normalization/norm_finish.hpp"

namespace portops::impl {

/// Whether maxima of windows are taken in this type on this backend.
template <Backend B, class T>
inline constexpr bool has_maxima = B == Backend::cuda && sizeof(T) < sizeof(double);

/// Calls launch.template operator()<side>() for the side of the windows.
template <class Launch>
void with_side(const WindowMaxima& maxima, const Launch& launch) {
  maxima.side == 2 ? launch.template operator()<2>() : launch.template operator()<3>();
}

template <Backend B, class T>
void NormMaximaKernels<B, T>::normalize(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                        const TensorRef& mean, const TensorRef& inv_std, const TensorRef& weight,
                                        const TensorRef& bias, const WindowMaxima& maxima, bool with_relu) {
  if constexpr (has_maxima<B, T>) {
    using A = Arithmetic<T>;
    const std::array sides{mean, inv_std, weight, bias};
    const NormRows<T, Normalize<A>> rows(make_norm_map(x, sides), 1, sides, {A(0), A(1), A(1), A(0)});
    with_side(maxima, [&]<int side>() {
      launch_by_items<B>(ctx, labels.maxima, NormalizeMaxima<T, side>(rows, x, maxima, with_relu));
    });
  }
}

template <Backend B, class T>
void NormMaximaKernels<B, T>::gradient_sums(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                            const AxisSet& reduced, const TensorRef& mean, const TensorRef& inv_std,
                                            const TensorRef& weight, const TensorRef& bias, const WindowMaxima& maxima,
                                            bool behind_relu, const GradientResults& results, void* memory) {
  if constexpr (has_maxima<B, T>) {
    using A = Arithmetic<T>;
    const std::array sides{mean, inv_std, weight, bias};
    const NormPlan plan =
        make_window_norm_plan(make_norm_loop(maxima.values, sides, reduced), make_norm_loop(x, sides, reduced));
    auto* const partials = static_cast<GradientSums<A>*>(memory);
    const NormRows<T, Normalize<A>> rows(plan.rows, 1, sides, {A(0), A(1), A(1), A(0)});
    with_side(maxima, [&]<int side>() {
      const MaximaGradientSums<B, T, side> kernel(rows, plan, x, maxima, behind_relu, partials);
      launch_all_teams<B>(ctx, labels.maxima_sums, kernel, kernel.teams(), kernel.threads(), kernel.scratch_bytes());
    });
    finish_gradient_sums<B, T>(ctx, labels, plan, partials, x, reduced, weight, results);
  }
}

template <Backend B, class T>
void NormMaximaKernels<B, T>::normalize_grad(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                             const TensorRef& mean, const TensorRef& inv_std, const TensorRef& weight,
                                             const TensorRef& bias, const TensorRef& means, const WindowMaxima& maxima,
                                             bool behind_relu, const TensorRef& x_grad) {
  if constexpr (has_maxima<B, T>) {
    using A = Arithmetic<T>;
    // x_grad stands where a map has out_grad.
    const std::array others{x_grad, mean, inv_std, weight, bias, means};
    const std::array sides{mean, inv_std, weight, bias, means};
    NormRows<T, ReluNormalizeGrad<A, T>> rows(make_norm_map(x, others), 2, sides, {A(0), A(1), A(1), A(0), A(0), A(0)});
    rows.place_behind(5, 4, means.size());
    with_side(maxima, [&]<int side>() {
      launch_by_items<B>(ctx, labels.maxima, NormalizeMaximaGrad<T, side>(rows, x, maxima, behind_relu, x_grad));
    });
  }
}

}  // namespace portops::impl
