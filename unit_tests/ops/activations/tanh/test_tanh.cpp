// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/tanh.hpp>

#include "ops/activations/activation_tests.hpp"

namespace portops::test {
namespace {

struct Tanh {
  static constexpr const char* name = "tanh";
  static constexpr bool keeps_out = true;
  static inline const auto call = &portops::tanh;
  static inline const auto grad = &tanh_grad;

  static long double value(long double x) { return std::tanh(x); }
  static long double slope(long double out) { return (1 - out) * (1 + out); }
  static long double slope_magnitude(long double out) { return slope(out); }
  static double units(long double) { return 3.0; }
  static double slope_units(long double) { return 2.0; }
};

using TanhTest = ActivationTest<Tanh>;
PORTOPS_ACTIVATION_TESTS(TanhTest)

TEST_P(TanhTest, keeps_the_sign_of_0) {
  TestTensor<float> x(ctx, {2}), out(ctx, {2});
  x.fill([](std::int64_t i) { return i == 0 ? 0.0f : -0.0f; });
  portops::tanh(ctx, x, out);
  out.download();
  EXPECT_TRUE(same_bits(out.element(0), 0.0f));
  EXPECT_TRUE(same_bits(out.element(1), -0.0f));
}

}  // namespace
}  // namespace portops::test
