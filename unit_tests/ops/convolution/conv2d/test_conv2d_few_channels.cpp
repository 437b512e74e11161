// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_bounds.hpp"
#include "ops/convolution/conv2d/few_channels/few_channels.hpp"
#include "ops/convolution/conv2d/few_channels/from_few_plan.hpp"

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

// x of few channels, as a first layer has it: x_grad adds up what out_grad's channels give; conv2d and weight_grad take
// tiles whose x stays in scratch.

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

TEST_P(Conv2dFewChannelsTest, gradients_keep_the_bounds_of_errors_whatever_the_operands) {
  const Conv2dCase c{.images = 128, .channels = 1, .height = 6, .width = 5, .out_channels = 72};
  check(c);
  check_bounds(ctx, c, conv2d_gradients);
}

/// An image to 8 channels by 12 taps, which go in tiles in both layouts.
const Conv2dCase twelve_taps{
    .images = 2, .channels = 1, .height = 24, .width = 10, .out_channels = 8, .kernel = {4, 3}, .padding = {2, 1}};

class Conv2dFromFewTest : public OnEveryBackend {
 protected:
  /// All element types, with out and out_grad in planes and with their channels last.
  void check(Conv2dCase c, bool suits_planes = true, bool suits_last = true) {
    for (const bool last : {false, true}) {
      c.channels_last = last ? std::set<std::string>{"out", "out_grad"} : std::set<std::string>{};
      for_each_type([&]<class T>() {
        Conv2dProblem<T> problem(ctx, c);
        check(problem, last ? suits_last : suits_planes);
      });
    }
  }
  template <class T>
  void check(Conv2dProblem<T>& problem, bool suits = true) {
    if (ctx.backend() == Backend::cuda) {
      const auto& refs = problem.refs;
      for (const auto& [call, name] : {std::pair{impl::FromFewCall::forward, std::string("out")},
                                       std::pair{impl::FromFewCall::weight_grad, std::string("out_grad")}}) {
        // Into planes a thread a pixel is faster for small windows.
        const bool is_other = name == "out" && !problem.shape.channels_last.contains(name) && problem.shape.taps() <= 9;
        EXPECT_EQ(impl::suits_from_few(ctx, problem.windows(), call, refs.at("x"), refs.at("weight"), refs.at(name)),
                  suits && !is_other)
            << name << " of " << problem.shape.to_string();
      }
    }
    for (const std::string name : {"out", "weight_grad"}) problem.poison(name);
    problem.check(ctx);
    problem.check_grad(ctx);
  }
};

PORTOPS_ON_EVERY_BACKEND(Conv2dFromFewTest);

TEST_P(Conv2dFromFewTest, equals_the_reference_for_every_window) {
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    check({.images = 3, .channels = channels, .height = 24, .width = 11, .out_channels = 8});
  }
  for (const std::array<std::int64_t, 2>& kernel :
       std::vector<std::array<std::int64_t, 2>>{{7, 7}, {5, 5}, {1, 6}, {6, 1}, {2, 3}, {4, 9}}) {
    check({.images = 2, .channels = 1, .height = 24, .width = 17, .out_channels = 8, .kernel = kernel});
  }
  // A channel, and two elements, too many.
  check({.channels = 5, .height = 24, .width = 11, .out_channels = 8}, false, false);
  check({.channels = 2, .height = 24, .out_channels = 8, .kernel = {3, 11}, .padding = {1, 5}}, false, false);
}

TEST_P(Conv2dFromFewTest, equals_the_reference_for_every_number_of_output_channels) {
  // Of f64 a thread has two, of others four; as many as lanes share; of channels that are no packs, planes alone.
  const auto check_outs = [&](std::int64_t out_channels, bool suits_planes, bool suits_last) {
    Conv2dCase c = twelve_taps;
    c.out_channels = out_channels;
    check(c, suits_planes, suits_last);
  };
  for (const std::int64_t out_channels : {4, 8, 12, 16, 20, 24, 32, 48, 64}) check_outs(out_channels, true, true);
  for (const std::int64_t out_channels : {5, 7, 33}) check_outs(out_channels, true, false);
  for (const std::int64_t out_channels : {1, 65}) check_outs(out_channels, false, false);
}

TEST_P(Conv2dFromFewTest, equals_the_reference_for_every_extent_of_images) {
  const auto check_extents = [&](std::int64_t height, std::int64_t width, std::int64_t out_channels,
                                 std::int64_t images) {
    Conv2dCase c = twelve_taps;
    c.images = images;
    c.height = height;
    c.width = width;
    c.out_channels = out_channels;
    check(c);
  };
  // Around strips of four pixels, and tiles of so many strips.
  for (const std::int64_t width : {1, 3, 4, 5, 28, 31, 130}) check_extents(70, width, 8, 2);
  for (const auto& [height, width] : std::vector<std::array<std::int64_t, 2>>{{1, 260}, {2, 130}, {33, 12}}) {
    check_extents(height, width, 8, 2);
  }
  check_extents(3, 1100, 32, 1);
  // Of whose pixels a team would have too few.
  check({.images = 20, .channels = 1, .height = 5, .width = 6, .out_channels = 4}, false, false);
}

// A team has some rounds in each of its tiles, and the last one fewer.
TEST_P(Conv2dFromFewTest, equals_the_reference_in_many_rounds) {
  need_type<float>();
  for (const bool last : {false, true}) {
    Conv2dCase c = twelve_taps;
    c.images = 180;
    c.channels = last ? 2 : 1;
    c.height = last ? 21 : 15;
    c.width = last ? 12 : 130;
    c.out_channels = last ? 32 : 4;
    // Hosts have no rounds, and what a sanitizer would see is the same in few images.
    if (ctx.backend() != Backend::cuda) c.images = 5;
    if (last) c.channels_last = {"out", "out_grad"};
    Conv2dProblem<float> problem(ctx, c);
    if (ctx.backend() == Backend::cuda) {
      for (const auto call : {impl::FromFewCall::forward, impl::FromFewCall::weight_grad}) {
        const impl::FromFewPlan plan(problem.windows(), call, last, sizeof(float));
        EXPECT_GT(plan.rounds, 1);
        EXPECT_NE(plan.windows.out_height % (plan.rows * plan.rounds), 0);
      }
    }
    check(problem);
  }
}

TEST_P(Conv2dFromFewTest, equals_the_reference_for_every_stride_dilation_and_padding) {
  const Conv2dCase c{.images = 2, .channels = 2, .height = 60, .width = 70, .out_channels = 8, .kernel = {3, 4}};
  for (const Numbers& by : {Numbers{2, 2}, Numbers{1, 3}, Numbers{3, 1}}) {
    Conv2dCase strided = c, dilated = c;
    strided.stride = dilated.dilation = by;
    check(strided);
    check(dilated);
    strided.dilation = {2, 2};
    check(strided);
  }
  for (const Numbers& padding : {Numbers{0, 0}, Numbers{4, 0}, Numbers{0, 1, 2, 0}, Numbers{5, 4}}) {
    Conv2dCase padded = c;
    padded.padding = padding;
    padded.has_bias = false;
    check(padded);
  }
  // Pixels so far apart that scratch has what few of them read, and steps that are too large.
  check({.images = 1, .channels = 2, .height = 5, .width = 4000, .out_channels = 8, .stride = {1, 60}}, false, false);
  check({.images = 1, .channels = 1, .height = 100, .width = 130, .out_channels = 32, .stride = {65, 1}}, false, false);
}

TEST_P(Conv2dFromFewTest, reads_and_writes_every_layout) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      Conv2dCase c{.images = 3, .channels = 3, .height = 24, .width = 10, .out_channels = 8};
      c.lay_all(layout);
      Conv2dProblem<T> problem(ctx, c);
      problem.check(ctx);
      problem.check_grad(ctx);
    }
    for (const std::set<std::string>& last :
         {std::set<std::string>{"x", "weight", "out", "out_grad", "weight_grad"}, {"x", "weight_grad"}}) {
      Conv2dProblem<T> problem(
          ctx, {.images = 3, .channels = 3, .height = 24, .width = 10, .out_channels = 8, .channels_last = last});
      for (const std::string name : {"x", "out_grad"}) problem.flip(name);
      problem.check(ctx);
      problem.check_grad(ctx);
    }
  });
}

// Windows end before the image does, and strips where windows do: what lies behind counts for nothing.
TEST_P(Conv2dFromFewTest, elements_that_are_not_finite_reach_the_windows_that_hold_them_alone) {
  for (const bool last : {false, true}) {
    for_each_type([&]<class T>() {
      Conv2dCase c{.images = 2, .channels = 1, .height = 40, .width = 8, .out_channels = 8, .padding = {0, 0}};
      if (last) c.channels_last = {"out", "out_grad"};
      for (const double special : {nan, inf}) {
        for (const std::size_t at : {std::size_t{0}, std::size_t{30}, std::size_t{319}}) {
          Conv2dProblem<T> problem(ctx, c);
          const std::vector<double> x = problem.inputs.at("x");
          problem.fill("x", [&](std::size_t i) { return i == at ? special : x[i]; });
          check(problem);
        }
        Conv2dProblem<T> problem(ctx, c);
        const std::vector<double> grad = problem.inputs.at("out_grad");
        problem.fill("out_grad", [&](std::size_t i) { return i == 41 ? special : grad[i]; });
        check(problem);
      }
    });
  }
}

TEST_P(Conv2dFromFewTest, sums_do_not_drift_over_constant_data) {
  need_type<float>();
  for (const bool last : {false, true}) {
    Conv2dCase c{.images = 400, .channels = 1, .height = 40, .width = 44, .out_channels = 8};
    if (last) c.channels_last = {"out", "out_grad"};
    Conv2dProblem<float> problem(ctx, c);
    problem.fill_with_constants();
    problem.run_grad(ctx);
    problem.expect_sums_of_constants(2e-6);
  }
}

TEST_P(Conv2dFromFewTest, keeps_the_bounds_of_errors_whatever_the_operands) {
  for (const bool last : {false, true}) {
    Conv2dCase c = twelve_taps;
    c.images = 9;
    c.height = 40;
    check(c);
    if (last) c.channels_last = {"out", "out_grad"};
    check_bounds(ctx, c);
  }
}

TEST_P(Conv2dFromFewTest, gives_the_same_bits_each_time) {
  need_type<float>();
  Conv2dProblem<float> problem(ctx, {.images = 70, .channels = 1, .height = 28, .width = 28, .out_channels = 32});
  const auto bits = [&] {
    problem.run_grad(ctx);
    Conv2dTensor<float>& tensor = problem.tensors.at("weight_grad");
    tensor.download();
    std::vector<double> all;
    for (std::size_t i = 0; i < tensor.size(); ++i) all.push_back(tensor[i]);
    return all;
  };
  const std::vector<double> first = bits();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bits(), first);
}

}  // namespace
}  // namespace portops::test
