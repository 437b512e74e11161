// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sums_support.hpp"

#include <limits>

// sum and mean of the least and the largest numbers, of Inf and NaN.

namespace portops::test {
namespace {

class SumsEdgesTest : public OnSums {};

PORTOPS_ON_EVERY_BACKEND(SumsEdgesTest);

// Multiples of the least number, of which sums are exact until they are rounded to the type.
TEST_P(SumsEdgesTest, keep_subnormal_numbers) {
  for_each_type([&]<class T>() {
    for (const auto& [extents, axes] : all_ways()) {
      SCOPED_TRACE(extents.to_string());
      const SumTerms terms(extents, axes, false);
      TestTensor<T> x(ctx, extents), out(ctx, terms.out), x_grad(ctx, extents);
      x.fill([](std::int64_t i) { return static_cast<double>(i * 37 % 11 - 4) * least<T>; });
      const ReferenceSums sums = expected(x, terms, false);
      const auto sum_of = [&](std::int64_t i) { return sums.value[static_cast<std::size_t>(i)]; };
      sum(ctx, x, out, {axes});
      expect_exact(out, sum_of, "sum");
      mean(ctx, x, out, {axes});
      out.download();
      // bf16 is rounded twice, the first time to a multiple of what is 2^-16 of its least number.
      for (std::int64_t i = 0; i < out.size(); ++i) {
        ASSERT_LE(std::abs(out[i] - sum_of(i) / terms.count), (0.5L + 0x1p-17L) * least<T>) << i;
      }
      out.fill([](std::int64_t i) { return static_cast<double>(i * 37 % 101 - 40) * least<T>; });
      check_gradients(terms, out, x_grad, axes);
    }
  });
}

// Four terms that are not 0.
TEST_P(SumsEdgesTest, reach_the_largest_number_and_are_infinite_beyond) {
  for_each_type([&]<class T>() {
    for (const auto& [extents, axes] : all_ways()) {
      SCOPED_TRACE(extents.to_string());
      const SumTerms terms(extents, axes, false);
      TestTensor<T> x(ctx, extents), out(ctx, terms.out);
      const std::int64_t n = terms.count;
      for (const double sign : {1.0, -1.0}) {
        const auto fill = [&](double value) {
          fill_terms(x, terms, [&](std::int64_t, std::int64_t k) {
            return k == 0 || k == n / 3 || k == n / 2 || k == n - 1 ? sign * value : 0.0;
          });
        };
        fill(largest<T> / 4);
        sum(ctx, x, out, {axes});
        expect_exact(out, [&](std::int64_t) { return sign * largest<T>; }, "sum");
        mean(ctx, x, out, {axes});
        expect_near(out, expected(x, terms, true), "mean");
        fill(largest<T> / 2);
        sum(ctx, x, out, {axes});
        expect_exact(out, [&](std::int64_t) { return sign * std::numeric_limits<double>::infinity(); }, "sum");
      }
    }
  });
}

TEST_P(SumsEdgesTest, a_mean_exists_where_the_sum_is_too_large_for_the_type) {
  for (const auto& [extents, axes] : all_ways()) {
    SCOPED_TRACE(extents.to_string());
    TestTensor<f16> x(ctx, extents), out(ctx, SumTerms(extents, axes, false).out);
    x.fill([](std::int64_t) { return 60000.0; });
    sum(ctx, x, out, {axes});
    expect_exact(out, [](std::int64_t) { return std::numeric_limits<double>::infinity(); }, "sum");
    mean(ctx, x, out, {axes});
    expect_exact(out, [](std::int64_t) { return 60000.0; }, "mean");
  }
}

// 65519.96 is nearer to the largest f16, 65504, than to the 65536 that would be next, and 65520 is not.
TEST_P(SumsEdgesTest, are_infinite_from_where_f16_rounds_up) {
  TestTensor<f16> x(ctx, {2, 2}), out(ctx, {2});
  x.fill([](std::int64_t i) { return i % 2 == 0 ? 65504.0 : i == 1 ? 15.96 : 16.0; });
  sum(ctx, x, out, {{1}});
  out.download();
  EXPECT_EQ(out[0], 65504.0);
  EXPECT_EQ(out[1], std::numeric_limits<double>::infinity());
}

// An Inf, Inf and −Inf, a NaN, twice −Inf, and none of them: in turns, where there are fewer results than that.
TEST_P(SumsEdgesTest, follow_the_formula_for_nan_and_inf) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for_each_type([&]<class T>() {
    for (const auto& [extents, axes] : all_ways()) {
      SCOPED_TRACE(extents.to_string());
      const SumTerms terms(extents, axes, false);
      TestTensor<T> x(ctx, extents), out(ctx, terms.out), x_grad(ctx, extents);
      for (std::int64_t turn = 0; turn < (out.size() < 5 ? 5 : 1); ++turn) {
        const auto kind = [&](std::int64_t result) { return (result + turn) % 5; };
        fill_terms(x, terms, [&](std::int64_t result, std::int64_t k) {
          const bool is_early = k == terms.count / 3, is_last = k == terms.count - 1;
          const double plain = static_cast<double>(k % 3) - 1.0;
          switch (kind(result)) {
            case 0: return is_early ? inf : plain;
            case 1: return is_early ? inf : is_last ? -inf : plain;
            case 2: return is_early ? nan : plain;
            case 3: return is_early || is_last ? -inf : plain;
            default: return plain;
          }
        });
        for (const bool is_mean : {false, true}) {
          is_mean ? mean(ctx, x, out, {axes}) : sum(ctx, x, out, {axes});
          out.download();
          for (std::int64_t i = 0; i < out.size(); ++i) {
            const double values[] = {inf, nan, nan, -inf};
            if (kind(i) == 4) {
              ASSERT_TRUE(std::isfinite(out[i])) << i;
            } else {
              ASSERT_TRUE(same_bits(out[i], values[kind(i)])) << i << " is " << out[i];
            }
          }
        }
        check_gradients(terms, out, x_grad, axes);
      }
    }
  });
}

}  // namespace
}  // namespace portops::test
