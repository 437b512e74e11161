// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "softmax_reference.hpp"

#include <portops/ops/cross_entropy_with_softmax.hpp>

#include <string>

// cross_entropy_with_softmax and its gradient, written plainly in long double.

namespace portops::test {

/// The logits of a call, in the order of their indices, and its labels: classes of rows, or a number for each logit.
struct CrossEntropyCase {
  Extents extents;
  CrossEntropyWithSoftmaxParams params;
  std::vector<double> logits;
  std::vector<std::int64_t> classes;
  std::vector<double> soft_labels;

  Extents rows() const {
    std::vector<std::int64_t> kept;
    const auto axis = static_cast<int>((params.axis + extents.rank()) % extents.rank());
    for (int k = 0; k < extents.rank(); ++k) {
      if (k != axis) kept.push_back(extents[k]);
    }
    return Extents(kept);
  }
  Extents loss() const { return params.reduction == "none" ? rows() : Extents(); }
};

/// What rows come to, and how far a loss may be off, before it is rounded to the type.
struct ExpectedLosses {
  std::vector<double> loss;
  std::vector<double> error;
  std::vector<double> log_sum_exp;
  std::vector<double> total;  ///< of the row's labels
  std::int64_t count = 0;
};

template <class T>
ExpectedLosses reference_losses(const CrossEntropyCase& call) {
  ExpectedLosses expected;
  for_each_line(call.extents, call.params.axis, [&](const std::vector<std::size_t>& line) {
    double largest = -inf;
    for (const std::size_t i : line) largest = std::max(largest, call.logits[i]);
    long double sum = 0.0L;
    for (const std::size_t i : line) sum += std::exp(static_cast<long double>(call.logits[i]) - largest);
    const long double log_sum_exp = largest + std::log(sum);
    long double loss = 0.0L, magnitude = 0.0L, total = 1.0L;
    bool counts = true;
    if (call.params.soft_label) {
      total = 0.0L;
      for (const std::size_t i : line) {
        total += call.soft_labels[i];
        if (call.soft_labels[i] == 0.0) continue;
        const long double term = call.soft_labels[i] * ((largest - call.logits[i]) + std::log(sum));
        loss += term;
        magnitude += std::abs(term);
      }
    } else {
      const std::int64_t label = call.classes[expected.loss.size()];
      counts = label != call.params.ignore_index;
      if (counts) loss = (largest - call.logits[line[static_cast<std::size_t>(label)]]) + std::log(sum);
      magnitude = loss;
    }
    expected.loss.push_back(static_cast<double>(loss));
    expected.error.push_back((std::is_same_v<T, double> ? 1e-13 : 4e-6) * (1.0 + static_cast<double>(magnitude)));
    expected.log_sum_exp.push_back(static_cast<double>(log_sum_exp));
    expected.total.push_back(static_cast<double>(total));
    expected.count += counts ? 1 : 0;
  });
  return expected;
}

/// One rounding of a 16-bit type; of others their own rounding is part of the error.
template <class T>
double rounding_of(double value) {
  return sizeof(T) == 2 ? 1.01 * rounding<T>() * std::abs(value) + subnormal_error<T>() : 0.0;
}

template <class T>
Expected reference_loss(const CrossEntropyCase& call, const ExpectedLosses& rows) {
  Expected expected;
  if (call.params.reduction == "none") {
    for (std::size_t r = 0; r < rows.loss.size(); ++r) {
      expected.value.push_back(rows.loss[r]);
      expected.error.push_back(rows.error[r] + rounding_of<T>(rows.loss[r]));
    }
    return expected;
  }
  long double sum = 0.0L, error = 0.0L;
  for (std::size_t r = 0; r < rows.loss.size(); ++r) {
    sum += rows.loss[r];
    error += rows.error[r];
  }
  const std::int64_t divisor = call.params.reduction == "mean" ? std::max<std::int64_t>(rows.count, 1) : 1;
  const auto value = static_cast<double>(sum / divisor);
  expected.value = {value};
  expected.error = {static_cast<double>(error / divisor) + rounding_of<T>(value)};
  return expected;
}

template <class T>
Expected reference_grad(const CrossEntropyCase& call, const ExpectedLosses& rows,
                        const std::vector<double>& loss_grad) {
  Expected expected{call.logits, call.logits};
  std::size_t row = 0;
  for_each_line(call.extents, call.params.axis, [&](const std::vector<std::size_t>& line) {
    double factor = loss_grad[loss_grad.size() == 1 ? 0 : row];
    if (call.params.reduction == "mean") factor /= static_cast<double>(std::max<std::int64_t>(rows.count, 1));
    if (!call.params.soft_label && call.classes[row] == call.params.ignore_index) factor = 0.0;
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::size_t i = line[c];
      const double below = rows.log_sum_exp[row] - call.logits[i];
      const double softmax = std::exp(-below);
      const double label = call.params.soft_label                              ? call.soft_labels[i]
                           : static_cast<std::int64_t>(c) == call.classes[row] ? 1.0
                                                                               : 0.0;
      const double value = (softmax * rows.total[row] - label) * factor;
      const double relative = softmax > 0.0 ? (2e-6 + softmax_error<T>(std::abs(below))) * softmax : 0.0;
      const double error = (relative * std::abs(rows.total[row]) + 2e-7 * std::abs(softmax * rows.total[row] - label)) *
                           std::abs(factor);
      expected.value[i] = value;
      expected.error[i] = (std::is_same_v<T, double> ? 1e-12 * (softmax + std::abs(label)) * std::abs(factor) : error) +
                          rounding_of<T>(value) + 2 * subnormal_error<T>() * (1.0 + std::abs(factor));
    }
    ++row;
  });
  return expected;
}

/// The tensors of a call. Those of rows lie in `row_layout`.
template <class T>
struct CrossEntropyTensors {
  CrossEntropyTensors(const Context& ctx, const CrossEntropyCase& call, Layout layout, Layout row_layout)
      : logits(ctx, call.extents, layout),
        soft_label(ctx, call.params.soft_label ? call.extents : Extents{0}, row_layout),
        label(ctx, call.rows(), row_layout),
        loss(ctx, call.loss(), row_layout),
        log_sum_exp(ctx, call.rows(), row_layout),
        count(ctx, {}),
        loss_grad(ctx, call.loss(), row_layout),
        logits_grad(ctx, call.extents, layout) {
    loss_grad.fill_randomly(3, 0.5, 2.0);
    loss.fill([](std::int64_t) { return nan; });
    log_sum_exp.fill([](std::int64_t) { return nan; });
    logits_grad.fill([](std::int64_t) { return nan; });
  }
  TensorRef labels() const { return soft_label.size() > 0 ? soft_label.ref() : label.ref(); }

  TestTensor<T> logits, soft_label;
  TestTensor<std::int64_t> label;
  TestTensor<T> loss;
  TestTensor<double> log_sum_exp;
  TestTensor<std::int64_t> count;
  TestTensor<T> loss_grad, logits_grad;
};

}  // namespace portops::test
