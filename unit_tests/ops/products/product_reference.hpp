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

/// That a result is as near to the reference as is promised.
template <class T>
void expect_near(TestTensor<T>& result, const ReferenceProduct& expected, Bound bound, const std::string& what) {
  result.download();
  const double last = sizeof(T) == 2 ? 1.01 * rounding<T>() : 0.0;
  const std::int64_t size = result.size();
  for (std::int64_t i = 0; i < size; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const auto value = static_cast<double>(expected.value[k]);
    const double tolerance = error_bound<T>(bound, expected.terms[k]) * expected.magnitude[k] + last * std::abs(value) +
                             (std::is_same_v<T, f16> ? 0x1p-25 : 0.0);
    if (std::abs(result[i] - value) <= tolerance) continue;
    ADD_FAILURE() << what << "[" << i << "] is " << result[i] << ", expected " << value << " within " << tolerance;
    return;
  }
}

/// The contexts whose products go different ways: the context itself, in deterministic mode, portops' own products,
/// and those of Kokkos Kernels.
inline std::vector<Context> contexts_of_products(const Context& ctx) {
  std::vector<Context> all{ctx, Context(ctx).deterministic(true), Context(ctx).products(Products::own)};
  if (has_kokkos_kernels) all.push_back(with_kokkos_kernels(ctx));
  return all;
}

template <class T>
bool has_products_of(const Context& ctx) {
  return sizeof(T) > 2 || ctx.products() != Products::kokkos_kernels;
}

inline std::string describe(const Context& ctx) {
  return "products " + std::string(name_of(ctx.products())) + (ctx.deterministic() ? ", deterministic" : "");
}

}  // namespace portops::test
