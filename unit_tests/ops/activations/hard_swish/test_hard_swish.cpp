// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/hard_swish.hpp>

#include "ops/activations/activation_tests.hpp"

namespace portops::test {
namespace {

struct HardSwish {
  static constexpr const char* name = "hard_swish";
  static constexpr bool keeps_out = false;
  static inline const auto call = &hard_swish;
  static inline const auto grad = &hard_swish_grad;

  static long double value(long double x) { return x <= -3 ? -0.0L : x >= 3 ? x : x * (x + 3) / 6; }
  static long double slope(long double x) { return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5L; }
  static long double slope_magnitude(long double x) { return x <= -3 || x >= 3 ? slope(x) : std::abs(x) / 3 + 0.5L; }
  static double units(long double) { return 3.0; }
  static double slope_units(long double) { return 3.0; }
};

using HardSwishTest = ActivationTest<HardSwish>;
PORTOPS_ACTIVATION_TESTS(HardSwishTest)

TEST_P(HardSwishTest, is_the_argument_or_a_0_beyond_3) {
  for_each_type([&]<class T>() {
    const double inf = std::numeric_limits<double>::infinity();
    const std::vector<T> arguments{static_cast<T>(-inf), T(-5.0f), T(-3.0f), T(3.0f), T(5.0f), static_cast<T>(inf)};
    TestTensor<T> x = tensor_of(arguments), out(ctx, x.extents());
    hard_swish(ctx, x, out);
    out.download();
    for (std::int64_t i = 0; i < 6; ++i) {
      EXPECT_TRUE(same_bits(out.element(i), i < 3 ? T(-0.0f) : arguments[static_cast<std::size_t>(i)])) << i;
    }
  });
}

}  // namespace
}  // namespace portops::test
