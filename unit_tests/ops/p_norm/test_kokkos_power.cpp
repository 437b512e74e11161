// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/p_norm/power.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

// x^p without a mathematical library, on the host, and the rough one of GPUs where there is one.

namespace portops::test {
namespace {

template <class A>
class PowerTest : public testing::Test {
 protected:
  static constexpr A infinity = std::numeric_limits<A>::infinity();
  static constexpr A nan = std::numeric_limits<A>::quiet_NaN();

  /// That x^p is right within a few units in the last place, and the error of log2 x times p.
  static void expect_power(long double p, A x) {
    const long double expected = std::pow(static_cast<long double>(x), p);
    const A found = impl::Power<A>(p)(x);
    if (expected > std::numeric_limits<A>::max()) {
      ASSERT_EQ(found, infinity) << x << "^" << p;
    } else if (expected < std::numeric_limits<A>::min()) {
      ASSERT_LE(found, std::numeric_limits<A>::min()) << x << "^" << p;
    } else {
      const long double tolerance = (4 + std::abs(p)) * std::numeric_limits<A>::epsilon();
      ASSERT_NEAR(found / expected, 1.0L, tolerance) << x << "^" << p;
    }
  }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(PowerTest, Types);

TYPED_TEST(PowerTest, is_right_over_the_whole_range) {
  std::mt19937 engine(1);
  const double most = std::numeric_limits<TypeParam>::max_exponent - 2;
  std::uniform_real_distribution<double> exponent(-most, most), near_one(0.5, 2.0);
  for (const long double p : {0.1L, 0.5L, 1.0L, 1.3L, 2.3L, 7.7L, 20.0L, -0.7L, -1.0L, -3.1L}) {
    for (int i = 0; i < 2000; ++i) {
      this->expect_power(p, static_cast<TypeParam>(std::exp2(exponent(engine))));
      this->expect_power(p, static_cast<TypeParam>(near_one(engine)));
    }
    this->expect_power(p, TypeParam(1));
    this->expect_power(p, std::numeric_limits<TypeParam>::denorm_min());
    this->expect_power(p, std::numeric_limits<TypeParam>::min());
    this->expect_power(p, std::numeric_limits<TypeParam>::max());
  }
}

TYPED_TEST(PowerTest, has_the_limits_of_pow_at_0_and_infinity) {
  for (const long double p : {1e-300L, 0.3L, 2.0L, 1e30L, 1e3000L}) {
    EXPECT_EQ(impl::Power<TypeParam>(p)(TypeParam(0)), TypeParam(0)) << p;
    EXPECT_EQ(impl::Power<TypeParam>(p)(this->infinity), this->infinity) << p;
    EXPECT_EQ(impl::Power<TypeParam>(-p)(TypeParam(0)), this->infinity) << p;
    EXPECT_EQ(impl::Power<TypeParam>(-p)(this->infinity), TypeParam(0)) << p;
    EXPECT_EQ(impl::Power<TypeParam>(p)(TypeParam(1)), TypeParam(1)) << p;
    EXPECT_TRUE(std::isnan(impl::Power<TypeParam>(p)(this->nan))) << p;
    EXPECT_TRUE(std::isnan(impl::Power<TypeParam>(-p)(this->nan))) << p;
  }
}

TYPED_TEST(PowerTest, of_a_huge_order_is_0_or_infinite) {
  for (const long double p : {1e30L, 1e40L, 1e400L}) {
    EXPECT_EQ(impl::Power<TypeParam>(p)(TypeParam(2)), this->infinity);
    EXPECT_EQ(impl::Power<TypeParam>(p)(TypeParam(0.5)), TypeParam(0));
    EXPECT_EQ(impl::Power<TypeParam>(-p)(TypeParam(2)), TypeParam(0));
    EXPECT_EQ(impl::Power<TypeParam>(-p)(TypeParam(0.5)), this->infinity);
    EXPECT_EQ(impl::Power<TypeParam>(p)(std::numeric_limits<TypeParam>::max()), this->infinity);
  }
}

TYPED_TEST(PowerTest, knows_exponents_and_powers_of_two) {
  using Limits = std::numeric_limits<TypeParam>;
  for (int e = Limits::min_exponent - 1; e < Limits::max_exponent; ++e) {
    EXPECT_EQ(impl::power_of_two<TypeParam>(e), std::ldexp(TypeParam(1), e));
    EXPECT_EQ(impl::exponent_of(std::ldexp(TypeParam(-1.9), e)), e);
  }
  EXPECT_EQ(impl::power_of_two<TypeParam>(-5000), Limits::min());
  EXPECT_EQ(impl::exponent_of(TypeParam(0)), Limits::min_exponent - 2);
  EXPECT_EQ(impl::exponent_of(Limits::denorm_min()), Limits::min_exponent - 2);
  EXPECT_EQ(impl::exponent_of(Limits::infinity()), Limits::max_exponent);
}

/// weight · (x / n)^p, wherever the result is a number.
TYPED_TEST(PowerTest, of_a_quotient_is_right_over_the_whole_range) {
  using Limits = std::numeric_limits<TypeParam>;
  std::mt19937 engine(1);
  std::uniform_int_distribution<int> exponent(Limits::min_exponent - Limits::digits, Limits::max_exponent - 1);
  std::uniform_real_distribution<double> mantissa(1.0, 1.99);
  const auto number = [&] { return std::ldexp(static_cast<TypeParam>(mantissa(engine)), exponent(engine)); };
  int checked = 0;
  for (const long double p : {0.1L, 0.5L, 1.3L, 6.0L, -0.3L, -1.0L, -4.0L}) {
    for (int i = 0; i < 3000; ++i) {
      const TypeParam x = number(), n = number(), weight = i % 2 == 0 ? number() : -number();
      const long double expected = std::pow(static_cast<long double>(x) / n, p) * weight;
      if (std::abs(expected) > Limits::max() || std::abs(expected) < Limits::min()) continue;
      const TypeParam found = impl::Power<TypeParam>(p)(x, impl::PowerOfQuotient<TypeParam>(n, weight));
      const long double tolerance = (6 + 3 * std::abs(p)) * Limits::epsilon();
      ASSERT_NEAR(found / expected, 1.0L, tolerance) << weight << " * (" << x << " / " << n << ")^" << p;
      ++checked;
    }
  }
  EXPECT_GT(checked, 3000);
}

/// What is computed for many numbers at once, and nothing but these, without the special cases.
TYPED_TEST(PowerTest, is_quick_and_the_same_where_there_is_no_doubt) {
  using Limits = std::numeric_limits<TypeParam>;
  using Power = impl::Power<TypeParam>;
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> exponent(-30, 30), any(Limits::min_exponent, Limits::max_exponent);
  int doubts = 0;
  for (const long double p : {0.3L, 0.7L, 1.7L, 4.5L, -0.4L, -2.1L}) {
    const Power power(p);
    for (int i = 0; i < 3000; ++i) {
      const auto x = static_cast<TypeParam>(std::exp2(i % 3 == 0 ? any(engine) : exponent(engine)));
      const auto n = static_cast<TypeParam>(std::exp2(i % 5 == 0 ? any(engine) : exponent(engine)));
      const impl::PowerOfQuotient<TypeParam> of(n, TypeParam(-1.3));
      typename Power::Doubt doubt = 0, doubt_of_quotient = 0;
      const TypeParam plain = power.quickly(x, doubt), weighted = power.quickly(x, of, doubt_of_quotient);
      if (!Power::is_doubtful(doubt)) {
        ASSERT_EQ(plain, power(x));
      }
      if (!Power::is_doubtful(doubt_of_quotient)) {
        ASSERT_EQ(weighted, power(x, of));
      }
      doubts += Power::is_doubtful(doubt) || Power::is_doubtful(doubt_of_quotient) ? 1 : 0;
      if (i % 15 != 0 && i % 3 != 0 && i % 5 != 0 && std::abs(p) < 2) {
        ASSERT_FALSE(Power::is_doubtful(doubt)) << x << "^" << p;
      }
    }
    typename Power::Doubt none = 0;
    EXPECT_EQ(power.quickly(TypeParam(0), none), p > 0 ? TypeParam(0) : this->infinity);
    EXPECT_EQ(power.quickly(TypeParam(0), {TypeParam(3), TypeParam(2)}, none), TypeParam(0));
    EXPECT_EQ(power.quickly(TypeParam(1), none), TypeParam(1));
    EXPECT_EQ(power.quickly(TypeParam(5), impl::PowerOfQuotient<TypeParam>::zero(), none), TypeParam(0));
    EXPECT_FALSE(Power::is_doubtful(none));
    const TypeParam doubtful[] = {this->infinity, this->nan, -this->nan, Limits::denorm_min(), Limits::min() / 2};
    for (const TypeParam x : doubtful) {
      typename Power::Doubt doubt = 0, doubt_of_quotient = 0;
      power.quickly(x, doubt);
      power.quickly(x, {TypeParam(3), TypeParam(2)}, doubt_of_quotient);
      EXPECT_TRUE(Power::is_doubtful(doubt)) << x << "^" << p;
      EXPECT_TRUE(Power::is_doubtful(doubt_of_quotient)) << x << "^" << p;
    }
  }
  EXPECT_GT(doubts, 0);
}

/// x^p as the backend that is the default one computes it.
template <class A>
std::vector<A> powers_on_device(long double p, const std::vector<A>& x) {
  using Host = Kokkos::View<const A*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::View<A*> values(Kokkos::view_alloc(Kokkos::WithoutInitializing, "values"), x.size());
  Kokkos::deep_copy(values, Host(x.data(), x.size()));
  const impl::Power<A> power(p);
  A* const data = values.data();
  Kokkos::parallel_for("powers", static_cast<int>(x.size()), KOKKOS_LAMBDA(int i) { data[i] = power(data[i]); });
  std::vector<A> results(x.size());
  Kokkos::deep_copy(Kokkos::View<A*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(results.data(), x.size()), values);
  return results;
}

TYPED_TEST(PowerTest, is_within_2e_6_on_the_default_backend) {
  using Limits = std::numeric_limits<TypeParam>;
  std::vector<TypeParam> x{TypeParam(0),  Limits::denorm_min(), 37 * Limits::denorm_min(), Limits::min() / 2,
                           Limits::min(), TypeParam(1),         1 + Limits::epsilon(),     1 - Limits::epsilon() / 2,
                           Limits::max(), Limits::infinity(),   TypeParam(0.70710678),     TypeParam(1.41421356)};
  constexpr long double tolerance = sizeof(TypeParam) == 4 ? 2e-6L : 1e-14L;
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> exponent(-Limits::max_exponent + 2, Limits::max_exponent - 2), near(-30, 30);
  for (int i = 0; i < 4000; ++i)
    x.push_back(static_cast<TypeParam>(std::exp2(i % 2 == 0 ? exponent(engine) : near(engine))));
  for (const long double magnitude : {0.01L, 0.1L, 0.189L, 0.2L, 0.5L, 1.3L, 2.3L, 5.99L, 6.01L, 12.0L}) {
    for (const long double p : {magnitude, -magnitude}) {
      const std::vector<TypeParam> found = powers_on_device(p, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const long double expected = std::pow(static_cast<long double>(x[i]), p);
        if (expected > Limits::max()) {
          ASSERT_EQ(found[i], Limits::infinity()) << x[i] << "^" << p;
        } else if (expected < Limits::min()) {
          ASSERT_LE(found[i], Limits::min()) << x[i] << "^" << p;
        } else {
          ASSERT_NEAR(found[i] / expected, 1.0L, tolerance) << x[i] << "^" << p;
        }
      }
      EXPECT_TRUE(std::isnan(powers_on_device(p, std::vector<TypeParam>{Limits::quiet_NaN()})[0])) << p;
    }
  }
}

}  // namespace
}  // namespace portops::test
