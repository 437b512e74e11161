// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_bounds.hpp"
#include "ops/convolution/conv2d/weight_grad_by_products.hpp"

#include <array>
#include <set>
#include <string>
#include <vector>

// weight_grad that GPUs multiply out of patches of 8 by 8 pixels of out_grad, all taps of 64 output channels by 32: in
// 16-bit types, in f32 as three terms, and in tf32 as two.

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
    for (const Math math : {Math::ieee, Math::tf32}) {
      const Context with_math = Context(ctx).math(math);
      const bool rounds = math == Math::tf32 && sizeof(T) == 4;
      if (math == Math::tf32 && !rounds) continue;
      const bool takes_patches = impl::takes_patches(with_math, problem.windows(), ElementTypeOf<T>::value);
      // Patches that are not full are rounded tap by tap.
      rounded += rounds && takes_patches ? 1 : 0;
      suited = suited && (takes_patches || rounds);
      problem.check_grad(with_math, rounds ? 0x1p-10 : Conv2dProblem<T>::default_tolerance);
    }
  }
  template <class Action>
  void for_each_multiplied_type(const Action& action) {
    for_each_type([&]<class T>() {
      if constexpr (sizeof(T) <= 4) action.template operator()<T>();
    });
  }
  void TearDown() override {
    if (!suited) GTEST_SKIP() << "equal to the reference, but on another path";
  }

  bool suited = true;
  int rounded = 0;  ///< of the cases, those in tf32 by patches
};

PORTOPS_ON_EVERY_BACKEND(Conv2dPatchesTest);

// Patches that end where the image does, and have pixels in common with those before. A share has four or more, of 132
// on the GPUs that there are.
TEST_P(Conv2dPatchesTest, weight_gradients_equal_the_reference_for_every_extent_of_images) {
  for_each_multiplied_type([&]<class T>() {
    for (const auto& [images, height, width] : std::vector<std::array<std::int64_t, 3>>{
             {1061, 8, 8}, {265, 8, 9}, {134, 9, 14}, {60, 17, 24}, {30, 33, 29}}) {
      check<T>({.images = images,
                .channels = 8,
                .height = height,
                .width = width,
                .out_channels = 64,
                .channels_last = all_last});
    }
  });
  EXPECT_TRUE(rounded > 0 || !suited);
}

// In images of four patches. Output channels that are no multiples of 16 bytes are copied once, for x_grad too.
TEST_P(Conv2dPatchesTest, weight_gradients_equal_the_reference_for_every_number_of_channels) {
  for_each_multiplied_type([&]<class T>() {
    for (const auto& [channels, out_channels, tiles] : std::vector<std::array<std::int64_t, 3>>{
             {32, 33, 1}, {8, 64, 1}, {8, 130, 3}, {40, 27, 2}, {72, 16, 3}, {136, 61, 5}, {96, 112, 6}}) {
      for (const std::set<std::string>& last : {std::set<std::string>{}, all_last}) {
        check<T>({.images = 4 * 132 / tiles / 4 + 1,
                  .channels = channels,
                  .height = 9,
                  .width = 9,
                  .out_channels = out_channels,
                  .channels_last = last});
      }
    }
  });
}

TEST_P(Conv2dPatchesTest, weight_gradients_keep_the_bounds_of_errors_whatever_the_operands) {
  const Conv2dCase c{
      .images = 265, .channels = 8, .height = 8, .width = 9, .out_channels = 16, .channels_last = all_last};
  for_each_multiplied_type([&]<class T>() { check<T>(c); });
  check_bounds(ctx, c, {"weight_grad", "bias_grad"});
}

TEST_P(Conv2dPatchesTest, weight_gradients_equal_the_reference_for_every_window) {
  struct Window {
    std::array<std::int64_t, 2> kernel;
    std::vector<std::int64_t> dilation, padding;
  };
  for (const Window& window : {Window{{3, 3}, {1, 1}, {0, 0}},
                               {{3, 2}, {1, 1}, {2, 1}},
                               {{3, 2}, {2, 1}, {1, 2}},
                               {{2, 3}, {1, 2}, {1, 3}},
                               {{1, 7}, {1, 1}, {0, 3}},
                               {{7, 1}, {1, 1}, {2, 1}},
                               {{8, 1}, {1, 1}, {4, 0}},
                               {{9, 1}, {1, 1}, {4, 0}},
                               {{3, 3}, {2, 3}, {2, 3}}}) {
    for_each_multiplied_type([&]<class T>() {
      check<T>({.images = 133,
                .channels = 8,
                .height = 16,
                .width = 18,
                .out_channels = 62,
                .kernel = window.kernel,
                .padding = window.padding,
                .dilation = window.dilation,
                .channels_last = all_last});
    });
  }
  EXPECT_TRUE(rounded > 0 || !suited);
}

// Whose taps are no threes at one distance: not by patches.
TEST_P(Conv2dPatchesTest, weight_gradients_of_other_windows_equal_the_reference) {
  need_type<f16>();
  Conv2dProblem<f16> problem(ctx, {.images = 265,
                                   .channels = 8,
                                   .height = 13,
                                   .width = 14,
                                   .out_channels = 16,
                                   .kernel = {2, 4},
                                   .padding = {1, 5},
                                   .dilation = {1, 2},
                                   .channels_last = all_last});
  EXPECT_FALSE(impl::takes_patches(ctx, problem.windows(), ElementType::f16));
  problem.check_grad(ctx);
}

// The last three of seven taps are no others behind the window: a block's memory may end with it.
TEST_P(Conv2dPatchesTest, weight_gradients_of_tall_windows_that_reach_far_equal_the_reference) {
  need_type<f16>();
  check<f16>({.images = 133,
              .channels = 8,
              .height = 16,
              .width = 16,
              .out_channels = 16,
              .kernel = {7, 1},
              .padding = {27, 0},
              .dilation = {9, 1},
              .channels_last = all_last});
}

// Of 132 multiprocessors, each block has as many patches as it adds up; or there are more blocks than that.
TEST_P(Conv2dPatchesTest, sums_do_not_drift_over_constant_data) {
  need_type<float>();
  for (const std::int64_t images : {528, 530}) {
    constexpr std::int64_t side = 64;
    Conv2dProblem<float> problem(ctx, {.images = images,
                                       .channels = 8,
                                       .height = side,
                                       .width = side,
                                       .out_channels = 16,
                                       .channels_last = all_last});
    if (!impl::takes_patches(ctx, problem.windows(), ElementType::f32)) GTEST_SKIP() << "no device that can";
    problem.fill_with_constants();
    problem.refs["x_grad"] = {};
    problem.run_grad(ctx);
    problem.expect_sums_of_constants(2 * Conv2dProblem<float>::default_tolerance);
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
  for_each_multiplied_type([&]<class T>() {
    Conv2dProblem<T> problem(
        ctx, {.images = 265, .channels = 8, .height = 9, .width = 10, .out_channels = 48, .channels_last = all_last});
    for (const std::string name : {"x", "out_grad"}) problem.flip(name);
    check(problem);
  });
}

TEST_P(Conv2dPatchesTest, weight_gradients_have_the_same_bits_whenever_they_are_computed) {
  for_each_multiplied_type([&]<class T>() {
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
  need_type<float>();
  // The last row and column alone are not those of the first patch.
  constexpr std::int64_t side = 9, pixels = side * side;
  for (const std::int64_t pixel : {std::int64_t{0}, side + 6, pixels - 1}) {
    for (const double special : {nan, inf}) {
      for (const std::string name : {"x", "out_grad"}) {
        Conv2dCase c{
            .images = 265, .channels = 8, .height = side, .width = side, .out_channels = 48, .channels_last = all_last};
        if (name == "out_grad") {
          c.height += 2;
          c.width += 2;
          c.padding = {0, 0};
        }
        const auto check_with_special = [&]<class T>() {
          Conv2dProblem<T> problem(ctx, c);
          const std::vector<double> values = problem.inputs.at(name);
          problem.fill(name, [&](std::size_t i) {
            return i == static_cast<std::size_t>(20 * pixels + pixel) ? special : values[i];
          });
          check(problem);
        };
        check_with_special.template operator()<f16>();
        check_with_special.template operator()<float>();
      }
    }
  }
}

}  // namespace
}  // namespace portops::test
