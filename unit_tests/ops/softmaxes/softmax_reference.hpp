// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/support.hpp"

#include <cmath>
#include <limits>

// softmax and its gradient, written plainly in double, with sums in long double.

namespace portops::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Elements in the order of their indices, and how far each may be off.
struct Expected {
  std::vector<double> value;
  std::vector<double> error;
};

template <class T>
std::vector<double> values_of(const TestTensor<T>& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor[static_cast<std::int64_t>(i)];
  return values;
}

/// Calls visit(the elements' indices) for each line of elements along an axis.
template <class Visit>
void for_each_line(const Extents& extents, std::int64_t axis, const Visit& visit) {
  std::int64_t inner = 1, length = 1;
  const int rank = extents.rank();
  if (rank > 0) {
    const auto along = static_cast<int>((axis + rank) % rank);
    length = extents[along];
    for (int k = along + 1; k < rank; ++k) inner *= extents[k];
  }
  const std::int64_t size = extents.product();
  for (std::int64_t i = 0; i < size; ++i) {
    if (i / inner % length != 0) continue;
    std::vector<std::size_t> indices;
    for (std::int64_t j = 0; j < length; ++j) indices.push_back(static_cast<std::size_t>(i + j * inner));
    visit(indices);
  }
}

/// What the page promises for f32, or for f64, relative to the result.
template <class T>
double softmax_error(double below_largest) {
  return std::is_same_v<T, double> ? 1e-12 : 2e-6 + 1.2e-7 * below_largest;
}

/// The least difference that counts: subnormal results are rounded once more.
template <class T>
double subnormal_error() {
  return std::is_same_v<T, f16> ? 0x1p-24 : std::is_same_v<T, double> ? 0x1p-1074 : 0x1p-133;
}

template <class T>
Expected reference_softmax(const std::vector<double>& x, const Extents& extents, std::int64_t axis) {
  Expected expected{x, x};
  for_each_line(extents, axis, [&](const std::vector<std::size_t>& line) {
    double largest = -inf;
    long double sum = 0.0L;
    for (const std::size_t i : line) largest = std::max(largest, x[i]);
    for (const std::size_t i : line) sum += std::exp(x[i] - largest);
    for (const std::size_t i : line) {
      const auto out = static_cast<double>(std::exp(x[i] - largest) / sum);
      expected.value[i] = out;
      const double relative = softmax_error<T>(largest - x[i]) + (sizeof(T) == 2 ? 1.01 * rounding<T>() : 0.0);
      expected.error[i] = (out > 0.0 ? relative * out : 0.0) + subnormal_error<T>();
    }
  });
  return expected;
}

template <class T>
Expected reference_softmax_grad(const std::vector<double>& out, const std::vector<double>& out_grad,
                                const Extents& extents, std::int64_t axis) {
  Expected expected{out, out};
  for_each_line(extents, axis, [&](const std::vector<std::size_t>& line) {
    long double sum = 0.0L, magnitude = 0.0L;
    for (const std::size_t i : line) {
      sum += static_cast<long double>(out[i]) * out_grad[i];
      magnitude += std::abs(static_cast<long double>(out[i]) * out_grad[i]);
    }
    for (const std::size_t i : line) {
      const auto value = static_cast<double>(out[i] * (out_grad[i] - sum));
      expected.value[i] = value;
      expected.error[i] = (std::is_same_v<T, double> ? 1e-12 : 2e-6) * out[i] *
                              (std::abs(out_grad[i]) + static_cast<double>(magnitude)) +
                          (sizeof(T) == 2 ? 1.01 * rounding<T>() * std::abs(value) : 0.0) + subnormal_error<T>();
    }
  });
  return expected;
}

template <class T>
void expect_near(TestTensor<T>& found, const Expected& expected, const std::string& what) {
  found.download();
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double value = expected.value[k];
    if (std::isnan(value) ? std::isnan(found[i]) : std::abs(found[i] - value) <= expected.error[k]) continue;
    ADD_FAILURE() << what << "[" << i << "] of " << found.extents().to_string() << " is " << found[i] << ", expected "
                  << value << " within " << expected.error[k];
    return;
  }
}

/// Rows and columns, short, long, and so long that they are cut into parts.
inline const Extents extents_of_every_kind[] = {{300, 50},   {50, 300},  {3, 150001}, {150001, 3},
                                                {1, 300001}, {40, 1001}, {24, 70, 33}};

}  // namespace portops::test
