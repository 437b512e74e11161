// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_reference.hpp"
#include "ops/convolution/conv2d/few_channels/few_channels.hpp"

// x of few channels, as a first layer has it: x_grad adds up what out_grad's channels give.

namespace portops::test {
namespace {

class Conv2dFewChannelsTest : public OnEveryBackend {
 protected:
  /// All element types, with out_grad in planes and with its channels last.
  void check(Conv2dCase c) {
    for (const std::set<std::string>& last : {std::set<std::string>{}, {"out_grad", "x_grad"}}) {
      c.channels_last = last;
      for_each_type([&]<class T>() {
        Conv2dProblem<T> problem(ctx, c);
        if (ctx.backend() == Backend::cuda) {
          const auto& refs = problem.refs;
          const impl::Windows windows = problem.windows();
          EXPECT_TRUE(
              impl::suits_few_channels_x_grad(ctx, windows, refs.at("weight"), refs.at("out_grad"), refs.at("x_grad")))
              << c.to_string();
        }
        problem.check_grad(ctx);
      });
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(Conv2dFewChannelsTest);

TEST_P(Conv2dFewChannelsTest, gradients_equal_the_reference_for_every_window) {
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    check({.images = 130, .channels = channels, .height = 6, .width = 5, .out_channels = 16});
  }
  for (const std::int64_t extent : {5, 7}) {
    check({.images = 128,
           .channels = 1,
           .height = 8,
           .width = 9,
           .out_channels = 16,
           .kernel = {extent, extent},
           .padding = {extent / 2, extent / 2}});
  }
}

TEST_P(Conv2dFewChannelsTest, gradients_equal_the_reference_for_every_number_of_output_channels) {
  // Around packs of 8, and blocks of 32.
  for (const std::int64_t out_channels : {12, 31, 32, 33, 72}) {
    check({.images = 128, .channels = 1, .height = 4, .width = 7, .out_channels = out_channels});
  }
}

TEST_P(Conv2dFewChannelsTest, gradients_equal_the_reference_for_every_extent_and_padding) {
  for (const Numbers& padding : {Numbers{0, 0}, Numbers{0, 1, 2, 0}, Numbers{3, 4}}) {
    check({.images = 22, .channels = 1, .height = 33, .width = 19, .out_channels = 12, .padding = padding});
    check({.images = 64, .channels = 3, .height = 17, .width = 4, .out_channels = 12, .padding = padding});
  }
}

TEST_P(Conv2dFewChannelsTest, gradients_read_and_write_every_layout) {
  for (const Layout layout : all_layouts) {
    Conv2dCase c{.images = 128, .channels = 3, .height = 5, .width = 6, .out_channels = 16};
    c.lay_all(layout);
    check(c);
  }
}

TEST_P(Conv2dFewChannelsTest, elements_that_are_not_finite_reach_the_pixels_of_their_windows_alone) {
  for_each_type([&]<class T>() {
    for (const double special : {nan, inf}) {
      Conv2dProblem<T> problem(ctx, {.images = 128, .channels = 1, .height = 9, .width = 9, .out_channels = 16});
      const std::vector<double> grad = problem.inputs.at("out_grad");
      problem.fill("out_grad", [&](std::size_t i) { return i == 40 ? special : grad[i]; });
      problem.check_grad(ctx);
    }
  });
}

}  // namespace
}  // namespace portops::test
