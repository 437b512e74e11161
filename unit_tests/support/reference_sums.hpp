// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support.hpp"

#include <cmath>

// Sums in float64, and how near to them a gradient must be.

namespace portops::test {

/// A gradient in float64 or better, as long sums in it drift too, and the magnitudes that were summed.
struct ReferenceSums {
  std::vector<long double> value;
  std::vector<double> magnitude;

  explicit ReferenceSums(const Extents& extents)
      : value(static_cast<std::size_t>(extents.product())), magnitude(value.size()) {}

  void add(std::int64_t index, double term, double term_magnitude) {
    value[static_cast<std::size_t>(index)] += term;
    magnitude[static_cast<std::size_t>(index)] += term_magnitude;
  }
};

/// That a gradient is as near to the reference as the design promises: 1e-12 (f64) or 2e-6 of the magnitude summed, and
/// one rounding of the half types.
template <class T>
void expect_near(TestTensor<T>& gradient, const ReferenceSums& expected, const std::string& what) {
  gradient.download();
  const double summing = std::is_same_v<T, double> ? 1e-12 : 2e-6;
  const double last = sizeof(T) == 2 ? 1.01 * rounding<T>() : 0.0;
  const std::int64_t size = gradient.size();
  for (std::int64_t i = 0; i < size; ++i) {
    const auto value = static_cast<double>(expected.value[static_cast<std::size_t>(i)]);
    const double tolerance = summing * expected.magnitude[static_cast<std::size_t>(i)] + last * std::abs(value) +
                             (std::is_same_v<T, f16> ? 0x1p-25 : 0.0);
    if (std::abs(gradient[i] - value) <= tolerance) continue;
    ADD_FAILURE() << what << "[" << i << "] is " << gradient[i] << ", expected " << value << " within " << tolerance;
    return;
  }
}

}  // namespace portops::test
