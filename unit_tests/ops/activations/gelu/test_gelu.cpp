// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/gelu.hpp>

#include "ops/activations/activation_tests.hpp"

#include <numbers>

namespace portops::test {
namespace {

struct Gelu {
  static constexpr const char* name = "gelu";
  static constexpr bool keeps_out = false;
  static void call(const Context& ctx, const TensorRef& x, const TensorRef& out) { gelu(ctx, x, out); }
  static void grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad) {
    gelu_grad(ctx, x, out_grad, x_grad);
  }

  static long double integral(long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }
  static long double density(long double x) {
    return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<long double>);
  }
  static long double value(long double x) { return x == -INFINITY ? -0.0L : x * integral(x); }
  static long double slope(long double x) { return std::isinf(x) ? x > 0 : integral(x) + x * density(x); }
  static long double slope_magnitude(long double x) {
    return std::isinf(x) ? 1 : integral(x) + std::abs(x) * density(x);
  }
  static double units(long double) { return 6.0; }
  static double slope_units(long double) { return 8.0; }
};

/// approximate = "tanh".
struct GeluByTanh {
  static constexpr const char* name = "gelu";
  static constexpr bool keeps_out = false;
  static void call(const Context& ctx, const TensorRef& x, const TensorRef& out) {
    gelu(ctx, x, out, {.approximate = "tanh"});
  }
  static void grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad) {
    gelu_grad(ctx, x, out_grad, x_grad, {.approximate = "tanh"});
  }
  static void options(Arguments& arguments) { arguments.set("approximate", Attribute(std::string("tanh"))); }

  // x/2 · (1 + tanh(z/2)) = x · sigmoid(z)
  static long double sigmoid(long double z) { return 1 / (1 + std::exp(-z)); }
  static long double z(long double x) { return scale * x * (1 + 0.044715L * x * x); }
  static long double z_slope(long double x) { return scale * (1 + 3 * 0.044715L * x * x); }
  static long double value(long double x) { return x == -INFINITY ? -0.0L : x * sigmoid(z(x)); }
  static long double slope(long double x) {
    return is_far(x) ? x > 0 : sigmoid(z(x)) * (1 + x * z_slope(x) * sigmoid(-z(x)));
  }
  static long double slope_magnitude(long double x) {
    return is_far(x) ? 1 : sigmoid(z(x)) * (1 + std::abs(x) * z_slope(x) * sigmoid(-z(x)));
  }
  static double units(long double x) { return 4.0 + 3.0 * std::abs(static_cast<double>(z(x))); }
  static double slope_units(long double x) { return 6.0 + 3.0 * std::abs(static_cast<double>(z(x))); }

 private:
  static constexpr long double scale = 1.595769121605730711759378766395L;  // √(8/π)
  static bool is_far(long double x) { return std::abs(x) > 30; }
};

using GeluTest = ActivationTest<Gelu>;
PORTOPS_ACTIVATION_TESTS(GeluTest)

using GeluByTanhTest = ActivationTest<GeluByTanh>;
PORTOPS_ACTIVATION_TESTS(GeluByTanhTest)

TEST_P(GeluTest, refuses_an_approximation_that_it_does_not_know) {
  const TestTensor<float> x(ctx, {3}), out(ctx, {3});
  const std::string message = ": approximate is 'erf', expected none or tanh";
  expect_error([&] { gelu(ctx, x, out, {.approximate = "erf"}); }, "portops::gelu" + message);
  expect_error([&] { gelu_grad(ctx, x, x, out, {.approximate = "erf"}); }, "portops::gelu_grad" + message);
}

}  // namespace
}  // namespace portops::test
