// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/products.hpp"
#include "support/support.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

// Products in f64 or better, and how near to them a result must be.

namespace portops::test {

/// Sums, the magnitudes that were added up, and how many.
struct ReferenceProduct {
  std::vector<long double> value;
  std::vector<double> magnitude;
  std::vector<std::int64_t> terms;

  explicit ReferenceProduct(const Extents& extents)
      : value(static_cast<std::size_t>(extents.product())), magnitude(value.size()), terms(value.size()) {}

  void add(std::int64_t index, double x, double y) {
    const auto i = static_cast<std::size_t>(index);
    value[i] += static_cast<long double>(x) * y;
    magnitude[i] += std::abs(x * y);
    ++terms[i];
  }
};

/// The error that the operators promise of products, relative to the magnitudes summed.
enum class Bound : std::uint8_t {
  tree,  ///< of products in trees: portops' own on hosts, and those where an extent of the matrices is 1
  chain  ///< of any others, which may add up one term after the other
};

template <class T>
double error_bound(Bound bound, std::int64_t terms) {
  constexpr bool is_wide = std::is_same_v<T, double>;
  const double of_chain = 3.0 * static_cast<double>(terms) * (is_wide ? 0x1p-53 : 0x1p-24);
  return bound == Bound::tree ? (is_wide ? 1e-12 : 2e-6) : of_chain;
}

/// What products of operands that are rounded to tf32 may be off besides: 2^-11 for each of the two.
template <class T>
double rounding_of_operands(const Context& ctx) {
  return may_round_operands<T>(ctx) ? 0x1p-10 : 0.0;
}

/// That a result is as near to the reference as is promised; of_operands is relative to the magnitudes too.
template <class T>
void expect_near(TestTensor<T>& result, const ReferenceProduct& expected, Bound bound, const std::string& what,
                 double of_operands = 0.0) {
  result.download();
  const double last = sizeof(T) == 2 ? 1.01 * rounding<T>() : 0.0;
  const std::int64_t size = result.size();
  for (std::int64_t i = 0; i < size; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const auto value = static_cast<double>(expected.value[k]);
    const double of_sum = error_bound<T>(bound, expected.terms[k]) + of_operands;
    const double tolerance =
        of_sum * expected.magnitude[k] + last * std::abs(value) + (std::is_same_v<T, f16> ? 0x1p-25 : 0.0);
    if (std::abs(result[i] - value) <= tolerance) continue;
    ADD_FAILURE() << what << "[" << i << "] is " << result[i] << ", expected " << value << " within " << tolerance;
    return;
  }
}

}  // namespace portops::test
