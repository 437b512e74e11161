// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "p_norm_reference.hpp"

#include <random>

namespace portops::test {
namespace {

using Axes = std::vector<std::int64_t>;

class PNormGradTest : public OnEveryBackend {
 protected:
  /// Orders over sets of axes of a random tensor.
  template <class T>
  void check(const Extents& extents, const std::vector<Axes>& axes, const std::vector<double>& orders = all_orders) {
    TestTensor<T> x(ctx, extents);
    x.fill_randomly(1);
    for (const Axes& axis : axes) check_gradients(ctx, x, {.axis = axis}, orders);
  }

  /// Orders over short and long vectors of the elements that `value(vectors, i)` gives.
  template <class T, class Value>
  void check_vectors(const std::vector<double>& orders, double epsilon, const Value& value) {
    for (const auto* all : {&short_vectors, &long_vectors}) {
      for (const Vectors& vectors : *all) {
        TestTensor<T> x(ctx, vectors.extents);
        x.fill([&](std::int64_t i) { return value(vectors, i); });
        check_gradients(ctx, x, {.axis = {vectors.axis}, .epsilon = epsilon}, orders);
      }
    }
  }

  /// The gradient of a vector's norm, times `out_grad`.
  template <class T>
  std::vector<double> gradient(const std::vector<double>& values, const PNormParams& params, double out_grad = 1.0) {
    const Extents extents{static_cast<std::int64_t>(values.size())};
    TestTensor<T> x(ctx, extents), out(ctx, {}), given(ctx, {}), x_grad(ctx, extents);
    x.fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    given.fill([&](std::int64_t) { return out_grad; });
    p_norm(ctx, x, out, params);
    p_norm_grad(ctx, x, out, given, x_grad, params);
    x_grad.download();
    return values_of(x_grad);
  }
};

PORTOPS_ON_EVERY_BACKEND(PNormGradTest);

TEST_P(PNormGradTest, equals_the_reference_for_every_order_and_axis) {
  for_each_type([&]<class T>() {
    check<T>({300}, {{0}});
    check<T>({5, 7}, {{-1}, {0}, {-2, -1}});
    check<T>({3, 250}, {{1}, {0}, {0, 1}});
    check<T>({37, 250, 3}, {{1}, {0, 2}, {0, 1}});
    check<T>({2, 3, 4, 5}, {{0}, {2}, {0, 2}, {1, 3}, {-2, -1}, {0, 1, 2, 3}});
    check<T>({2, 1, 3, 2, 1, 2, 3, 2}, {{4}, {-1}, {0, 2, 7}, {1, 3, 5}});
  });
}

TEST_P(PNormGradTest, equals_the_reference_for_long_rows_and_columns) {
  for_each_type([&]<class T>() {
    const std::vector<double> orders{2.0, 2.3, inf};
    check<T>({1, 70001}, {{1}}, orders);
    check<T>({3, 33000}, {{1}}, orders);
    check<T>({70001, 3}, {{0}}, orders);
    check<T>({5000, 64}, {{0}}, orders);
    check<T>({40, 30, 70}, {{0, 2}, {1}}, orders);
  });
}

TEST_P(PNormGradTest, equals_the_reference_for_many_short_rows) {
  for_each_type([&]<class T>() {
    check<T>({9999, 7}, {{1}}, {1.0, 2.0, 2.3, -inf});
    check<T>({10000, 1}, {{0}, {1}}, {1.0, 2.0, 2.3, -inf});
    check<T>({2, 9999}, {{0}}, {1.0, 2.0, 2.3, -inf});
    check<T>({1, 1}, {{0}, {1}, {0, 1}});
    check<T>({4, 1, 5}, {{1}, {0, 1}, {1, 2}});
    // Several of these columns' tiles share a team.
    for (const Extents& extents : {Extents{999, 3, 3}, Extents{77, 2, 6}, Extents{333, 7, 2}}) {
      check<T>(extents, {{1}}, {2.0, 2.3, inf});
    }
  });
}

TEST_P(PNormGradTest, equals_the_reference_for_every_length_around_packs_and_tiles) {
  for_each_type([&]<class T>() {
    for (const std::int64_t length :
         {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 127, 250, 513, 1024, 2047, 2048, 2049, 4095, 4100}) {
      check<T>({3, length}, {{1}, {0}}, {2.0, 2.3, inf});
      check<T>({length, 3}, {{1}, {0}}, {2.0, 2.3, inf});
    }
  });
}

TEST_P(PNormGradTest, follows_keepdim_and_asvector) {
  for_each_type([&]<class T>() {
    TestTensor<T> x(ctx, {2, 3, 4, 5});
    x.fill_randomly(1);
    check_gradients(ctx, x, {.axis = {1, 3}, .keepdim = true}, all_orders);
    check_gradients(ctx, x, {.asvector = true}, all_orders);
    check_gradients(ctx, x, {.axis = {99}, .keepdim = true, .asvector = true}, all_orders);
  });
}

TEST_P(PNormGradTest, takes_a_number_for_a_vector_of_one_element) {
  for_each_type([&]<class T>() {
    TestTensor<T> x(ctx, {});
    x.fill([](std::int64_t) { return -3.5; });
    check_gradients(ctx, x, {.axis = {-1}}, all_orders);
    check_gradients(ctx, x, {.axis = {0}}, all_orders);
    check_gradients(ctx, x, {.asvector = true}, all_orders);
  });
}

TEST_P(PNormGradTest, agrees_with_central_differences) {
  const Extents shape{3, 4, 5};
  // No two magnitudes are equal, or nearly so: there the norms of order ±inf have no derivative.
  const auto value = [](std::int64_t i) {
    return (i % 2 == 0 ? 1.0 : -1.0) * (0.5 + 0.013 * static_cast<double>(i * 7 % 60));
  };
  TestTensor<double> x(ctx, shape), x_grad(ctx, shape);
  for (const Axes& axis : {Axes{-1}, Axes{0, 2}}) {
    for (const double p : {1.0, 1.5, 2.0, 2.3, 3.0, 4.0, 0.5, -1.0, inf, -inf}) {
      const PNormParams params{.porder = p, .axis = axis, .epsilon = 0.0};
      TestTensor<double> out(ctx, out_extents(shape, params)), out_grad(ctx, out_extents(shape, params));
      out_grad.fill_randomly(4);
      x.fill(value);
      p_norm(ctx, x, out, params);
      p_norm_grad(ctx, x, out, out_grad, x_grad, params);
      x_grad.download();
      for (std::int64_t k = 0; k < shape.product(); ++k) {
        constexpr double step = 1e-5;
        const auto at = [&](double shift) {
          x.fill([&](std::int64_t i) { return value(i) + (i == k ? shift : 0.0); });
          p_norm(ctx, x, out, params);
          out.download();
          double sum = 0.0;
          for (std::int64_t i = 0; i < out.extents().product(); ++i) sum += out[i] * out_grad[i];
          return sum;
        };
        ASSERT_NEAR(x_grad[k], (at(step) - at(-step)) / (2 * step), 1e-7)
            << describe<double>(shape, params) << ", element " << k;
      }
    }
  }
}

TEST_P(PNormGradTest, of_plain_numbers) {
  for_each_type([&]<class T>() {
    EXPECT_EQ(gradient<T>({2.0, -0.5, 0.0}, {.porder = 1.0}, 3.0), (std::vector<double>{3, -3, 0}));
    EXPECT_EQ(gradient<T>({2.0, -0.5, 0.0}, {.porder = 0.0}, 3.0), (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(gradient<T>({3.0, -3.0, 1.0, 0.0}, {.porder = inf}, 5.0), (std::vector<double>{2.5, -2.5, 0, 0}));
    EXPECT_EQ(gradient<T>({3.0, -1.0, 1.0, -1.0, 1.0}, {.porder = -inf}, 2.0),
              (std::vector<double>{0, -0.5, 0.5, -0.5, 0.5}));
    EXPECT_EQ(gradient<T>({4.0, 4.0, 4.0, 4.0}, {.porder = inf}, 2.0), (std::vector<double>{0.5, 0.5, 0.5, 0.5}));
    const std::vector<double> of_order_2 = gradient<T>({3.0, -4.0}, {});
    EXPECT_NEAR(of_order_2[0], 0.6, 2 * rounding<T>() + 1e-12);  // epsilon takes part in f64
    EXPECT_NEAR(of_order_2[1], -0.8, 2 * rounding<T>() + 1e-12);
  });
}

TEST_P(PNormGradTest, equal_extremes_share_evenly) {
  for_each_type([&]<class T>() {
    for (const std::int64_t ties : {1, 2, 3, 100}) {
      // Those that are equal lie at both ends and between, with either sign.
      const auto values = [&](double tie, double other) {
        return [=](const Vectors& vectors, std::int64_t i) {
          const std::int64_t place = vectors.axis == 1 ? i % vectors.extents[1] : i / vectors.extents[1];
          const std::int64_t last = vectors.length() - 1;
          const bool is_tie = place == 0 || (ties > 1 && place == last) || (ties > 2 && place == last / 2) ||
                              (ties > 3 && place % 64 == 5);
          return scattered(i) < 0.0 ? (is_tie ? -tie : -other) : (is_tie ? tie : other);
        };
      };
      check_vectors<T>({inf}, 1e-12, values(1.5, 1.0));
      check_vectors<T>({-inf}, 1e-12, values(1.0, 1.5));
    }
    check_vectors<T>({inf, -inf}, 1e-12, [](const Vectors&, std::int64_t i) { return scattered(i) < 0 ? -1.5 : 1.5; });
  });
}

TEST_P(PNormGradTest, equal_extremes_of_very_long_vectors_share_evenly) {
  for (const Vectors& vectors : {Vectors{{2, 70001}, 1}, Vectors{{70001, 2}, 0}}) {
    TestTensor<float> x(ctx, vectors.extents);
    x.fill([&](std::int64_t i) { return scattered(i) < 0 ? -1.5 : 1.5; });
    check_gradients(ctx, x, vectors.params(), {inf, -inf});
    x.fill([&](std::int64_t i) {
      const bool is_tie = i == vectors.at(0, 0) || i == vectors.at(0, 35000) || i == vectors.at(0, 70000);
      return is_tie || i == vectors.at(1, 69999) ? -1.5 : scattered(i);
    });
    check_gradients(ctx, x, vectors.params(), {inf});
  }
}

TEST_P(PNormGradTest, of_order_1_does_not_depend_on_epsilon) {
  TestTensor<float> x(ctx, {1, 3}), out_grad(ctx, {1}), x_grad(ctx, {1, 3});
  x.fill([](std::int64_t i) { return static_cast<double>(i - 1) * 5; });
  out_grad.fill([](std::int64_t) { return -1.0; });
  const TensorRef no_norms = TensorRef::without_data(ElementType::f32, {1});
  p_norm_grad(ctx, x.ref(), no_norms, out_grad.ref(), x_grad.ref(), {.porder = 1.0, .epsilon = 1.0});
  x_grad.download();
  EXPECT_EQ(x_grad[0], 1.0);
  EXPECT_EQ(x_grad[1], 0.0);
  EXPECT_EQ(x_grad[2], -1.0);
}

TEST_P(PNormGradTest, a_norm_that_is_nan_shows_where_out_grad_is_0_too) {
  for (const double p : {1.5, 2.0, 2.3, 3.0}) {
    TestTensor<float> x(ctx, {1, 3}), out(ctx, {1}), out_grad(ctx, {1}), x_grad(ctx, {1, 3});
    x.fill([](std::int64_t i) { return static_cast<double>(i) + 1; });
    out.fill([](std::int64_t) { return std::nan(""); });
    out_grad.fill([](std::int64_t) { return 0.0; });
    p_norm_grad(ctx, x.ref(), out.ref(), out_grad.ref(), x_grad.ref(), {.porder = p});
    x_grad.download();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(x_grad[i])) << p;
  }
}

TEST_P(PNormGradTest, of_zero_vectors_and_zero_elements_is_0) {
  for_each_type([&]<class T>() {
    for (const double epsilon : {1e-12, 0.0}) {
      check_vectors<T>(all_orders, epsilon, [](const Vectors&, std::int64_t) { return 0.0; });
      check_vectors<T>(all_orders, epsilon, [](const Vectors& vectors, std::int64_t i) {
        const bool is_zero = i == vectors.at(0, 0) || i % 3 == 1;
        return is_zero ? -0.0 : scattered(i);
      });
      for (const double p : all_orders) {
        const PNormParams params{.porder = p, .epsilon = epsilon};
        EXPECT_EQ(gradient<T>({0.0, -0.0, 0.0}, params), (std::vector<double>{0, 0, 0})) << "p = " << p;
        EXPECT_EQ(gradient<T>({0.0}, params), std::vector<double>{0}) << "p = " << p;
        EXPECT_EQ(gradient<T>({0.0, 1.0}, params)[0], 0.0) << "p = " << p;
      }
    }
  });
}

TEST_P(PNormGradTest, of_order_0_is_0_and_of_order_1_a_sign_and_neither_needs_norms) {
  for_each_type([&]<class T>() {
    TestTensor<T> x(ctx, {20, 33}), out_grad(ctx, {20}), x_grad(ctx, {20, 33}), signs(ctx, {20, 33});
    x.fill([](std::int64_t i) { return i % 5 == 0 ? 0.0 : scattered(i); });
    out_grad.fill_randomly(2);
    const TensorRef no_norms = TensorRef::without_data(ElementTypeOf<T>::value, {20});
    p_norm_grad(ctx, x, no_norms, out_grad, x_grad, {.porder = 0.0});
    p_norm_grad(ctx, x, no_norms, out_grad, signs, {.porder = 1.0});
    x_grad.download();
    signs.download();
    for (std::int64_t i = 0; i < 20 * 33; ++i) {
      ASSERT_EQ(x_grad[i], 0.0) << "element " << i;
      const double sign = x[i] == 0.0 ? 0.0 : x[i] < 0.0 ? -1.0 : 1.0;
      ASSERT_EQ(signs[i], sign * out_grad[i / 33]) << "element " << i;
    }
  });
}

TEST_P(PNormGradTest, follows_the_formula_for_a_large_epsilon) {
  for_each_type([&]<class T>() {
    check_vectors<T>({0.5, 1.0, 1.5, 2.0, 2.3, 3.0, -1.0, inf}, 0.5,
                     [](const Vectors&, std::int64_t i) { return scattered(i); });
  });
  // p = 3: (2 / (2 + 2))^2
  EXPECT_NEAR(gradient<double>({2.0}, {.porder = 3.0, .epsilon = 2.0})[0], 0.25, 1e-12);
  // p = -1: (2 / (2 + 2))^-2
  EXPECT_NEAR(gradient<double>({2.0}, {.porder = -1.0, .epsilon = 2.0})[0], 4.0, 1e-11);
}

TEST_P(PNormGradTest, neither_overflows_nor_underflows_on_the_way) {
  for_each_type([&]<class T>() {
    for (const double magnitude : extreme_magnitudes<T>()) {
      check_vectors<T>({1.0, 1.5, 2.0, 2.3, 3.0, 10.0, -1.0, inf, -inf}, 0.0,
                       [&](const Vectors&, std::int64_t i) { return magnitude * scattered(i); });
    }
  });
  for (const double scale : {1e30, 1e37}) {
    const std::vector<double> found = gradient<float>({3 * scale, -4 * scale}, {});
    EXPECT_NEAR(found[0], 0.6, 1e-6);
    EXPECT_NEAR(found[1], -0.8, 1e-6);
  }
  const std::vector<double> found = gradient<float>({3e-30, -4e-30}, {.epsilon = 0.0});
  EXPECT_NEAR(found[0], 0.6, 1e-6);
  EXPECT_NEAR(found[1], -0.8, 1e-6);
}

/// Whatever x, out and out_grad are, as long as the result is a number of the element type.
TEST_P(PNormGradTest, is_right_wherever_its_value_is_a_number) {
  for_each_type([&]<class T>() {
    const int most = std::is_same_v<T, double> ? 1023 : std::is_same_v<T, f16> ? 15 : 127;
    const int least = std::is_same_v<T, double>  ? -1074
                      : std::is_same_v<T, f16>   ? -24
                      : std::is_same_v<T, float> ? -149
                                                 : -133;
    // Where out is subnormal in the type that is computed in, some orders are not meant to.
    const int least_norm = std::max(least, std::is_same_v<T, double> ? -1022 : -126);
    constexpr std::int64_t rows = 400, columns = 9;
    std::mt19937 engine(5);
    std::uniform_int_distribution<int> any(least, most), of_norm(least_norm, most), below(0, most - least);
    std::uniform_real_distribution<double> mantissa(1.0, 1.99);
    TestTensor<T> x(ctx, {rows, columns}), out(ctx, {rows}), out_grad(ctx, {rows}), x_grad(ctx, {rows, columns});
    std::vector<int> exponents(rows);
    for (int& exponent : exponents) exponent = of_norm(engine);
    out.fill([&](std::int64_t i) { return std::ldexp(1.99, exponents[static_cast<std::size_t>(i)]); });
    out_grad.fill([&](std::int64_t) { return std::ldexp(mantissa(engine), any(engine)); });
    x.fill([&](std::int64_t i) {
      const int exponent = exponents[static_cast<std::size_t>(i / columns)];
      return std::ldexp(i % 2 == 0 ? mantissa(engine) : -mantissa(engine),
                        std::max(least, exponent - below(engine) % (i % 3 == 0 ? 10 : 1000)));
    });
    for (const double p : {1.5, 2.0, 2.5, 3.0, 4.0, 1.1, 2.3, 7.0, 0.9, 0.5, -1.0, -3.0}) {
      PNormParams params{.porder = p, .axis = {1}, .epsilon = 0.0};
      p_norm_grad(ctx, x, out, out_grad, x_grad, params);
      x_grad.download();
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        const auto ratio = static_cast<long double>(std::abs(x[i])) / static_cast<long double>(out[i / columns]);
        const long double exact = std::pow(ratio, static_cast<long double>(p) - 1.0L) * out_grad[i / columns];
        const double expected = std::copysign(static_cast<double>(exact), x[i]);
        const double within = tolerance<T>(expected, std::max(1.0, std::abs(p - 1.0))) +
                              (p == 2.5 || p > 2.9 ? tolerance<T>(0x1p-1074) : 0.0);
        ASSERT_TRUE(is_near(x_grad.element(i), expected, within))
            << name_of(ElementTypeOf<T>::value) << ", p = " << p << ": of x " << x[i] << ", out " << out[i / columns]
            << ", out_grad " << out_grad[i / columns] << " it is " << x_grad[i] << ", expected " << expected;
      }
    }
  });
}

TEST_P(PNormGradTest, is_right_where_a_power_alone_would_vanish_or_overflow) {
  const std::vector<double> found = gradient<float>({6e-18, 1e37}, {.porder = 1.5});
  EXPECT_NEAR(found[0], std::sqrt(6e-18 / 1e37), 1e-33);
  // x = out = 5e-23, whose ratio to out + epsilon is 5e-11
  EXPECT_NEAR(gradient<float>({5e-23}, {.porder = -3.0}, 1e-20)[0], 1.6e21, 1e17);
  EXPECT_NEAR(gradient<float>({1.25, 1e38}, {.porder = 2.0}, 1e30)[0], 1.25e-8, 1e-13);
}

/// What the page says of the error of large orders.
TEST_P(PNormGradTest, loses_no_more_with_the_order_than_its_page_says) {
  TestTensor<float> x(ctx, {500, 20}), out(ctx, {500}), out_grad(ctx, {500}), x_grad(ctx, {500, 20});
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> near_one(0.7, 1.3);
  x.fill([&](std::int64_t) { return near_one(engine); });
  out_grad.fill_randomly(2);
  for (const double p : {5.0, 9.0, 11.0, 14.0, 20.0, 50.0, 200.0, -10.0, -50.0}) {
    const PNormParams params{.porder = p, .axis = {1}};
    p_norm(ctx, x, out, params);
    p_norm_grad(ctx, x, out, out_grad, x_grad, params);
    out.download();
    const std::vector<double> expected =
        reference_gradients(values_of(x), values_of(out), values_of(out_grad), Reduction(x.extents(), params), params);
    expect_elements(x_grad, expected, "the gradient of order " + std::to_string(p), [&](double value) {
      return std::max(2e-6, 1.5e-7 * std::abs(p - 1.0)) * std::abs(value) + 0x1p-148;
    });
  }
}

TEST_P(PNormGradTest, of_finite_numbers_is_never_nan) {
  for_each_type([&]<class T>() {
    const double most = std::is_same_v<T, double> ? 300.0 : std::is_same_v<T, f16> ? 4.8 : 38.0;
    const double least = std::is_same_v<T, double> ? -320.0 : std::is_same_v<T, f16> ? -8.0 : -44.0;
    constexpr std::int64_t rows = 300, columns = 9;
    std::mt19937 engine(1);
    std::uniform_real_distribution<double> exponent(least, most);
    const auto any = [&](std::int64_t i) { return scattered(i) * std::pow(10.0, exponent(engine)); };
    TestTensor<T> x(ctx, {rows, columns}), out_grad(ctx, {rows}), out(ctx, {rows}), x_grad(ctx, {rows, columns});
    x.fill([&](std::int64_t i) { return i < 2 * columns || i % 13 == 0 ? 0.0 : any(i); });
    out_grad.fill([&](std::int64_t i) { return i % 4 == 0 ? 0.0 : any(i); });
    for (const double epsilon : {1e-12, 0.0, 0.5}) {
      for (const double p : all_orders) {
        const PNormParams params{.porder = p, .epsilon = epsilon};
        p_norm(ctx, x, out, params);
        p_norm_grad(ctx, x, out, out_grad, x_grad, params);
        out.download();
        x_grad.download();
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          ASSERT_FALSE(std::isnan(x_grad[i]) && std::isfinite(out[i / columns]))
              << "p = " << p << ", epsilon = " << epsilon << ": the gradient of " << x[i] << " for the norm "
              << out[i / columns] << " and out_grad " << out_grad[i / columns] << " is NaN";
        }
      }
    }
  });
}

TEST_P(PNormGradTest, nan_stays_in_its_row) {
  for_each_type([&]<class T>() {
    // By the reference: NaN where x is NaN, and through the norm in all of that vector but for p = 1 and ±inf.
    check_vectors<T>({0.5, 1.0, 1.5, 2.0, 2.3, 3.0, -1.0, inf, -inf}, 1e-12,
                     [](const Vectors& vectors, std::int64_t i) {
                       return i == vectors.at(0, vectors.length() / 2) ? nan : scattered(i);
                     });
    const std::vector<double> values{1.0, nan, -2.0};
    const std::vector<double> of_order_1 = gradient<T>(values, {.porder = 1.0}), of_order_2 = gradient<T>(values, {});
    const std::vector<double> of_order_inf = gradient<T>(values, {.porder = inf});
    for (const std::size_t i : {0, 1, 2}) EXPECT_TRUE(std::isnan(of_order_2[i])) << "element " << i;
    EXPECT_EQ(of_order_1[0], 1.0);
    EXPECT_TRUE(std::isnan(of_order_1[1]));
    EXPECT_EQ(of_order_1[2], -1.0);
    EXPECT_EQ(of_order_inf[0], 0.0);
    EXPECT_TRUE(std::isnan(of_order_inf[1]));
    EXPECT_EQ(of_order_inf[2], 0.0);
  });
}

TEST_P(PNormGradTest, follows_the_formula_for_infinite_elements) {
  for_each_type([&]<class T>() {
    EXPECT_EQ(gradient<T>({1.0, inf, -2.0, -inf}, {.porder = inf}, 3.0), (std::vector<double>{0, 1.5, 0, -1.5}));
    EXPECT_EQ(gradient<T>({1.0, inf, -2.0, -inf}, {.porder = -inf}, 3.0), (std::vector<double>{3, 0, 0, 0}));
    EXPECT_EQ(gradient<T>({1.0, inf, -2.0, -inf}, {.porder = 1.0}, 3.0), (std::vector<double>{3, 3, -3, -3}));
    for (const double p : {1.5, 2.0, 2.3, 3.0}) {
      const std::vector<double> found = gradient<T>({1.0, inf, -2.0, -inf}, {.porder = p}, 3.0);
      EXPECT_EQ(found[0], 0.0) << "p = " << p;
      EXPECT_EQ(found[2], 0.0) << "p = " << p;
    }
    // For p < 0 an infinite element adds nothing to the norm.
    check_vectors<T>({-1.0, -2.0, -0.7}, 1e-12, [](const Vectors&, std::int64_t i) {
      return i % 7 == 3 ? std::copysign(inf, scattered(i)) : scattered(i);
    });
  });
}

TEST_P(PNormGradTest, that_is_not_wanted_costs_nothing) {
  TestTensor<float> x(ctx, {20, 33}), out(ctx, {20}), out_grad(ctx, {20});
  x.fill_randomly(1);
  out.fill_randomly(2);
  out_grad.fill_randomly(3);
  const std::vector<double> before = values_of(x);
  for (const double p : {0.0, 1.0, 2.0, 2.3, inf}) {
    EXPECT_NO_THROW(p_norm_grad(ctx, x, out, out_grad, {}, {.porder = p}));
    EXPECT_EQ(p_norm_grad_workspace(ctx, x, out, out_grad, {}, {.porder = p}), 0u);
  }
  x.download();
  out.download();
  out_grad.download();
  EXPECT_EQ(values_of(x), before);
}

TEST_P(PNormGradTest, accepts_tensors_without_elements) {
  for_each_type([&]<class T>() {
    for (const double p : all_orders) {
      TestTensor<T> x(ctx, {3, 0}), rows(ctx, {3}), rows_grad(ctx, {3}), columns(ctx, {0}), columns_grad(ctx, {0});
      TestTensor<T> x_grad(ctx, {3, 0});
      p_norm(ctx, x, rows, {.porder = p, .axis = {1}});
      p_norm_grad(ctx, x, rows, rows_grad, x_grad, {.porder = p, .axis = {1}});
      p_norm_grad(ctx, x, columns, columns_grad, x_grad, {.porder = p, .axis = {0}});
      x_grad.download();
    }
  });
}

TEST_P(PNormGradTest, needs_a_workspace_for_infinite_orders_alone) {
  TestTensor<float> x(ctx, {2, 70001}), out(ctx, {2}), out_grad(ctx, {2}), x_grad(ctx, {2, 70001});
  for (const double p : {0.0, 1.0, 2.0, 2.3, 3.0, -1.0}) {
    EXPECT_EQ(p_norm_grad_workspace(ctx, x, out, out_grad, x_grad, {.porder = p}), 0u) << "p = " << p;
  }
  for (const double p : {inf, -inf}) {
    const std::size_t needed = p_norm_grad_workspace(ctx, x, out, out_grad, x_grad, {.porder = p});
    EXPECT_GT(needed, 0u) << "p = " << p;
    EXPECT_EQ(p_norm_grad_workspace(ctx, x, out, out_grad, x_grad, {.porder = p}), needed) << "p = " << p;
  }
}

}  // namespace
}  // namespace portops::test
