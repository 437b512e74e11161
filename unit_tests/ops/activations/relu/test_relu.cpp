// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/relu.hpp>

#include "ops/activations/activation_tests.hpp"

namespace portops::test {
namespace {

struct Relu {
  static constexpr const char* name = "relu";
  static constexpr bool keeps_out = true;
  static inline const auto call = &relu;
  static inline const auto grad = &relu_grad;

  // A NaN is no less than 0.
  static long double value(long double x) { return x < 0 ? 0 : x; }
  static long double slope(long double out) { return out <= 0 ? 0 : 1; }
  static long double slope_magnitude(long double out) { return slope(out); }
  static double units(long double) { return 0.0; }
  static double slope_units(long double) { return 0.0; }
};

using ReluTest = ActivationTest<Relu>;
PORTOPS_ACTIVATION_TESTS(ReluTest)

TEST_P(ReluTest, keeps_nan_and_the_sign_of_0) {
  TestTensor<float> x(ctx, {3}), out(ctx, {3}), out_grad(ctx, {3}), x_grad(ctx, {3});
  const float values[] = {-0.0f, std::numeric_limits<float>::quiet_NaN(), -3.0f};
  x.fill([&](std::int64_t i) { return values[i]; });
  out_grad.fill([&](std::int64_t i) { return i == 1 ? 5.0f : std::numeric_limits<float>::infinity(); });
  relu(ctx, x, out);
  relu_grad(ctx, out, out_grad, x_grad);
  out.download();
  x_grad.download();
  EXPECT_TRUE(same_bits(out.element(0), -0.0f));
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(same_bits(out.element(2), 0.0f));
  EXPECT_EQ(x_grad[0], 0.0) << "and not NaN, as 0 times Inf were";
  EXPECT_EQ(x_grad[1], 5.0);
  EXPECT_EQ(x_grad[2], 0.0);
}

}  // namespace
}  // namespace portops::test
