// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support.hpp"

namespace portops::test {

/// That a gradient has the slopes of the objective along each element of the operand, by central differences.
inline void expect_slopes(TestTensor<double>& operand, TestTensor<double>& gradient,
                          const std::function<double()>& objective) {
  gradient.download();
  std::vector<double> values;
  for (std::int64_t i = 0; i < operand.extents().product(); ++i) values.push_back(operand[i]);
  const auto fill = [&](std::size_t shifted, double shift) {
    operand.fill([&](std::int64_t i) {
      const auto k = static_cast<std::size_t>(i);
      return values[k] + (k == shifted ? shift : 0.0);
    });
  };
  constexpr double step = 1e-4;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto at = [&](double shift) {
      fill(k, shift);
      return objective();
    };
    const double slope = (at(step) - at(-step)) / (2 * step);
    EXPECT_NEAR(gradient[static_cast<std::int64_t>(k)], slope, 1e-9) << "element " << k;
  }
  fill(0, 0.0);
}

/// The sum of a result's elements, each weighted by that of out_grad: what out_grad is the gradient of.
inline double weighted_sum(TestTensor<double>& out, const TestTensor<double>& out_grad) {
  out.download();
  double sum = 0.0;
  for (std::int64_t i = 0; i < out.extents().product(); ++i) sum += out[i] * out_grad[i];
  return sum;
}

}  // namespace portops::test
