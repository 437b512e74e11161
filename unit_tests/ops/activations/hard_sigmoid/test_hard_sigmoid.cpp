// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/hard_sigmoid.hpp>

#include "ops/activations/activation_tests.hpp"

namespace portops::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Between 0 and 1 the slope and the offset of the options, in percent.
template <int slope_percent, int offset_percent>
struct Line {
  static constexpr const char* name = "hard_sigmoid";
  static constexpr bool keeps_out = true;
  static constexpr double slope_option = slope_percent / 100.0, offset = offset_percent / 100.0;
  static constexpr HardSigmoidParams params{.slope = slope_option, .offset = offset};
  static void call(const Context& ctx, const TensorRef& x, const TensorRef& out) { hard_sigmoid(ctx, x, out, params); }
  static void grad(const Context& ctx, const TensorRef& out, const TensorRef& out_grad, const TensorRef& x_grad) {
    hard_sigmoid_grad(ctx, out, out_grad, x_grad, params);
  }
  static void options(Arguments& arguments) {
    arguments.set("slope", Attribute(slope_option)).set("offset", Attribute(offset));
  }

  static long double value(long double x) {
    const long double line = slope_option * x + offset;
    return line < 0 ? 0 : line > 1 ? 1 : line;
  }
  static long double value_magnitude(long double x) { return std::abs(slope_option * x) + std::abs(offset); }
  static long double slope(long double out) { return out > 0 && out < 1 ? slope_option : 0; }
  static long double slope_magnitude(long double out) { return slope(out); }
  static double units(long double) { return 1.0; }
  static double slope_units(long double) { return 0.5; }
};

/// As PyTorch has it.
struct HardSigmoid {
  static constexpr const char* name = "hard_sigmoid";
  static constexpr bool keeps_out = true;
  static void call(const Context& ctx, const TensorRef& x, const TensorRef& out) { hard_sigmoid(ctx, x, out); }
  static void grad(const Context& ctx, const TensorRef& out, const TensorRef& out_grad, const TensorRef& x_grad) {
    hard_sigmoid_grad(ctx, out, out_grad, x_grad);
  }

  static long double value(long double x) { return x <= -3 ? 0 : x >= 3 ? 1 : (x + 3) / 6; }
  static long double value_magnitude(long double x) { return std::abs(x) / 6 + 0.5L; }
  static long double slope(long double out) { return out > 0 && out < 1 ? 1 / 6.0L : 0; }
  static long double slope_magnitude(long double out) { return slope(out); }
  static double units(long double) { return 1.0; }
  static double slope_units(long double) { return 0.5; }
};

using HardSigmoidTest = ActivationTest<HardSigmoid>;
PORTOPS_ACTIVATION_TESTS(HardSigmoidTest)

using FallingLineTest = ActivationTest<Line<-20, 26>>;
PORTOPS_ACTIVATION_TESTS(FallingLineTest)

TEST_P(HardSigmoidTest, refuses_options_that_are_no_numbers) {
  const TestTensor<float> x(ctx, {3}), out(ctx, {3});
  for (const std::string option : {"slope", "offset"}) {
    const HardSigmoidParams params =
        option == "slope" ? HardSigmoidParams{.slope = nan} : HardSigmoidParams{.offset = nan};
    const std::string message = ": " + option + " is nan, expected a number";
    expect_error([&] { hard_sigmoid(ctx, x, out, params); }, "portops::hard_sigmoid" + message);
    expect_error([&] { hard_sigmoid_grad(ctx, x, x, out, params); }, "portops::hard_sigmoid_grad" + message);
  }
}

}  // namespace
}  // namespace portops::test
