// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_bounds.hpp"
#include "ops/convolution/conv2d/direct/direct.hpp"
#include "ops/convolution/same_results.hpp"
#include "support/sanitized.hpp"

#include <algorithm>

// The direct path of hosts, at the edges of what its tiles take at once.

namespace portops::test {
namespace {

/// Around tiles of 128 positions and 528 output channels, slices of 256 elements of the inner axis, blocks of 64
/// channels and 96 output channels, tiles of 256 pixels; rows of taps that share their pixels of x and ones that do
/// not.
const std::vector<Conv2dCase> cases{
    {.images = 2, .channels = 70, .height = 17, .width = 19, .out_channels = 40},
    {.images = 1, .channels = 65, .height = 7, .width = 30, .out_channels = 100, .channels_last = {"x", "out"}},
    {.images = 1, .channels = 8, .height = 5, .width = 300, .out_channels = 20, .stride = {1, 2}},
    {.images = 1, .channels = 12, .height = 40, .width = 33, .out_channels = 13, .kernel = {5, 4}, .padding = {2, 3}},
    {.images = 2, .channels = 20, .height = 25, .width = 27, .out_channels = 17, .stride = {2, 3}, .dilation = {3, 2}},
    {.images = 1,
     .channels = 5,
     .height = 30,
     .width = 31,
     .out_channels = 9,
     .kernel = {3, 3},
     .padding = {6, 5, 4, 7}},
    {.images = 1, .channels = 3, .height = 40, .width = 41, .out_channels = 64, .kernel = {7, 7}, .stride = {2, 2}},
    {.images = 1, .channels = 2, .height = 5, .width = 16, .out_channels = 531},
    {.images = 2, .channels = 130, .height = 9, .width = 16, .out_channels = 25, .kernel = {1, 1}, .padding = {0, 0}},
    {.images = 2,
     .channels = 300,
     .height = 5,
     .width = 16,
     .out_channels = 200,
     .kernel = {1, 1},
     .padding = {0, 0},
     .channels_last = {"x", "out", "x_grad", "out_grad"}},
    {.images = 1, .channels = 34, .height = 21, .width = 40, .out_channels = 18, .kernel = {1, 1}, .stride = {2, 2}},
    {.images = 1,
     .channels = 36,
     .height = 21,
     .width = 31,
     .out_channels = 18,
     .kernel = {1, 3},
     .stride = {2, 1},
     .padding = {0, 1}},
    {.images = 2, .channels = 24, .height = 16, .width = 15, .out_channels = 30, .groups = 3},
    {.images = 2, .channels = 32, .height = 16, .width = 15, .out_channels = 32, .groups = 8},
    {.images = 9, .channels = 16, .height = 16, .width = 16, .out_channels = 24},
    {.images = 1, .channels = 9, .height = 6, .width = 230, .out_channels = 8, .kernel = {3, 3}, .dilation = {1, 20}},
};

/// In vectors of output channels: fewer and more than a panel of 64 has; images of few pixels, tiles of 256 of them and
/// parts of a row; slices of 72 elements of the inner axis, and windows that have more. Pixels of an image's edge: of
/// several tiles, with windows that lie in the padding, and with more different ones than are told apart.
const std::vector<Conv2dCase> channels_cases{
    {.images = 3, .channels = 33, .height = 7, .width = 7, .out_channels = 130},
    {.images = 1, .channels = 17, .height = 3, .width = 2, .out_channels = 48},
    {.images = 2, .channels = 9, .height = 3, .width = 290, .out_channels = 32, .channels_last = {"x", "out"}},
    {.images = 1, .channels = 4, .height = 25, .width = 23, .out_channels = 64, .stride = {3, 2}, .dilation = {2, 3}},
    {.images = 2, .channels = 3, .height = 14, .width = 15, .out_channels = 31, .kernel = {9, 10}, .padding = {4, 5}},
    {.images = 1, .channels = 150, .height = 6, .width = 6, .out_channels = 80, .kernel = {1, 1}, .padding = {0, 0}},
    {.images = 2, .channels = 24, .height = 10, .width = 9, .out_channels = 96, .groups = 3, .has_bias = false},
    {.images = 1, .channels = 9, .height = 40, .width = 37, .out_channels = 48},
    {.images = 1,
     .channels = 3,
     .height = 20,
     .width = 23,
     .out_channels = 64,
     .kernel = {7, 7},
     .stride = {2, 2},
     .padding = {3, 3}},
    {.images = 1,
     .channels = 10,
     .height = 8,
     .width = 9,
     .out_channels = 32,
     .kernel = {3, 3},
     .padding = {4, 1, 0, 5}},
    {.images = 1, .channels = 10, .height = 12, .width = 13, .out_channels = 32, .kernel = {7, 5}, .padding = {3, 2}},
    {.images = 2,
     .channels = 10,
     .height = 5,
     .width = 6,
     .out_channels = 32,
     .kernel = {3, 3},
     .padding = {2, 2},
     .dilation = {2, 2}},
};

const std::set<std::string> depthwise_last{"x", "out", "x_grad", "out_grad"};

/// Channels side by side: fewer and more than vectors have, and than are taken together; tiles of 128 pixels.
const std::vector<Conv2dCase> depthwise_cases{
    {.channels = 8, .out_channels = 8, .groups = 8},
    {.images = 1, .channels = 71, .height = 20, .width = 23, .out_channels = 71, .groups = 71},
    {.images = 3, .channels = 64, .out_channels = 64, .groups = 64, .has_bias = false},
    {.images = 1, .channels = 9, .height = 3, .width = 300, .out_channels = 9, .kernel = {2, 5}, .groups = 9},
    {.channels = 130,
     .height = 20,
     .width = 21,
     .out_channels = 130,
     .kernel = {5, 5},
     .stride = {2, 3},
     .padding = {3, 0, 1, 4},
     .dilation = {2, 1},
     .groups = 130,
     .channels_last = {"x", "out", "x_grad", "out_grad"}},
    {.images = 1,
     .channels = 10,
     .height = 12,
     .width = 13,
     .out_channels = 10,
     .kernel = {9, 9},
     .padding = {4, 4},
     .groups = 10},
    // Whole vectors of channels, which are read and written where they lie: windows that lie beyond the image on every
    // side, on two sides at once, and altogether; tiles of a part of a row; vectors and a rest.
    {.channels = 48, .height = 9, .width = 11, .out_channels = 48, .groups = 48, .channels_last = depthwise_last},
    {.images = 1,
     .channels = 80,
     .height = 4,
     .width = 3,
     .out_channels = 80,
     .kernel = {7, 5},
     .padding = {3, 3, 2, 6},
     .dilation = {1, 2},
     .groups = 80,
     .channels_last = depthwise_last},
    {.images = 1,
     .channels = 32,
     .height = 5,
     .width = 300,
     .out_channels = 32,
     .kernel = {3, 11},
     .stride = {2, 1},
     .padding = {2, 0, 20, 3},
     .groups = 32,
     .has_bias = false,
     .channels_last = {"x", "out_grad"}},
    {.channels = 64,
     .height = 21,
     .width = 6,
     .out_channels = 64,
     .kernel = {2, 3},
     .stride = {3, 2},
     .padding = {0, 4, 7, 8},
     .groups = 64,
     .channels_last = {"out", "x_grad"}},
    {.channels = 100,
     .height = 7,
     .width = 9,
     .out_channels = 100,
     .kernel = {5, 5},
     .padding = {2, 2},
     .groups = 100,
     .channels_last = depthwise_last},
};

template <class T>
bool is_direct(const Context& ctx, const Conv2dProblem<T>& problem) {
  const impl::Windows windows = problem.windows();
  return impl::suits_direct(
      ctx, windows,
      {problem.refs.at("x"), {}, problem.refs.at("weight"), {}, problem.refs.at("bias"), problem.refs.at("out")});
}

class Conv2dDirectTest : public OnEveryBackend {
 protected:
  void SetUp() override {
    if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "a path of hosts";
  }

  void check(const std::vector<Conv2dCase>& all) {
    for (const Conv2dCase& c : all) {
      for_each_type([&]<class T>() {
        Conv2dProblem<T> problem(ctx, c);
        EXPECT_TRUE(is_direct(ctx, problem)) << c.to_string();
        problem.check(ctx);
        problem.check_grad(ctx);
      });
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(Conv2dDirectTest);

TEST_P(Conv2dDirectTest, equals_the_reference) { check(cases); }

TEST_P(Conv2dDirectTest, equals_the_reference_in_vectors_of_output_channels) { check(channels_cases); }

TEST_P(Conv2dDirectTest, equals_the_reference_of_depthwise_windows) { check(depthwise_cases); }

TEST_P(Conv2dDirectTest, reads_and_writes_every_layout) {
  for (const Layout layout : all_layouts) {
    // In vectors of positions, depthwise, and in vectors of output channels.
    for (const auto& [groups, out_channels] : {std::pair{1, 10}, {10, 10}, {1, 32}}) {
      for (const std::set<std::string>& last :
           {std::set<std::string>{}, {"x", "weight", "out", "x_grad", "weight_grad", "out_grad"}}) {
        Conv2dCase c{.images = 1,
                     .channels = 10,
                     .height = 16,
                     .width = 20,
                     .out_channels = out_channels,
                     .groups = groups,
                     .channels_last = last};
        c.lay_all(layout);
        check({c});
      }
    }
  }
}

TEST_P(Conv2dDirectTest, keeps_nan_and_infinity_to_what_they_are_multiplied_with) {
  for_each_type([&]<class T>() {
    for (const std::int64_t groups : {1, 16}) {
      for (const double special : {nan, inf}) {
        // Corners, the ends of rows, and the pixel behind one.
        for (const std::size_t at : {0, 19, 20, 39, 219, 239}) {
          Conv2dProblem<T> problem(ctx, {.images = 1,
                                         .channels = 16,
                                         .height = 12,
                                         .width = 20,
                                         .out_channels = 16,
                                         .padding = {1, 1, 0, 0},
                                         .groups = groups});
          const std::vector<double> x = problem.inputs.at("x");
          problem.fill("x", [&](std::size_t i) { return i == at ? special : x[i]; });
          problem.check(ctx);
          problem.check_grad(ctx);
        }
      }
    }
  });
}

/// In vectors of output channels: a weight counts where its tap is in x.
TEST_P(Conv2dDirectTest, keeps_infinite_weights_to_windows_that_have_their_tap) {
  for_each_type([&]<class T>() {
    for (std::size_t tap = 0; tap < 9; ++tap) {
      Conv2dProblem<T> problem(ctx, {.images = 1, .channels = 9, .height = 5, .width = 6, .out_channels = 32});
      const std::vector<double> weight = problem.inputs.at("weight");
      problem.fill("weight", [&](std::size_t i) { return i == 9 * 40 + tap ? inf : weight[i]; });
      problem.check(ctx);
    }
  });
}

TEST_P(Conv2dDirectTest, does_not_drift_over_constant_data) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    for (const Conv2dCase& c :
         {Conv2dCase{.images = 1, .channels = 8, .height = 150, .width = 150, .out_channels = 8, .groups = 8},
          Conv2dCase{.images = 2, .channels = 8, .height = 100, .width = 150, .out_channels = 4},
          Conv2dCase{.images = 1, .channels = 900, .height = 8, .width = 16, .out_channels = 4},
          Conv2dCase{.images = 1, .channels = 900, .height = 4, .width = 5, .out_channels = 32}}) {
      Conv2dProblem<T> problem(ctx, c);
      problem.fill("x", [](std::size_t) { return drifting_constants[0]; });
      problem.fill("weight", [](std::size_t) { return 0.7; });
      problem.fill("out_grad", [](std::size_t) { return 0.3; });
      problem.check(ctx);
      problem.check_grad(ctx);
    }
    // Chains of additions of the most elements: one, and some.
    for (const std::int64_t channels : {11, 44, 900}) {
      for (const double constant : drifting_constants) {
        Conv2dProblem<T> problem(ctx, {.images = 1, .channels = channels, .height = 4, .width = 5, .out_channels = 32});
        problem.fill("x", [&](std::size_t) { return constant; });
        problem.fill("weight", [](std::size_t) { return 0.7; });
        problem.check(ctx);
      }
    }
  });
}

TEST_P(Conv2dDirectTest, keeps_the_bounds_of_errors_whatever_the_operands) {
  // In vectors of positions, of output channels, and depthwise.
  for (const Conv2dCase& c :
       {Conv2dCase{.images = 1, .channels = 150, .height = 8, .width = 16, .out_channels = 4},
        Conv2dCase{.images = 1, .channels = 150, .height = 4, .width = 5, .out_channels = 32},
        Conv2dCase{.images = 1, .channels = 10, .height = 60, .width = 62, .out_channels = 10, .groups = 10}}) {
    check({c});
    check_bounds(ctx, c);
  }
}

// The host backends of a build have different numbers of threads.
TEST(Conv2dDirect, bits_do_not_depend_on_the_number_of_threads) {
  const std::vector<Backend> enabled = enabled_backends();
  if (std::ranges::find(enabled, Backend::openmp) == enabled.end()) GTEST_SKIP() << "no backend of several threads";
  std::vector<Conv2dCase> all = cases;
  all.insert(all.end(), channels_cases.begin(), channels_cases.end());
  all.insert(all.end(), depthwise_cases.begin(), depthwise_cases.end());
  for (const Conv2dCase& c : all) {
    for_each_type([&]<class T>() {
      std::map<Backend, Results<T>> results;
      for (const Backend backend : enabled) {
        if (backend == Backend::cuda) continue;
        const Context ctx(backend);
        Conv2dProblem<T> problem(ctx, c);
        problem.run(ctx);
        problem.run_grad(ctx);
        for (const std::string name : {"out", "x_grad", "weight_grad", "bias_grad"}) {
          Conv2dTensor<T>& tensor = problem.tensors.at(name);
          tensor.download();
          for (std::size_t i = 0; i < tensor.size(); ++i) results[backend][name].push_back(tensor.element(i));
        }
      }
      for (const auto& [backend, found] : results) expect_same(found, results.begin()->second, c.to_string());
    });
  }
}

}  // namespace
}  // namespace portops::test
