// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_reference.hpp"
#include "ops/convolution/conv2d/weight_grad_by_products.hpp"

#include <array>
#include <set>
#include <string>
#include <vector>

// weight_grad in 16-bit types that GPUs multiply out of patches of 8 by 8 pixels of out_grad, all taps of 64 channels
// by 32 or 64.

namespace portops::test {
namespace {

const std::set<std::string> all_last{"x", "out_grad", "x_grad", "weight_grad"};

class Conv2dPatchesTest : public OnEveryBackend {
 protected:
  void SetUp() override {
    if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "GPUs alone take patches";
  }
  template <class T>
  void check(const Conv2dCase& c) {
    Conv2dProblem<T> problem(ctx, c);
    check(problem);
  }
  template <class T>
  void check(Conv2dProblem<T>& problem) {
    suited = suited && impl::takes_patches(ctx, problem.windows(), ElementTypeOf<T>::value);
    problem.check_grad(ctx);
  }
  template <class Action>
  void for_each_narrow_type(const Action& action) {
    for_each_type([&]<class T>() {
      if constexpr (sizeof(T) == 2) action.template operator()<T>();
    });
  }
  void TearDown() override {
    if (!suited) GTEST_SKIP() << "equal to the reference, but on another path";
  }

  bool suited = true;
};

PORTOPS_ON_EVERY_BACKEND(Conv2dPatchesTest);

// Patches that end where the image does, and have pixels in common with those before. A share has eight or more, of
// 132 on the GPUs that there are.
TEST_P(Conv2dPatchesTest, weight_gradients_equal_the_reference_for_every_extent_of_images) {
  for_each_narrow_type([&]<class T>() {
    for (const auto& [images, height, width] : std::vector<std::array<std::int64_t, 3>>{
             {1061, 8, 8}, {530, 8, 9}, {268, 9, 14}, {119, 17, 24}, {60, 33, 29}}) {
      check<T>({.images = images,
                .channels = 8,
                .height = height,
                .width = width,
                .out_channels = 16,
                .channels_last = all_last});
    }
  });
}

// In images of four patches.
TEST_P(Conv2dPatchesTest, weight_gradients_equal_the_reference_for_every_number_of_channels) {
  need_type<f16>();
  for (const auto& [channels, out_channels, tiles] : std::vector<std::array<std::int64_t, 3>>{
           {32, 33, 1}, {8, 64, 1}, {8, 130, 3}, {40, 27, 1}, {72, 16, 2}, {136, 32, 3}}) {
    check<f16>({.images = 8 * 132 / tiles / 4 + 1,
                .channels = channels,
                .height = 9,
                .width = 9,
                .out_channels = out_channels,
                .channels_last = channels == 40 ? std::set<std::string>() : all_last});
  }
}

TEST_P(Conv2dPatchesTest, weight_gradients_equal_the_reference_for_every_window) {
  need_type<f16>();
  struct Window {
    std::array<std::int64_t, 2> kernel;
    std::vector<std::int64_t> dilation, padding;
  };
  for (const Window& window : {Window{{3, 3}, {1, 1}, {0, 0}},
                               {{3, 2}, {1, 1}, {2, 1}},
                               {{1, 7}, {1, 1}, {0, 3}},
                               {{9, 1}, {1, 1}, {4, 0}},
                               {{3, 3}, {2, 3}, {2, 3}},
                               {{2, 4}, {1, 2}, {1, 5}}}) {
    check<f16>({.images = 265,
                .channels = 8,
                .height = 13,
                .width = 14,
                .out_channels = 16,
                .kernel = window.kernel,
                .padding = window.padding,
                .dilation = window.dilation,
                .channels_last = all_last});
  }
}

// Rows of windows of a first layer are the channels of pixels that have most of them in common.
TEST_P(Conv2dPatchesTest, weight_gradients_of_first_layers_equal_the_reference) {
  need_type<f16>();
  for (const std::int64_t channels : {1, 3}) {
    Conv2dProblem<f16>(ctx, {.images = 1061,
                             .channels = channels,
                             .height = 14,
                             .width = 14,
                             .out_channels = 16,
                             .kernel = {7, 7},
                             .padding = {0, 0},
                             .channels_last = all_last})
        .check_grad(ctx);
  }
}

// Which are copied: the engine for tensor copies goes forwards alone.
TEST_P(Conv2dPatchesTest, weight_gradients_read_flipped_images) {
  need_type<f16>();
  Conv2dProblem<f16> problem(
      ctx, {.images = 265, .channels = 8, .height = 9, .width = 10, .out_channels = 16, .channels_last = all_last});
  for (const std::string name : {"x", "out_grad"}) problem.flip(name);
  check(problem);
}

TEST_P(Conv2dPatchesTest, weight_gradients_have_the_same_bits_whenever_they_are_computed) {
  for_each_narrow_type([&]<class T>() {
    Conv2dProblem<T> problem(
        ctx, {.images = 270, .channels = 16, .height = 9, .width = 9, .out_channels = 32, .channels_last = all_last});
    const auto bits = [&] {
      problem.run_grad(ctx);
      std::vector<double> all;
      for (const std::string name : {"weight_grad", "bias_grad"}) {
        Conv2dTensor<T>& tensor = problem.tensors.at(name);
        tensor.download();
        for (std::size_t i = 0; i < tensor.size(); ++i) all.push_back(tensor[i]);
      }
      return all;
    };
    const std::vector<double> first = bits();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(bits(), first);
  });
}

// Also those that two patches have in common. out_grad meets no padding, of which it would make NaN.
TEST_P(Conv2dPatchesTest, elements_that_are_not_finite_reach_the_taps_that_meet_them_alone) {
  need_type<f16>();
  // The last row and column alone are not those of the first patch.
  constexpr std::int64_t side = 9, pixels = side * side;
  for (const std::int64_t pixel : {std::int64_t{0}, side + 6, pixels - 1}) {
    for (const double special : {nan, inf}) {
      for (const std::string name : {"x", "out_grad"}) {
        Conv2dCase c{
            .images = 265, .channels = 8, .height = side, .width = side, .out_channels = 16, .channels_last = all_last};
        if (name == "out_grad") {
          c.height += 2;
          c.width += 2;
          c.padding = {0, 0};
        }
        Conv2dProblem<f16> problem(ctx, c);
        const std::vector<double> values = problem.inputs.at(name);
        problem.fill(name, [&](std::size_t i) {
          return i == static_cast<std::size_t>(20 * pixels + pixel) ? special : values[i];
        });
        check(problem);
      }
    }
  }
}

}  // namespace
}  // namespace portops::test
