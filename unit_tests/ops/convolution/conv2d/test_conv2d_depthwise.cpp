// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_bounds.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise.hpp"
#include "ops/convolution/same_results.hpp"
#include "support/sanitized.hpp"

#include <algorithm>
#include <array>

// Windows of a channel each, with an output channel of its own. GPUs take few channels in strips of pixels, and many in
// tiles, with packs of up to 8 of them where these are whole.

namespace portops::test {
namespace {

class Conv2dDepthwiseTest : public OnEveryBackend {
 protected:
  /// All element types, both directions, planes and channels last.
  void check(Conv2dCase c) {
    c.groups = c.out_channels = c.channels;
    for (const std::set<std::string>& last :
         {std::set<std::string>{}, {"x", "out", "x_grad", "out_grad"}, {"x", "x_grad"}}) {
      c.channels_last = last;
      for_each_type([&]<class T>() {
        Conv2dProblem<T> problem(ctx, c);
        if (ctx.backend() == Backend::cuda) {
          const auto& refs = problem.refs;
          const impl::Windows windows = problem.windows();
          EXPECT_TRUE(impl::suits_depthwise(ctx, windows, refs.at("x"), refs.at("weight"), refs.at("out")));
        }
        problem.check(ctx);
        problem.check_grad(ctx);
      });
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(Conv2dDepthwiseTest);

TEST_P(Conv2dDepthwiseTest, equals_the_reference_for_every_window) {
  for (const std::int64_t extent : {3, 5, 7}) {
    const std::int64_t half = extent / 2;
    for (const std::int64_t channels : {28, 32}) {
      for (const std::int64_t stride : {1, 2}) {
        check({.channels = channels,
               .height = 21,
               .width = 18,
               .kernel = {extent, extent},
               .stride = {stride, stride},
               .padding = {half, half}});
      }
    }
    for (const Numbers& stride : {Numbers{1, 1}, Numbers{2, 2}, Numbers{1, 2}, Numbers{3, 1}}) {
      for (const Numbers& dilation : {Numbers{1, 1}, Numbers{2, 1}, Numbers{3, 2}}) {
        check({.channels = 6,
               .height = 21,
               .width = 18,
               .kernel = {extent, extent},
               .stride = stride,
               .padding = {half, half},
               .dilation = dilation});
      }
    }
  }
}

TEST_P(Conv2dDepthwiseTest, equals_the_reference_for_windows_of_one_tap) {
  for (const std::int64_t channels : {1, 6, 31, 32, 70}) {
    check({.images = 3, .channels = channels, .height = 9, .width = 11, .kernel = {1, 1}});
    check({.channels = channels, .height = 9, .width = 40, .kernel = {1, 1}, .padding = {1, 2}, .dilation = {2, 3}});
  }
}

TEST_P(Conv2dDepthwiseTest, equals_the_reference_for_every_number_of_channels) {
  // Around packs of 2 and 8 channels and blocks of 32 and 64.
  for (const std::int64_t channels : {1, 2, 7, 24, 31, 33, 64, 70, 80, 130}) {
    check({.images = 3, .channels = channels, .height = 9, .width = 5});
    check({.images = 1, .channels = channels, .height = 9, .width = 10, .stride = {2, 2}});
  }
}

TEST_P(Conv2dDepthwiseTest, equals_the_reference_for_every_extent_of_images) {
  for (const std::int64_t height : {1, 2, 4, 8, 19}) {
    for (const std::int64_t width : {1, 7, 33}) {
      check({.channels = 3, .height = height, .width = width});
      check({.channels = 4, .height = height, .width = width, .kernel = {7, 7}, .padding = {3, 3}, .has_bias = false});
      check({.channels = 4, .height = height, .width = width, .kernel = {5, 5}, .stride = {2, 2}, .padding = {2, 2}});
      check({.images = 9, .channels = 24, .height = height, .width = width});
      check({.channels = 24, .height = height, .width = width, .kernel = {5, 5}, .stride = {2, 2}, .padding = {2, 2}});
      check({.channels = 24, .height = height, .width = width, .kernel = {7, 7}, .padding = {3, 3}});
    }
  }
  if (is_sanitized()) return;
  // Chunks of many strips, and of many tiles.
  check({.images = 40, .channels = 5, .height = 33, .width = 40});
  check({.images = 430, .channels = 640, .height = 1, .width = 2, .has_bias = false});
}

TEST_P(Conv2dDepthwiseTest, equals_the_reference_for_every_padding) {
  for (const Numbers& padding : {Numbers{0, 0}, Numbers{0, 1, 3, 2}, Numbers{9, 8}, Numbers{4, 0, 0, 5}}) {
    for (const Numbers& stride : {Numbers{1, 1}, Numbers{2, 3}, Numbers{8, 9}}) {
      check({.channels = 8, .height = 10, .width = 9, .stride = stride, .padding = padding});
      if (stride[0] == 1 || stride[0] == 8) continue;
      check({.channels = 24, .height = 10, .width = 9, .stride = {2, 2}, .padding = padding});
      check({.channels = 24, .height = 10, .width = 9, .kernel = {5, 5}, .padding = padding});
    }
  }
}

TEST_P(Conv2dDepthwiseTest, reads_and_writes_every_layout) {
  for (const Layout layout : all_layouts) {
    for (const std::int64_t channels : {6, 32}) {
      for (const Numbers& stride : {Numbers{1, 1}, Numbers{2, 1}}) {
        Conv2dCase c{.channels = channels, .kernel = {5, 5}, .stride = stride, .padding = {2, 2}};
        c.lay_all(layout);
        check(c);
      }
    }
  }
}

TEST_P(Conv2dDepthwiseTest, elements_that_are_not_finite_reach_what_reads_them_alone) {
  const auto check_with = [&](Conv2dCase c, std::size_t x_at, std::size_t grad_at) {
    for (const std::int64_t channels : {4, 32}) {
      c.channels = c.out_channels = c.groups = channels;
      for (const std::set<std::string>& last : {std::set<std::string>{}, {"x", "out", "x_grad", "out_grad"}}) {
        c.channels_last = last;
        for_each_type([&]<class T>() {
          Conv2dProblem<T> problem(ctx, c);
          const std::vector<double> x = problem.inputs.at("x"), grad = problem.inputs.at("out_grad");
          problem.fill("x", [&](std::size_t i) { return i == x_at ? nan : x[i]; });
          problem.check(ctx);
          problem.check_grad(ctx);
          problem.fill("out_grad", [&](std::size_t i) { return i == grad_at ? inf : grad[i]; });
          problem.check_grad(ctx);
        });
      }
    }
  };
  // In the middle, and in the last row: read by a window, or by none.
  check_with({.height = 7, .width = 9}, 31, 31);
  check_with({.height = 7, .width = 9, .stride = {2, 2}}, 31, 7);
  check_with({.height = 12, .width = 9, .padding = {0, 0}}, 11 * 9 + 4, 30);
  check_with({.height = 12, .width = 9, .stride = {2, 1}, .padding = {0, 0}}, 11 * 9 + 4, 15);
  // The same of the last column, and of windows that end before it.
  check_with({.height = 9, .width = 12, .padding = {0, 0}}, 4 * 12 + 11, 30);
  check_with({.height = 9, .width = 12, .stride = {2, 2}, .padding = {0, 0}}, 4 * 12 + 11, 8);
  check_with({.height = 12, .width = 11, .kernel = {5, 5}, .padding = {0, 0}}, 11 * 11 + 4, 30);
}

/// Rows and columns counted backwards, with channels that are neighbours.
TEST_P(Conv2dDepthwiseTest, reads_flipped_images) {
  for (const auto& [channels, stride] : {std::pair{8, 1}, {8, 2}, {32, 1}, {32, 2}}) {
    for_each_type([&]<class T>() {
      Conv2dProblem<T> problem(ctx, {.channels = channels,
                                     .height = 10,
                                     .width = 7,
                                     .out_channels = channels,
                                     .stride = {stride, stride},
                                     .groups = channels,
                                     .channels_last = {"x", "out", "x_grad", "out_grad"}});
      for (const std::string name : {"x", "out_grad"}) problem.flip(name);
      problem.check(ctx);
      problem.check_grad(ctx);
    });
  }
}

/// Gradients of windows of even extents, in whose phases are odd ones; and other windows, which are none of these.
TEST_P(Conv2dDepthwiseTest, other_windows_equal_the_reference) {
  for (const std::array<std::int64_t, 2> kernel :
       {std::array<std::int64_t, 2>{6, 6}, {10, 10}, {3, 4}, {2, 2}, {4, 1}}) {
    for (const Numbers& stride : {Numbers{1, 1}, Numbers{2, 2}, Numbers{2, 3}}) {
      for (const std::set<std::string>& last : {std::set<std::string>{}, {"x", "out", "x_grad", "out_grad"}}) {
        for_each_type([&]<class T>() {
          Conv2dProblem<T> problem(ctx, {.images = 3,
                                         .channels = 6,
                                         .height = 21,
                                         .width = 30,
                                         .out_channels = 6,
                                         .kernel = kernel,
                                         .stride = stride,
                                         .padding = {2, 1},
                                         .groups = 6,
                                         .channels_last = last});
          problem.check(ctx);
          problem.check_grad(ctx);
        });
      }
    }
  }
}

TEST_P(Conv2dDepthwiseTest, reads_a_weight_that_stands_for_many) {
  for_each_type([&]<class T>() {
    Conv2dProblem<T> problem(ctx, {.channels = 6, .out_channels = 6, .groups = 6});
    const double one = problem.inputs.at("weight")[0];
    problem.fill("weight", [&](std::size_t) { return one; });
    const TensorRef whole = problem.refs.at("weight");
    problem.refs["weight"] =
        TensorRef(static_cast<const T*>(whole.data()), whole.extents(), Extents::of_rank(4), whole.space());
    problem.check(ctx);
    problem.check_grad(ctx);
  });
}

TEST_P(Conv2dDepthwiseTest, is_left_to_others_beyond_numbers_of_32_bits) {
  impl::Windows windows{.images = 1,
                        .channels = 4,
                        .height = 9,
                        .width = 9,
                        .out_channels = 4,
                        .out_height = 1,
                        .out_width = 1,
                        .kernel_height = 3,
                        .kernel_width = 3,
                        .groups = 4};
  const TensorRef x = TensorRef::without_data(ElementType::f32, {1, 4, 9, 9}),
                  weight = TensorRef::without_data(ElementType::f32, {4, 1, 3, 3}),
                  out = TensorRef::without_data(ElementType::f32, {1, 4, 1, 1});
  EXPECT_EQ(impl::suits_depthwise(ctx, windows, x, weight, out), ctx.backend() == Backend::cuda);
  windows.stride_y = std::int64_t{1} << 40;
  EXPECT_FALSE(impl::suits_depthwise(ctx, windows, x, weight, out));
  windows.stride_y = 1;
  windows.left = std::int64_t{1} << 31;
  EXPECT_FALSE(impl::suits_depthwise(ctx, windows, x, weight, out));
}

TEST_P(Conv2dDepthwiseTest, does_not_drift_over_constant_data) {
  for (const auto& [channels, extent] : {std::pair{2, 200}, {24, 60}}) {
    for_each_type([&]<class T>() {
      Conv2dProblem<T> problem(ctx, {.images = 3,
                                     .channels = channels,
                                     .height = extent,
                                     .width = extent + 11,
                                     .out_channels = channels,
                                     .groups = channels,
                                     .channels_last = {"x", "out", "x_grad", "out_grad"}});
      problem.fill("x", [&](std::size_t) { return drifting_constants[0]; });
      problem.fill("weight", [](std::size_t) { return 0.7; });
      problem.fill("out_grad", [](std::size_t) { return 0.3; });
      problem.check(ctx);
      problem.check_grad(ctx);
    });
  }
}

TEST_P(Conv2dDepthwiseTest, keeps_the_bounds_of_errors_whatever_the_operands) {
  // In strips, and in tiles.
  for (const auto& [channels, extent] : {std::pair{3, 60}, {32, 18}}) {
    for (const std::set<std::string>& last : {std::set<std::string>{}, {"x", "out", "x_grad", "out_grad"}}) {
      const Conv2dCase c{.channels = channels,
                         .height = extent,
                         .width = extent + 3,
                         .out_channels = channels,
                         .kernel = {7, 7},
                         .padding = {3, 3},
                         .groups = channels,
                         .channels_last = last};
      check(c);
      check_bounds(ctx, c);
    }
  }
}

/// weight_grad and bias_grad, which tiles give together, without the other one.
TEST_P(Conv2dDepthwiseTest, gives_each_gradient_alone) {
  for (const std::int64_t channels : {6, 32}) {
    for (const std::string wanted : {"weight_grad", "bias_grad"}) {
      for_each_type([&]<class T>() {
        Conv2dProblem<T> problem(
            ctx,
            {.channels = channels, .out_channels = channels, .groups = channels, .channels_last = {"x", "out_grad"}});
        const auto only = [&](const std::string& name) { return name == wanted ? problem.refs.at(name) : TensorRef(); };
        conv2d_grad(ctx, problem.refs.at("x"), problem.refs.at("weight"), problem.refs.at("out_grad"), {},
                    only("weight_grad"), only("bias_grad"), problem.params());
        problem.expect(wanted, problem.expected(wanted));
      });
    }
  }
}

TEST_P(Conv2dDepthwiseTest, gives_the_same_bits_every_time) {
  Conv2dProblem<float> problem(
      ctx, {.images = 5, .channels = 88, .out_channels = 88, .groups = 88, .channels_last = {"x", "out", "out_grad"}});
  const auto results = [&] {
    problem.run(ctx);
    problem.run_grad(ctx);
    Results<float> all;
    for (const std::string name : {"out", "x_grad", "weight_grad", "bias_grad"}) {
      Conv2dTensor<float>& tensor = problem.tensors.at(name);
      tensor.download();
      for (std::size_t i = 0; i < tensor.size(); ++i) all[name].push_back(tensor.element(i));
    }
    return all;
  };
  const Results<float> first = results();
  for (int run = 0; run < 3; ++run) expect_same(results(), first, problem.shape.to_string());
}

}  // namespace
}  // namespace portops::test
