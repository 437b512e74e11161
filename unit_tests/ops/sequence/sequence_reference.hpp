// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/support.hpp"

#include <portops/core/levels.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

// What the tests of the operators on ragged tensors share: ways to divide rows into sequences, and tensors with a
// plain copy in double.

namespace portops::test {

using Offsets = std::vector<std::int64_t>;

/// Sequences without rows at the beginning, in the middle, at the end, several in a row, all of them, and none at all.
inline const std::vector<Offsets> some_lengths{{3, 1, 4, 2},
                                               {0, 3, 2},
                                               {2, 0, 3},
                                               {2, 3, 0},
                                               {0, 0, 5, 0, 0, 0, 1, 7, 0, 0},
                                               {0, 0, 0},
                                               {0},
                                               {1},
                                               {},
                                               {6},
                                               {1, 1, 1, 1},
                                               {17, 0, 300},
                                               {64, 65, 63, 0, 1}};

inline Levels levels_of(const Offsets& lengths) { return Levels::from_lengths(lengths); }

/// The columns of a tensor whose axis 0 (or 0 and 1) is rows.
inline std::int64_t columns_of(const Extents& extents, int row_axes = 1) {
  std::int64_t columns = 1;
  for (int axis = row_axes; axis < extents.rank(); ++axis) columns *= extents[axis];
  return columns;
}

inline Extents extents_of(std::int64_t rows, const std::vector<std::int64_t>& columns) {
  std::vector<std::int64_t> all{rows};
  all.insert(all.end(), columns.begin(), columns.end());
  return Extents(std::span<const std::int64_t>(all));
}

/// The elements in double, row by row.
template <class T>
std::vector<double> values_in(TestTensor<T>& tensor) {
  tensor.download();
  std::vector<double> values(static_cast<std::size_t>(tensor.extents().product()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(tensor.element(static_cast<std::int64_t>(i)));
  return values;
}

/// That elements are as expected, within `tolerance` roundings of T relative to `scale`, at least the element's own
/// size.
template <class T>
void expect_near(TestTensor<T>& found, const std::vector<double>& expected, const std::vector<double>& scale,
                 double f32_error = 2e-6) {
  const std::vector<double> values = values_in(found);
  ASSERT_EQ(values.size(), expected.size());
  // Half types: one rounding of the f32 result.
  const double sum_error = std::is_same_v<T, double> ? 1e-12 : f32_error;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(values[i])) << "element " << i << ": " << values[i];
      continue;
    }
    if (std::isinf(expected[i])) {
      EXPECT_EQ(values[i], expected[i]) << "element " << i;
      continue;
    }
    const double error =
        sum_error * scale[i] + 1.01 * rounding<T>() * std::abs(expected[i]) + (std::is_same_v<T, f16> ? 0x1p-24 : 0.0);
    ASSERT_NEAR(values[i], expected[i], error) << "element " << i << " of " << values.size();
  }
}

/// That elements are exactly as expected.
template <class T>
void expect_equal(TestTensor<T>& found, const std::vector<double>& expected) {
  const std::vector<double> values = values_in(found);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(values[i])) << "element " << i << ": " << values[i];
    } else {
      ASSERT_EQ(values[i], expected[i]) << "element " << i << " of " << values.size();
    }
  }
}

/// Central differences of loss(x), a number, at each element of x.
inline std::vector<double> differences(std::vector<double> x,
                                       const std::function<double(const std::vector<double>&)>& loss) {
  constexpr double step = 1e-5;
  std::vector<double> result;
  for (double& element : x) {
    const double at = element;
    element = at + step;
    const double above = loss(x);
    element = at - step;
    const double below = loss(x);
    element = at;
    result.push_back((above - below) / (2.0 * step));
  }
  return result;
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace portops::test
