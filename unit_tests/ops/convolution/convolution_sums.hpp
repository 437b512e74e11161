// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

// What the references of convolutions are made of.

namespace portops::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using Numbers = std::vector<std::int64_t>;

/// A sum of products, and of their magnitudes: to these errors are relative.
struct Sum {
  long double value = 0.0;  ///< a long sum in double drifts too
  double magnitude = 0.0;

  void add(double term) { *this += {term, std::abs(term)}; }
  void operator+=(const Sum& other) {
    value += other.value;
    magnitude += other.magnitude;
  }
  friend Sum operator*(double factor, const Sum& sum) { return {factor * sum.value, std::abs(factor) * sum.magnitude}; }
  friend Sum operator*(const Sum& a, const Sum& b) { return {a.value * b.value, a.magnitude * b.magnitude}; }
};

}  // namespace portops::test
