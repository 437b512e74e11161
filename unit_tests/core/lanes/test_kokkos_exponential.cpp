// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/lanes/exponential.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace portops::test {
namespace {

/// The largest error, in units of the last place of the exact result or, of a subnormal one, of the least number.
template <class A>
double largest_error(A from, A to, int steps) {
  using Limits = std::numeric_limits<A>;
  double largest = 0.0;
  for (int i = 0; i <= steps; ++i) {
    const A x = from + (to - from) * (static_cast<A>(i) / static_cast<A>(steps));
    const long double exact = std::exp(static_cast<long double>(x));
    int exponent = 0;
    std::frexp(exact, &exponent);
    const long double unit = std::ldexp(1.0L, std::max(exponent, Limits::min_exponent) - Limits::digits);
    const auto error = static_cast<double>(std::abs(impl::exponential_by_polynomial(x) - exact) / unit);
    largest = std::max(largest, error);
  }
  return largest;
}

template <class A>
void check_ends(A least, A most) {
  constexpr A infinity = std::numeric_limits<A>::infinity();
  const auto f = [](A x) { return impl::exponential_by_polynomial(x); };
  EXPECT_EQ(f(A(0)), A(1));
  EXPECT_EQ(f(A(-0.0)), A(1));
  EXPECT_EQ(f(-infinity), A(0));
  EXPECT_EQ(f(-std::numeric_limits<A>::max()), A(0));
  EXPECT_EQ(f(least), A(0));
  EXPECT_EQ(f(infinity), infinity);
  EXPECT_EQ(f(std::numeric_limits<A>::max()), infinity);
  EXPECT_EQ(f(most), infinity);
  EXPECT_TRUE(std::isnan(f(std::numeric_limits<A>::quiet_NaN())));
}

TEST(ExponentialTest, is_within_one_unit_and_a_half_of_the_exact_result) {
  EXPECT_LT(largest_error(-110.0f, 88.72f, 2000003), 1.5);
  EXPECT_LT(largest_error(-1.0f, 1.0f, 1000003), 1.5);
  EXPECT_LT(largest_error(-750.0, 709.78, 2000003), 1.5);
  EXPECT_LT(largest_error(-1.0, 1.0, 1000003), 1.5);
}

TEST(ExponentialTest, ends_in_zero_infinity_and_nan) {
  check_ends(-104.0f, 88.73f);
  check_ends(-745.2, 709.79);
}

}  // namespace
}  // namespace portops::test
