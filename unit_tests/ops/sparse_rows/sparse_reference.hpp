// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/reference_sums.hpp"

#include <cmath>
#include <map>
#include <random>

// Sparse rows, merged plainly, and places to try them with.

namespace portops::test {

using Places = std::vector<std::int64_t>;

/// So many places in a table, any of them more than once.
inline Places random_places(std::int64_t n, std::int64_t height, unsigned seed = 1) {
  std::mt19937_64 engine(seed);
  std::uniform_int_distribution<std::int64_t> distribution(0, height - 1);
  Places places(static_cast<std::size_t>(n));
  for (std::int64_t& place : places) place = distribution(engine);
  return places;
}

/// A few places have most rows.
inline Places uneven_places(std::int64_t n, std::int64_t height, unsigned seed = 1) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> distribution(0.0, std::log(static_cast<double>(height) + 1.0));
  Places places(static_cast<std::size_t>(n));
  for (std::int64_t& place : places) {
    place = std::min(height - 1, static_cast<std::int64_t>(std::exp(distribution(engine))) - 1);
  }
  return places;
}

/// As a tensor in the backend's memory.
inline TestTensor<std::int64_t> index_tensor(const Context& ctx, const Places& places,
                                             Layout layout = Layout::contiguous) {
  TestTensor<std::int64_t> tensor(ctx, {static_cast<std::int64_t>(places.size())}, layout);
  tensor.fill([&](std::int64_t i) { return static_cast<double>(places[static_cast<std::size_t>(i)]); });
  return tensor;
}

/// The sums of the rows of each place, in float64, and the magnitudes that were summed: [place][column].
struct MergedReference {
  struct Row {
    std::vector<double> value;
    std::vector<double> magnitude;
  };
  std::map<std::int64_t, Row> rows;

  template <class T>
  MergedReference(const Places& places, const TestTensor<T>& values) {
    const auto n = static_cast<std::int64_t>(places.size());
    const std::int64_t columns = n == 0 ? 0 : values.extents().product() / n;
    for (std::int64_t i = 0; i < n; ++i) {
      Row& row = rows[places[static_cast<std::size_t>(i)]];
      row.value.resize(static_cast<std::size_t>(columns));
      row.magnitude.resize(static_cast<std::size_t>(columns));
      for (std::int64_t c = 0; c < columns; ++c) {
        const double value = values[i * columns + c];
        row.value[static_cast<std::size_t>(c)] += value;
        row.magnitude[static_cast<std::size_t>(c)] += std::abs(value);
      }
    }
  }
};

/// That a number is as near to the reference as the design promises.
template <class T>
void expect_close(double found, double expected, double magnitude, const std::string& what) {
  const double summing = std::is_same_v<T, double> ? 1e-12 : 2e-6;
  const double last = sizeof(T) == 2 ? 1.01 * rounding<T>() : 0.0;
  const double tolerance = summing * magnitude + last * std::abs(expected) + (std::is_same_v<T, f16> ? 0x1p-24 : 0.0);
  ASSERT_LE(std::abs(found - expected), tolerance) << what << " is " << found << ", expected " << expected;
}

}  // namespace portops::test
