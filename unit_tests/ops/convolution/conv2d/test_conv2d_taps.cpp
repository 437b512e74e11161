// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_bounds.hpp"
#include "ops/convolution/conv2d/weight_grad_by_products.hpp"
#include "support/sanitized.hpp"

// weight_grad in tf32, and in f32 of few output channels, which GPUs multiply tap by tap out of tiles of x and
// out_grad: blocks of 32 or 64 channels and output channels and nine taps, steps of 8 or 16 pixels, what several blocks
// add up together.

namespace portops::test {
namespace {

class Conv2dTapsTest : public OnEveryBackend {
 protected:
  void check(const Conv2dCase& c) {
    Conv2dProblem<float> problem(ctx, c);
    check(problem);
  }
  void check(Conv2dProblem<float>& problem) {
    for (const Math math : {Math::ieee, Math::tf32}) {
      const Context with_math = Context(ctx).math(math);
      const bool is_cuda = ctx.backend() == Backend::cuda;
      if (is_cuda) {
        suited = suited && impl::suits_weight_products(with_math, problem.windows(), problem.refs.at("x"),
                                                       problem.refs.at("out_grad"));
      }
      problem.check_grad(with_math, is_cuda && math == Math::tf32 ? 0x1p-10 : Conv2dProblem<float>::default_tolerance);
    }
  }
  void TearDown() override {
    if (!suited) GTEST_SKIP() << "equal to the reference, but on another path";
  }

  bool suited = true;
};

PORTOPS_ON_EVERY_BACKEND(Conv2dTapsTest);

const std::set<std::string> all_last{"x", "out_grad", "x_grad", "weight_grad"};

TEST_P(Conv2dTapsTest, weight_gradients_equal_the_reference_for_every_extent_of_images) {
  // Tiles that end with an image, and within a step; images of fewer pixels than a step; shares of many images.
  for (const auto& [images, height, width] : std::vector<std::array<std::int64_t, 3>>{
           {1, 33, 29}, {2, 16, 16}, {9, 7, 7}, {5, 1, 3}, {3, 2, 41}, {130, 2, 2}, {1, 20, 25}}) {
    check({.images = images,
           .channels = 32,
           .height = height,
           .width = width,
           .out_channels = 32,
           .channels_last = all_last});
  }
}

TEST_P(Conv2dTapsTest, weight_gradients_equal_the_reference_for_every_number_of_channels) {
  for (const std::int64_t channels : {4, 28, 36, 64, 68, 100}) {
    for (const std::int64_t out_channels : {16, 27, 33, 64, 70}) {
      for (const std::set<std::string>& last : {std::set<std::string>{}, all_last}) {
        check({.images = 2,
               .channels = channels,
               .height = 6,
               .width = 5,
               .out_channels = out_channels,
               .channels_last = last});
      }
    }
  }
  check({.images = 2, .channels = 320, .height = 5, .width = 4, .out_channels = 200, .channels_last = all_last});
}

TEST_P(Conv2dTapsTest, weight_gradients_equal_the_reference_for_every_window) {
  // Six to nine taps of nine, and several blocks' taps; those of other kernels go another way.
  for (const auto& [height, width] : std::vector<std::array<std::int64_t, 2>>{
           {2, 3}, {3, 2}, {8, 1}, {1, 7}, {4, 4}, {5, 5}, {7, 7}, {3, 40}, {1, 1}, {2, 2}}) {
    if (height * width > unless_sanitized(120, 16)) continue;
    check({.images = 2,
           .channels = 36,
           .height = 13,
           .width = 41,
           .out_channels = 40,
           .kernel = {height, width},
           .padding = {height / 2, width / 2}});
  }
}

TEST_P(Conv2dTapsTest, weight_gradients_equal_the_reference_for_every_stride_dilation_and_padding) {
  for (const Numbers& stride : {Numbers{1, 1}, Numbers{2, 2}, Numbers{1, 3}, Numbers{4, 1}}) {
    for (const Numbers& dilation : {Numbers{1, 1}, Numbers{2, 1}, Numbers{3, 5}}) {
      for (const Numbers& padding : {Numbers{0, 0}, Numbers{2, 0, 1, 3}, Numbers{5, 11}}) {
        check({.images = 2,
               .channels = 32,
               .height = 15,
               .width = 14,
               .out_channels = 20,
               .stride = stride,
               .padding = padding,
               .dilation = dilation,
               .channels_last = {"x"}});
      }
    }
  }
}

TEST_P(Conv2dTapsTest, weight_gradients_equal_the_reference_of_many_tiles) {
  // As many blocks as a GPU has room for: each has all tiles, and every stage several times.
  check({.images = 20, .channels = 2112, .height = 2, .width = 2, .out_channels = 4224, .groups = 264});
}

TEST_P(Conv2dTapsTest, sums_do_not_drift_over_constant_data) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "few blocks with many pixels each";
  const Conv2dCase c{.images = 3, .channels = 2112, .height = 50, .width = 50, .out_channels = 4224, .groups = 264};
  Conv2dProblem<float> problem(ctx, c);
  problem.fill_with_constants();
  problem.refs["x_grad"] = {};
  for (const Math math : {Math::ieee, Math::tf32}) {
    problem.run_grad(Context(ctx).math(math));
    problem.expect_sums_of_constants(math == Math::tf32 ? 0x1p-10 : 2 * Conv2dProblem<float>::default_tolerance);
  }
}

TEST_P(Conv2dTapsTest, weight_gradients_keep_the_bounds_of_errors_whatever_the_operands) {
  const Conv2dCase c{
      .images = 3, .channels = 32, .height = 20, .width = 21, .out_channels = 16, .channels_last = all_last};
  check(c);
  check_bounds(ctx, c, {"weight_grad", "bias_grad"});
}

TEST_P(Conv2dTapsTest, weight_gradients_equal_the_reference_of_groups) {
  check({.images = 2, .channels = 128, .height = 9, .width = 10, .out_channels = 128, .groups = 2});
  check({.images = 2, .channels = 144, .height = 8, .out_channels = 80, .groups = 4, .channels_last = all_last});
}

TEST_P(Conv2dTapsTest, weight_gradients_read_and_write_every_layout) {
  for (const Layout layout : all_layouts) {
    for (const std::set<std::string>& last : {std::set<std::string>{}, all_last}) {
      Conv2dCase c{.images = 2, .channels = 40, .height = 7, .width = 11, .out_channels = 24, .channels_last = last};
      c.lay_all(layout);
      check(c);
    }
  }
}

TEST_P(Conv2dTapsTest, weight_gradients_have_the_same_bits_whenever_they_are_computed) {
  Conv2dProblem<float> problem(
      ctx, {.images = 40, .channels = 64, .height = 9, .width = 9, .out_channels = 32, .channels_last = all_last});
  const auto bits = [&](const Context& on) {
    problem.run_grad(on);
    std::vector<float> all;
    for (const std::string name : {"weight_grad", "bias_grad"}) {
      Conv2dTensor<float>& tensor = problem.tensors.at(name);
      tensor.download();
      for (std::size_t i = 0; i < tensor.size(); ++i) all.push_back(tensor.element(i));
    }
    return all;
  };
  for (const Math math : {Math::ieee, Math::tf32}) {
    const Context with_math = Context(ctx).math(math);
    const std::vector<float> first = bits(with_math);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(bits(with_math), first);
  }
}

TEST_P(Conv2dTapsTest, elements_that_are_not_finite_reach_the_taps_that_meet_them_alone) {
  // 35 pixels, of which the last step has three, and 9 in rows of 3; out_grad meets no padding, of which it would make
  // NaN.
  for (const std::array<std::int64_t, 2>& extent : {std::array<std::int64_t, 2>{5, 7}, {3, 3}}) {
    const std::int64_t pixels = extent[0] * extent[1];
    for (const std::int64_t pixel : {std::int64_t{0}, extent[1] - 1, pixels - extent[1], pixels - 1}) {
      for (const double special : {nan, inf}) {
        for (const std::string name : {"x", "out_grad"}) {
          Conv2dCase c{.images = 2,
                       .channels = 32,
                       .height = extent[0],
                       .width = extent[1],
                       .out_channels = 32,
                       .channels_last = all_last};
          if (name == "out_grad") {
            c.height += 2;
            c.width += 2;
            c.padding = {0, 0};
          }
          Conv2dProblem<float> problem(ctx, c);
          const std::vector<double> values = problem.inputs.at(name);
          problem.fill(name, [&](std::size_t i) {
            return i == static_cast<std::size_t>(40 * pixels + pixel) ? special : values[i];
          });
          check(problem);
        }
      }
    }
  }
}

}  // namespace
}  // namespace portops::test
