// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "p_norm_reference.hpp"

// Numbers at the ends of what a type can hold, NaN, Inf and zeros, and vectors without elements.

namespace portops::test {
namespace {

/// Orders for long vectors.
const std::vector<double> few_orders{0.5, 1.0, 2.0, 2.3, 3.0, 10.0, -1.0, inf, -inf};

class PNormEdgesTest : public OnEveryBackend {
 protected:
  /// All orders over short vectors and a few over long ones, of the elements that `value(vectors, i)` gives.
  template <class T, class Value>
  void check(const Value& value) {
    for (const auto* all : {&short_vectors, &long_vectors}) {
      for (const Vectors& vectors : *all) {
        TestTensor<T> x(ctx, vectors.extents);
        x.fill([&](std::int64_t i) { return value(vectors, i); });
        check_norms(ctx, x, vectors.params(), all == &long_vectors ? few_orders : all_orders);
      }
    }
  }

  /// The same, of vectors of one number but for one element, at each of three places in the first of them.
  template <class T>
  void check_with_one(double usual, double special, const std::vector<double>& orders) {
    for (const auto* all : {&short_vectors, &long_vectors}) {
      for (const Vectors& vectors : *all) {
        for (const std::int64_t place : {std::int64_t{0}, vectors.length() / 2, vectors.length() - 1}) {
          TestTensor<T> x(ctx, vectors.extents);
          x.fill([&](std::int64_t i) { return i == vectors.at(0, place) ? special : usual * scattered(i); });
          check_norms(ctx, x, vectors.params(), orders);
        }
      }
    }
  }

  /// The norm of one vector.
  template <class T>
  double norm(const std::vector<double>& values, double p) {
    TestTensor<T> x(ctx, {static_cast<std::int64_t>(values.size())}), out(ctx, {});
    x.fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    p_norm(ctx, x, out, {.porder = p});
    out.download();
    return out[0];
  }
};

PORTOPS_ON_EVERY_BACKEND(PNormEdgesTest);

TEST_P(PNormEdgesTest, huge_and_tiny_elements_give_what_the_type_can_hold) {
  for_each_type([&]<class T>() {
    for (const double magnitude : extreme_magnitudes<T>()) {
      check<T>([&](const Vectors&, std::int64_t i) { return magnitude * scattered(i); });
    }
  });
}

TEST_P(PNormEdgesTest, huge_and_tiny_elements_in_one_vector) {
  for_each_type([&]<class T>() {
    const double most = std::is_same_v<T, double> ? 300.0 : std::is_same_v<T, f16> ? 4.7 : 38.0;
    const double least = std::is_same_v<T, f16> ? -7.0 : -most;
    check<T>([&](const Vectors&, std::int64_t i) {
      return scattered(i) * std::pow(10.0, least + (most - least) * static_cast<double>(i * 29 % 64) / 63.0);
    });
  });
}

TEST_P(PNormEdgesTest, an_element_that_dominates_is_found_wherever_it_is) {
  for_each_type([&]<class T>() {
    const double huge = std::is_same_v<T, double> ? 1e200 : std::is_same_v<T, f16> ? 6e4 : 1e30;
    const double tiny = std::is_same_v<T, double> ? 1e-200 : std::is_same_v<T, f16> ? 1e-7 : 1e-30;
    check_with_one<T>(1.0, huge, {2.0, 2.3, 3.0, 10.0, inf});
    check_with_one<T>(1.0, tiny, {-1.0, -2.0, -0.7, -inf});
    check_with_one<T>(0.0, tiny, {1.0, 2.0, 2.3, 3.0, inf});
    check_with_one<T>(tiny, 1.0, {1.0, 2.0, 2.3, 3.0});
    check_with_one<T>(huge, 1.0, {-1.0, -2.0, -0.7});
  });
}

TEST_P(PNormEdgesTest, plain_sums_that_would_fail_do_not) {
  EXPECT_NEAR(norm<float>({3e30, -4e30}, 2.0), 5e30, 1e25);
  EXPECT_NEAR(norm<float>({3e-30, -4e-30}, 2.0), 5e-30, 1e-35);
  EXPECT_NEAR(norm<float>({1e38, 1e38, 1e38}, 2.0), std::sqrt(3.0) * 1e38, 1e33);
  EXPECT_NEAR(norm<float>({2e-22, 2e-22}, 2.0), std::sqrt(8.0) * 1e-22, 1e-27);
  EXPECT_NEAR(norm<float>({2e30, 2e30}, -1.0), 1e30, 1e25);
  EXPECT_NEAR(norm<double>({3e200, -4e200}, 2.0), 5e200, 1e188);
  EXPECT_NEAR(norm<double>({3e-200, -4e-200}, 2.0), 5e-200, 1e-212);
  EXPECT_EQ(norm<f16>({4e4, 4e4}, 2.0), 56576.0);
  EXPECT_EQ(norm<f16>({6e4}, 3.0), 6e4);
  EXPECT_EQ(norm<f16>({6e4}, 8.0), 6e4);
  EXPECT_EQ(norm<f16>({0x1p-24, 0.0}, 10.0), 0x1p-24);
}

TEST_P(PNormEdgesTest, results_that_the_type_cannot_hold_are_infinite) {
  EXPECT_EQ(norm<double>({1.7e308, 1.7e308}, 1.0), inf);
  EXPECT_EQ(norm<float>({3e38, -3e38}, 1.0), inf);
  EXPECT_EQ(norm<float>({3e38, -3e38}, 2.0), inf);
  EXPECT_EQ(norm<f16>({6e4, 6e4}, 1.0), inf);
  EXPECT_EQ(norm<f16>({6e4, 6e4}, 2.0), inf);
  EXPECT_EQ(norm<bf16>({3e38, 3e38}, 1.0), inf);
  EXPECT_EQ(norm<float>({-3e38, 3e38}, inf), static_cast<double>(3e38f));
}

TEST_P(PNormEdgesTest, nan_and_infinite_elements_count_wherever_they_are) {
  for_each_type([&]<class T>() {
    for (const double special : {nan, inf, -inf}) {
      for (const Vectors& vectors : {Vectors{{2, 37}, 1}, Vectors{{37, 2}, 0}}) {
        for (std::int64_t place = 0; place < 37; place += 6) {
          TestTensor<T> x(ctx, vectors.extents);
          x.fill([&](std::int64_t i) { return i == vectors.at(1, place) ? special : scattered(i); });
          check_norms(ctx, x, vectors.params(), all_orders);
        }
      }
      check_with_one<T>(1.0, special, {0.0, 1.0, 2.0, 2.3, -1.0, inf, -inf});
    }
  });
}

TEST_P(PNormEdgesTest, nan_wins_over_everything_else) {
  for_each_type([&]<class T>() {
    for (const double p : all_orders) {
      if (p == 0.0) continue;
      for (const double other : {inf, -inf, 0.0}) {
        EXPECT_TRUE(std::isnan(norm<T>({1.0, nan, other, 2.0}, p))) << "p = " << p << ", with " << other;
        EXPECT_TRUE(std::isnan(norm<T>({other, 1.0, 2.0, -nan}, p))) << "p = " << p << ", with " << other;
      }
    }
    EXPECT_EQ(norm<T>({1.0, nan, 0.0, inf}, 0.0), 3.0);
  });
}

TEST_P(PNormEdgesTest, infinite_elements_alone_give_inf_for_every_order_but_0) {
  for_each_type([&]<class T>() {
    for (const double p : all_orders) EXPECT_EQ(norm<T>({inf, -inf, inf}, p), p == 0.0 ? 3.0 : inf) << "p = " << p;
  });
}

TEST_P(PNormEdgesTest, of_one_element_is_its_magnitude) {
  for_each_type([&]<class T>() {
    for (const double p : {1e-300, 1e-17, -1e-17, 0.01, -0.3, 0.7, 1.0, 1.5, 2.0, 7.3, 1e5, -1e300, inf, -inf}) {
      for (const double x : {-2.0, 0.3, 1e-7, 6e4, 0.0, inf}) {
        EXPECT_EQ(norm<T>({x}, p), static_cast<double>(static_cast<T>(std::abs(x)))) << "p = " << p;
      }
      EXPECT_TRUE(std::isnan(norm<T>({nan}, p))) << "p = " << p;
      TestTensor<T> x(ctx, {7, 1, 5}), out(ctx, {7, 5});
      x.fill_randomly(1);
      p_norm(ctx, x, out, {.porder = p, .axis = {1}});
      out.download();
      for (std::int64_t i = 0; i < 35; ++i) EXPECT_EQ(out[i], std::abs(x[i])) << "p = " << p;
    }
    EXPECT_EQ(norm<T>({-2.0}, 0.0), 1.0);
  });
}

/// What the page says of orders near 0, whose root multiplies the error of the sum.
TEST_P(PNormEdgesTest, of_small_orders_is_as_near_as_the_page_says) {
  for_each_type([&]<class T>() {
    if (std::is_same_v<T, f16>) return;  // most of these norms are too large or too small
    for (const double p : {0.5, 0.1, 0.05, 0.02, -0.02, -0.05, -0.1, -0.5}) {
      const Extents extents{300, 3};
      const PNormParams params{.porder = p, .axis = {1}};
      TestTensor<T> x(ctx, extents), out(ctx, {300});
      x.fill([](std::int64_t i) { return 30.0 * scattered(i * i); });
      p_norm(ctx, x, out, params);
      const double times = std::max(1.0, 1.0 / std::abs(p));
      expect_elements(out, reference_norms(values_of(x), Reduction(extents, params), p), describe<T>(extents, params),
                      [&](double norm) { return tolerance<T>(norm, times); });
    }
  });
}

TEST_P(PNormEdgesTest, zeros_alone_give_0) {
  for_each_type([&]<class T>() {
    check<T>([](const Vectors&, std::int64_t i) { return i % 2 == 0 ? 0.0 : -0.0; });
    for (const double p : all_orders) EXPECT_EQ(norm<T>({0.0, -0.0, 0.0}, p), 0.0) << "p = " << p;
  });
}

TEST_P(PNormEdgesTest, a_zero_gives_0_for_negative_orders) {
  for_each_type([&]<class T>() {
    for (const double zero : {0.0, -0.0}) check_with_one<T>(1.0, zero, {0.0, 2.0, -1.0, -2.0, -0.7, -inf});
    for (const double p : {-1.0, -2.0, -0.7, -inf}) {
      EXPECT_EQ(norm<T>({1.0, 0.0, 2.0}, p), 0.0) << "p = " << p;
      EXPECT_EQ(norm<T>({inf, -0.0, 2.0}, p), 0.0) << "p = " << p;
    }
  });
}

TEST_P(PNormEdgesTest, axes_without_elements_give_0_for_every_order) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      check_norms(ctx, TestTensor<T>(ctx, {3, 0}), {.axis = {1}}, all_orders, layout);
      check_norms(ctx, TestTensor<T>(ctx, {0, 3}), {.axis = {0}}, all_orders, layout);
      check_norms(ctx, TestTensor<T>(ctx, {3, 0}), {.axis = {1}, .keepdim = true}, all_orders, layout);
      check_norms(ctx, TestTensor<T>(ctx, {2, 0, 4}), {.axis = {1}}, all_orders, layout);
      check_norms(ctx, TestTensor<T>(ctx, {2, 0, 4}), {.asvector = true}, all_orders, layout);
    }
  });
}

TEST_P(PNormEdgesTest, tensors_without_elements_are_valid) {
  for_each_type([&]<class T>() {
    check_norms(ctx, TestTensor<T>(ctx, {0, 3}), {.axis = {1}}, all_orders);
    check_norms(ctx, TestTensor<T>(ctx, {3, 0}), {.axis = {0}}, all_orders);
    check_norms(ctx, TestTensor<T>(ctx, {2, 0, 4}), {.axis = {0, 2}}, all_orders);
    check_norms(ctx, TestTensor<T>(ctx, {0, 0}), {.axis = {1}, .keepdim = true}, all_orders);
  });
}

TEST_P(PNormEdgesTest, sums_do_not_drift_over_constant_data) {
  const std::vector<double> orders{1.0, 1.5, 2.0, 2.3, 3.0, -1.0};
  for_each_type([&]<class T>() {
    // As they are, and such that sums are taken anew, relative to the largest element.
    const double large = std::is_same_v<T, double> ? 0x1p600 : std::is_same_v<T, f16> ? 1.0 : 0x1p100;
    for (const double constant : drifting_constants) {
      if (!std::is_same_v<T, float> && constant != drifting_constants[0]) continue;
      for (const double scale : {1.0, large}) {
        for (const Vectors& vectors : {Vectors{{1, 16384}, 1}, Vectors{{8, 4096}, 1}, Vectors{{9000, 3}, 0}}) {
          TestTensor<T> x(ctx, vectors.extents);
          // One that is larger: the others' ratios to it are no powers of two.
          x.fill([&](std::int64_t i) { return scale * (i < 6 ? 1.3 * constant : constant); });
          check_norms(ctx, x, vectors.params(), orders);
        }
      }
    }
  });
}

TEST_P(PNormEdgesTest, sums_do_not_stagnate) {
  constexpr std::int64_t size = 1 << 24;
  TestTensor<float> ones(ctx, {size}), out(ctx, {});
  ones.fill([](std::int64_t) { return 1.0; });
  for (const double p : {0.0, 1.0}) {
    p_norm(ctx, ones, out, {.porder = p});
    out.download();
    EXPECT_EQ(out[0], 16777216.0) << "p = " << p;
  }
  TestTensor<f16> tenths(ctx, {2, 300000});
  TestTensor<bf16> wide_tenths(ctx, {300000, 2});
  tenths.fill([](std::int64_t) { return 0.1; });
  wide_tenths.fill([](std::int64_t) { return 0.1; });
  check_norms(ctx, tenths, {.axis = {1}}, {1.0, 2.0, 3.0});
  check_norms(ctx, wide_tenths, {.axis = {0}}, {1.0, 2.0, 3.0});
}

}  // namespace
}  // namespace portops::test
