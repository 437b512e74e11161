// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/normalization/norm_plan.hpp"

#include <cstddef>
#include <string>

namespace portops::impl {

/// The labels of a normalisation's kernels and temporaries, made once.
struct NormLabels {
  explicit NormLabels(const std::string& op)
      : normalize("portops::" + op + "::normalize[packs]"),
        dense("portops::" + op + "::normalize[dense]"),
        columns("portops::" + op + "::normalize[columns]"),
        along("portops::" + op + "::reduce[along]"),
        down("portops::" + op + "::reduce[down]"),
        join("portops::" + op + "::join[partials]"),
        rows("portops::" + op + "::normalize[rows]"),
        maxima("portops::" + op + "::normalize[maxima]"),
        maxima_sums("portops::" + op + "::reduce[maxima]"),
        partials("portops::" + op + "::partials") {}

  std::string normalize;
  std::string dense;
  std::string columns;
  std::string along;
  std::string down;
  std::string join;
  std::string rows;
  std::string maxima;
  std::string maxima_sums;
  std::string partials;
};

/// Statistics that are kept from step to step: out = momentum · in + (1 − momentum) · what the batch has.
struct RunningStatistics {
  TensorRef mean;
  TensorRef variance;
  TensorRef mean_out;
  TensorRef variance_out;
  double momentum = 0.0;
};

/// What a gradient's sums become; each may be empty.
struct GradientResults {
  TensorRef means = {};  ///< of the sums of g; as many elements behind them, of those of g · x̂
  TensorRef weight_grad = {};
  TensorRef bias_grad = {};
  /// The sums themselves, GradientSums<double> of each result, for others to join.
  void* sums = nullptr;
};

/// What several tensors that are normalised together have come to, each on its own: `parts` of them, one behind the
/// other, of every result.
struct JoinedStates {
  const void* states;
  std::int64_t parts;
};

/// The steps that normalisations are made of, on one backend for one element type. All tensors have as many axes as x,
/// of extent 1 where an element stands for all of x; statistics have the type of sums. Defined in
/// norm_kernels_impl.hpp and compiled once for each pair.
template <Backend B, class T>
struct NormKernels {
  /// mean and inv_std of what lies along the axes that `reduced` names. `memory` has room for norm_partials().
  static void statistics(const Context& ctx, const NormLabels& labels, const TensorRef& x, const AxisSet& reduced,
                         const TensorRef& mean, const TensorRef& inv_std, double epsilon,
                         const RunningStatistics& running, void* memory);
  /// Of the same the moments, Moments<double> of each result, for others to join.
  static void moments(const Context& ctx, const NormLabels& labels, const TensorRef& x, const AxisSet& reduced,
                      void* moments, void* memory);
  /// mean and inv_std of tensors that are normalised together, from the moments of each; x is one of them.
  static void joined_statistics(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                const AxisSet& reduced, const JoinedStates& moments, const TensorRef& mean,
                                const TensorRef& inv_std, double epsilon, const RunningStatistics& running);
  /// mean_out = mean, inv_std = 1 / √(variance + epsilon)
  static void take_statistics(const Context& ctx, const NormLabels& labels, const TensorRef& mean,
                              const TensorRef& variance, const TensorRef& mean_out, const TensorRef& inv_std,
                              double epsilon);
  /// out = (x − mean) · inv_std · weight + bias, or what relu makes of it
  static void normalize(const Context& ctx, const NormLabels& labels, const TensorRef& x, const TensorRef& mean,
                        const TensorRef& inv_std, const TensorRef& weight, const TensorRef& bias, const TensorRef& out,
                        bool with_relu);
  /// The sums of g = out_grad · weight and of g · x̂ along the axes that `reduced` names. Where the weight is one of the
  /// results (`weight_is_kept`), only the means are multiplied with it: the gradients of weight and bias are without.
  static void gradient_sums(const Context& ctx, const NormLabels& labels, const TensorRef& x, const TensorRef& out_grad,
                            const AxisSet& reduced, const TensorRef& mean, const TensorRef& inv_std,
                            const TensorRef& weight, bool weight_is_kept, const GradientResults& results, void* memory);
  /// The same of a gradient with respect to relu of the result, with that weight and bias, which are kept. On GPUs
  /// alone.
  static void gradient_sums_behind_relu(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                        const TensorRef& out_grad, const AxisSet& reduced, const TensorRef& mean,
                                        const TensorRef& inv_std, const TensorRef& weight, const TensorRef& bias,
                                        const GradientResults& results, void* memory);
  /// The means of tensors that are normalised together, of `count` terms a result, from the sums of each without the
  /// weight; x is one of them.
  static void joined_means(const Context& ctx, const NormLabels& labels, const TensorRef& x, const AxisSet& reduced,
                           const JoinedStates& sums, std::int64_t count, const TensorRef& weight,
                           const TensorRef& means);
  /// x_grad = inv_std · (g − mean_of_sum − x̂ · mean_of_product)
  static void normalize_grad(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                             const TensorRef& out_grad, const TensorRef& mean, const TensorRef& inv_std,
                             const TensorRef& weight, const TensorRef& mean_of_sum, const TensorRef& mean_of_product,
                             const TensorRef& x_grad);
  /// The same of such a gradient; `means` are those of sums, with those of products behind them.
  static void normalize_grad_behind_relu(const Context& ctx, const NormLabels& labels, const TensorRef& x,
                                         const TensorRef& out_grad, const TensorRef& mean, const TensorRef& inv_std,
                                         const TensorRef& weight, const TensorRef& bias, const TensorRef& means,
                                         const TensorRef& x_grad);
  /// x_grad = inv_std · out_grad · weight: statistics that did not come from x.
  static void scale_grad(const Context& ctx, const NormLabels& labels, const TensorRef& out_grad,
                         const TensorRef& inv_std, const TensorRef& weight, const TensorRef& x_grad);
};

}  // namespace portops::impl
