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
  static double x_grad(double, double y, double out_grad) { return out_grad / y; }
  static double y_grad(double x, double y, double out_grad) { return -out_grad * x / (y * y); }
};

using DivideTensorsTest = BinaryTest<Divide>;
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

TEST_P(DivideTensorsTest, rounds_the_gradients_of_half_types_once) {
  TestTensor<f16> x(ctx, {1000}), y(ctx, {1000}), out_grad(ctx, {1000}), y_grad(ctx, {1000});
  x.fill_randomly(1);
  fill_y(y, 2);
  out_grad.fill_randomly(3);
  divide_grad(ctx, x, y, out_grad, {}, y_grad);
  y_grad.download();
  for (std::int64_t i = 0; i < 1000; ++i) {
    const double expected = Divide::y_grad(x[i], y[i], out_grad[i]);
    ASSERT_NEAR(y_grad[i], expected, 1.01 * rounding<f16>() * std::abs(expected) + 0x1p-25) << i;
  }
}

}  // namespace
}  // namespace portops::test
