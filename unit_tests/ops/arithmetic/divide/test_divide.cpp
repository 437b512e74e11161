// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/divide.hpp>

#include "ops/arithmetic/binary_tests.hpp"

namespace portops::test {
namespace {

struct Divide {
  static constexpr const char* name = "divide";
  static constexpr bool reads_x = true, reads_y = true;
  static constexpr double least_y = 2.5, most_y = 6.0;  // slopes by differences need them to be far from 0
  static inline const auto call = &divide;
  static inline const auto grad = &divide_grad;
  static inline const auto grad_workspace = &divide_grad_workspace;

  template <class A>
  static A out(A x, A y) {
    return x / y;
  }
  template <class A>
  static A x_grad(A, A y, A out_grad) {
    return out_grad / y;
  }
  template <class A>
  static A y_grad(A x, A y, A out_grad) {
    return -(out_grad / y) * (x / y);
  }
};

class DivideTensorsTest : public BinaryTest<Divide> {
 protected:
  /// That sums are as near as the page says or, where the formula gives NaN or Inf, are that.
  template <class T>
  static void expect_formula(TestTensor<T>& gradient, const ReferenceSums& sums, const std::string& what) {
    gradient.download();
    for (std::int64_t i = 0; i < gradient.size(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const auto value = static_cast<double>(sums.value[k]);
      const double error = (std::is_same_v<T, double> ? 1e-12 : 2e-6) + (sizeof(T) == 2 ? 1.01 * rounding<T>() : 0.0);
      if (std::isfinite(value)) {
        EXPECT_NEAR(gradient[i], value, error * sums.magnitude[k]) << what << i;
      } else {
        EXPECT_TRUE(same_bits(gradient[i], value)) << what << i << " is " << gradient[i] << ", expected " << value;
      }
    }
  }
};
PORTOPS_BINARY_TESTS(DivideTensorsTest)

TEST_P(DivideTensorsTest, has_gradients_where_the_square_of_y_is_no_number) {
  TestTensor<float> x(ctx, {4}), y(ctx, {4}), out_grad(ctx, {4}), x_grad(ctx, {4}), y_grad(ctx, {4});
  const double xs[] = {1e30, -1e-30, 3.0, 1e-20}, ys[] = {1e30, 1e-30, -1e25, -1e-25},
               grads[] = {1e10, 1e-20, 1e35, 1e-38};
  x.fill([&](std::int64_t i) { return xs[i]; });
  y.fill([&](std::int64_t i) { return ys[i]; });
  out_grad.fill([&](std::int64_t i) { return grads[i]; });
  divide_grad(ctx, x, y, out_grad, x_grad, y_grad);
  x_grad.download();
  y_grad.download();
  for (std::int64_t i = 0; i < 4; ++i) {
    const double of_x = out_grad[i] / y[i], of_y = -of_x * (x[i] / y[i]);
    EXPECT_NEAR(x_grad[i] / of_x, 1.0, 1e-6) << i;
    EXPECT_NEAR(y_grad[i] / of_y, 1.0, 1e-6) << i;
  }
}

// Rows of out_grad, or columns, in each of which two elements may be infinite; x or y has one element for all of a row.
TEST_P(DivideTensorsTest, carries_nan_and_inf_into_the_sums_of_gradients) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  constexpr struct {
    double x, y, early, late;
  } sums[] = {{1.5, inf, 1, 1},   {inf, -inf, 1, 1},   {1.5, 0, 1, 1}, {-1.5, -0.0, 1, 1},
              {0, 0, 1, 1},       {1.5, nan, 1, 1},    {nan, 2, 1, 1}, {inf, 2, 1, 1},
              {1.5, 2, inf, inf}, {1.5, 2, inf, -inf}, {0, 2, inf, 1}, {1.5, -2.5, 1, 1}};
  constexpr auto n = static_cast<std::int64_t>(std::size(sums));
  for_each_type([&]<class T>() {
    for (const std::int64_t terms : {40, 300, 20001}) {
      for (const bool down : {false, true}) {
        const auto sum_of = [&](std::int64_t i) -> const auto& { return sums[down ? i % n : i / terms]; };
        const Extents one = down ? Extents{n} : Extents{n, 1}, shape = down ? Extents{terms, n} : Extents{n, terms};
        for (const bool is_x : {false, true}) {
          SCOPED_TRACE(shape.to_string() + (is_x ? " x" : " y"));
          TestTensor<T> x(ctx, is_x ? one : shape), y(ctx, is_x ? shape : one), out_grad(ctx, shape);
          TestTensor<T> x_grad(ctx, x.extents()), y_grad(ctx, y.extents());
          x.fill([&](std::int64_t i) { return is_x ? sums[i].x : sum_of(i).x; });
          y.fill([&](std::int64_t i) { return is_x ? sum_of(i).y : sums[i].y; });
          out_grad.fill([&](std::int64_t i) {
            const std::int64_t place = down ? i / n : i % terms;
            if (place == 7) return sum_of(i).early;
            return place == terms - 9 ? sum_of(i).late : 0.5 + static_cast<double>(i % 3);
          });
          divide_grad(ctx, x, y, out_grad, x_grad, y_grad);
          expect_formula(x_grad, sums_of(Divide::x_grad, x_grad, x, y, out_grad), "x_grad");
          expect_formula(y_grad, sums_of(Divide::y_grad, y_grad, x, y, out_grad), "y_grad");
        }
      }
    }
  });
}

TEST_P(DivideTensorsTest, rounds_the_gradients_of_half_types_once) {
  TestTensor<f16> x(ctx, {1000}), y(ctx, {1000}), out_grad(ctx, {1000}), y_grad(ctx, {1000});
  x.fill_randomly(1);
  fill_y(y, 2);
  out_grad.fill_randomly(3);
  divide_grad(ctx, x, y, out_grad, {}, y_grad);
  y_grad.download();
  for (std::int64_t i = 0; i < 1000; ++i) {
    const double expected = -out_grad[i] * x[i] / (y[i] * y[i]);
    ASSERT_NEAR(y_grad[i], expected, 1.01 * rounding<f16>() * std::abs(expected) + 0x1p-25) << i;
  }
}

}  // namespace
}  // namespace portops::test
