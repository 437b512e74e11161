// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/clip.hpp>

#include "ops/activations/activation_tests.hpp"

#include <vector>

namespace portops::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

/// Between two bounds that every element type has.
struct Clip {
  static constexpr const char* name = "clip";
  static constexpr bool keeps_out = false;
  static constexpr double min = -1.5, max = 2.0;
  static void call(const Context& ctx, const TensorRef& x, const TensorRef& out) {
    clip(ctx, x, out, {.min = min, .max = max});
  }
  static void grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad) {
    clip_grad(ctx, x, out_grad, x_grad, {.min = min, .max = max});
  }
  static void options(Arguments& arguments) { arguments.set("min", Attribute(min)).set("max", Attribute(max)); }

  static long double value(long double x) { return x < min ? min : x > max ? max : x; }
  static long double slope(long double x) { return x >= min && x <= max ? 1 : 0; }
  static long double slope_magnitude(long double x) { return slope(x); }
  static double units(long double) { return 0.0; }
  static double slope_units(long double) { return 0.0; }
};

/// Without bounds: the arguments as they are.
struct ClipOfNothing {
  static constexpr const char* name = "clip";
  static constexpr bool keeps_out = false;
  static void call(const Context& ctx, const TensorRef& x, const TensorRef& out) { clip(ctx, x, out); }
  static void grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad) {
    clip_grad(ctx, x, out_grad, x_grad);
  }

  static long double value(long double x) { return x; }
  static long double slope(long double x) { return std::isnan(x) ? 0 : 1; }
  static long double slope_magnitude(long double x) { return slope(x); }
  static double units(long double) { return 0.0; }
  static double slope_units(long double) { return 0.0; }
};

using ClipTest = ActivationTest<Clip>;
PORTOPS_ACTIVATION_TESTS(ClipTest)

using ClipOfNothingTest = ActivationTest<ClipOfNothing>;
PORTOPS_ACTIVATION_TESTS(ClipOfNothingTest)

/// The results for some arguments, and their gradients where those of the results are Inf.
template <class T>
std::vector<double> clipped(const Context& ctx, const std::vector<double>& arguments, const ClipParams& params) {
  const Extents extents{static_cast<std::int64_t>(arguments.size())};
  TestTensor<T> x(ctx, extents), out(ctx, extents), out_grad(ctx, extents), x_grad(ctx, extents);
  x.fill([&](std::int64_t i) { return arguments[static_cast<std::size_t>(i)]; });
  out_grad.fill([](std::int64_t) { return inf; });
  clip(ctx, x, out, params);
  clip_grad(ctx, x, out_grad, x_grad, params);
  out.download();
  x_grad.download();
  std::vector<double> results;
  for (std::int64_t i = 0; i < out.size(); ++i) results.push_back(out[i]);
  for (std::int64_t i = 0; i < out.size(); ++i) results.push_back(x_grad[i]);
  return results;
}

TEST_P(ClipTest, keeps_infinities_on_the_side_without_a_bound) {
  for_each_type([&]<class T>() {
    const std::vector<double> x{-inf, -1, 0, 1, inf};
    EXPECT_EQ(clipped<T>(ctx, x, {.min = 0}), (std::vector<double>{0, 0, 0, 1, inf, 0, 0, inf, inf, inf}));
    EXPECT_EQ(clipped<T>(ctx, x, {.max = 0}), (std::vector<double>{-inf, -1, 0, 0, 0, inf, inf, inf, 0, 0}));
    EXPECT_EQ(clipped<T>(ctx, x, {.min = inf}), (std::vector<double>{inf, inf, inf, inf, inf, 0, 0, 0, 0, inf}));
  });
}

TEST_P(ClipTest, gives_max_where_it_is_less_than_min) {
  for_each_type([&]<class T>() {
    EXPECT_EQ(clipped<T>(ctx, {-inf, -2, 0, 2, inf}, {.min = 1, .max = -1}),
              (std::vector<double>{-1, -1, -1, -1, -1, 0, 0, 0, 0, 0}));
  });
}

TEST_P(ClipTest, rounds_bounds_to_the_element_type_and_includes_them) {
  for_each_type([&]<class T>() {
    const auto bound = static_cast<double>(static_cast<T>(0.1));
    EXPECT_EQ(clipped<T>(ctx, {bound, -bound}, {.min = -0.1, .max = 0.1}),
              (std::vector<double>{bound, -bound, inf, inf}));
    EXPECT_EQ(clipped<T>(ctx, {1, -1}, {.min = -0.1, .max = 0.1}), (std::vector<double>{bound, -bound, 0, 0}));
  });
}

TEST_P(ClipTest, keeps_nan_and_the_sign_of_0) {
  TestTensor<float> x(ctx, {3}), out(ctx, {3}), x_grad(ctx, {3});
  x.fill([](std::int64_t i) { return i == 0 ? nan : i == 1 ? -0.0 : 0.0; });
  for (const ClipParams& params : {ClipParams{.min = 0}, ClipParams{.max = -0.0}}) {
    clip(ctx, x, out, params);
    clip_grad(ctx, x, x, x_grad, params);
    out.download();
    x_grad.download();
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_TRUE(same_bits(out.element(1), -0.0f));
    EXPECT_TRUE(same_bits(out.element(2), 0.0f));
    EXPECT_EQ(x_grad[0], 0.0);
  }
}

TEST_P(ClipTest, refuses_bounds_that_are_no_numbers) {
  const TestTensor<float> x(ctx, {3}), out(ctx, {3});
  for (const std::string bound : {"min", "max"}) {
    const ClipParams params = bound == "min" ? ClipParams{.min = nan} : ClipParams{.max = nan};
    const std::string message = ": " + bound + " is nan, expected a number";
    expect_error([&] { clip(ctx, x, out, params); }, "portops::clip" + message);
    expect_error([&] { clip_grad(ctx, x, x, out, params); }, "portops::clip_grad" + message);
  }
}

}  // namespace
}  // namespace portops::test
