// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_reference.hpp"
#include "support/products.hpp"

// Tensors without elements, positions on and beyond the borders, NaN, Inf, and many samples of one pixel.

namespace portops::test {
namespace {

class DeformConv2dEdgesTest : public OnEveryBackend {
 protected:
  /// Calls action(context) for all ways of products that the type has.
  template <class T, class Action>
  void for_each_context(const Action& action) {
    for (const Context& context : contexts_of_products(ctx)) {
      if (!has_products_of<T>(context) || asks_in_vain<T>(context)) continue;
      SCOPED_TRACE(describe(context));
      action(context);
    }
  }

  /// Fills all results with NaN, so that what is not written shows.
  template <class T>
  static void poison(DeformConv2dProblem<T>& problem) {
    for (auto& [name, tensor] : problem.tensors) {
      if (deform_conv2d_results.contains(name)) tensor.fill([](std::int64_t) { return nan; });
    }
  }

  /// Both operators, by all ways of products; and what else holds of the results of each.
  template <class T>
  void check(DeformConv2dProblem<T>& problem, const std::function<void()>& check_results = [] {}) {
    const DeformConv2dResults results = problem.expected();
    for_each_context<T>([&](const Context& context) {
      poison(problem);
      problem.run(context);
      problem.run_grad(context);
      const double tolerance = may_round_operands<T>(context) ? cut_to_tf32 : DeformConv2dProblem<T>::default_tolerance;
      for (const auto& [name, sums] : results) {
        if (problem.refs.at(name)) problem.expect(name, sums, tolerance);
      }
      check_results();
    });
  }
  /// The same of all element types.
  void check(const DeformConv2dCase& c) {
    for_each_type([&]<class T>() {
      DeformConv2dProblem<T> problem(ctx, c);
      check(problem);
    });
  }

  /// That all elements of a result are `value`.
  template <class T>
  static void expect_all(DeformConv2dProblem<T>& problem, const std::string& name, double value) {
    TestTensor<T>& tensor = problem.tensors.at(name);
    tensor.download();
    for (std::int64_t i = 0; i < tensor.extents().product(); ++i) {
      ASSERT_EQ(tensor[i], value) << name << " of " << problem.shape.to_string() << ", " << i;
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dEdgesTest);

TEST_P(DeformConv2dEdgesTest, sums_over_no_image_are_0) {
  check({.images = 0});
  check({.images = 0, .groups = 2, .has_mask = false, .has_bias = false, .layouts = {{"weight_grad", Layout::padded}}});
}

TEST_P(DeformConv2dEdgesTest, windows_larger_than_the_image_give_nothing) {
  check({.height = 2, .padding = {0, 0}});
  check({.width = 2, .padding = {0, 0}, .layouts = {{"x_grad", Layout::reversed}}});
  check({.height = 1, .width = 1, .padding = {0, 0, 1, 1}});
  check({.dilation = {std::int64_t{1} << 40, 1}});
  check({.dilation = {4, 5}});
  const DeformConv2dCase c{.dilation = {5, 1}};
  EXPECT_EQ(c.extents("out"), Extents({2, 6, 0, 9})) << "the last that does not fit";
}

TEST_P(DeformConv2dEdgesTest, without_channels_out_is_the_bias) {
  for (const bool has_bias : {true, false}) {
    check({.channels = 0, .has_bias = has_bias});
    check({.channels = 0, .groups = 3, .deformable_groups = 5, .has_mask = false, .has_bias = has_bias});
    check({.channels = 0, .has_bias = has_bias, .layouts = {{"out", Layout::reversed}, {"bias", Layout::negative}}});
  }
}

TEST_P(DeformConv2dEdgesTest, without_out_channels_there_is_no_gradient) {
  check({.out_channels = 0});
  check({.out_channels = 0, .groups = 4, .deformable_groups = 2, .layouts = {{"x_grad", Layout::padded}}});
}

TEST_P(DeformConv2dEdgesTest, without_pixels_there_is_nothing_but_padding) {
  for (const std::int64_t channels : {4, 32, 64}) check({.channels = channels, .height = 0, .padding = {2, 1}});
  check({.height = 0, .width = 0, .kernel = {1, 1}, .padding = {1, 0, 0, 2}, .has_mask = false});
}

TEST_P(DeformConv2dEdgesTest, one_pixel) {
  check({.height = 1, .width = 1});
  check({.height = 1, .width = 1, .kernel = {1, 1}, .padding = {0, 0}});
  check(
      {.images = 1, .channels = 1, .height = 1, .width = 1, .out_channels = 1, .padding = {3, 3}, .dilation = {2, 3}});
}

TEST_P(DeformConv2dEdgesTest, huge_strides_dilations_and_paddings) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  check({.stride = {huge, huge}});
  check({.stride = {1, std::numeric_limits<std::int64_t>::max()}});
  check({.kernel = {1, 1}, .dilation = {huge, std::numeric_limits<std::int64_t>::max()}});
  check({.stride = {1 << 20, 1 << 20}, .padding = {1 << 20, 1 << 20}});
}

TEST_P(DeformConv2dEdgesTest, samples_outside_are_0_whatever_the_image_holds) {
  for_each_type([&]<class T>() {
    for (const double far : {-1e30, -1e6, -20.0, 20.0, 1e6, -inf, inf}) {
      for (const bool across : {false, true}) {
        DeformConv2dProblem<T> problem(ctx, {.groups = 2, .deformable_groups = 2});
        const std::int64_t windows = problem.shape.windows(0) * problem.shape.windows(1);
        problem.fill("offset", [&](std::int64_t i) { return (i / windows % 2 == 1) == across ? far : 0.25; });
        problem.fill("x", [&](std::int64_t) { return nan; });
        check(problem, [&] {
          for (const std::string name : {"x_grad", "offset_grad", "weight_grad", "mask_grad"}) {
            expect_all(problem, name, 0.0);
          }
        });
      }
    }
  });
}

TEST_P(DeformConv2dEdgesTest, samples_on_the_borders_and_on_pixels) {
  for_each_type([&]<class T>() {
    DeformConv2dProblem<T> problem(
        ctx, {.images = 8, .channels = 2, .height = 4, .width = 5, .kernel = {1, 1}, .padding = {0, 0}});
    const std::vector<double> rows{-1.125, -1.0, -0.875, -0.125, 0.0, 0.5, 2.0, 3.0, 3.125, 3.875, 4.0, 4.125};
    const std::vector<double> columns{-1.125, -1.0, -0.875, -0.125, 0.0, 1.5, 2.0, 4.0, 4.125, 4.875, 5.0, 5.125};
    problem.fill("offset", [&](std::int64_t i) {
      const std::int64_t pixel = i % 20, image = i / 40;
      const auto pair = static_cast<std::size_t>(image * 20 + pixel);
      const bool across = i / 20 % 2 == 1;
      const double window = static_cast<double>(across ? pixel % 5 : pixel / 5);
      return (across ? columns[pair % 12] : rows[pair / 12 % 12]) - window;
    });
    check(problem);
  });
}

// What the derivatives are on a pixel follows from rounding down: the difference to the pixel below, or right.
TEST_P(DeformConv2dEdgesTest, derivatives_on_pixels_are_those_to_the_next_ones) {
  for_each_type([&]<class T>() {
    DeformConv2dProblem<T> problem(ctx, {.images = 1,
                                         .channels = 1,
                                         .height = 2,
                                         .width = 3,
                                         .out_channels = 1,
                                         .kernel = {1, 1},
                                         .padding = {0, 0},
                                         .has_mask = false});
    const std::vector<double> x{1.0, 4.0, 9.0, 2.0, 8.0, 32.0};
    problem.fill("x", [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; });
    problem.fill("offset", [](std::int64_t) { return 0.0; });
    for (const std::string name : {"weight", "out_grad"}) problem.fill(name, [](std::int64_t) { return 1.0; });
    const TestTensor<T>& offset_grad = problem.tensors.at("offset_grad");
    const std::vector<double> expected{1.0, 4.0, 23.0, -2.0, -8.0, -32.0, 3.0, 5.0, -9.0, 6.0, 24.0, -32.0};
    check(problem, [&] {
      for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(offset_grad[static_cast<std::int64_t>(i)], expected[i]) << i;
    });
  });
}

TEST_P(DeformConv2dEdgesTest, offsets_that_are_nan_give_nan_where_they_are_used) {
  for_each_type([&]<class T>() {
    for (const std::int64_t deformable_groups : {1, 2}) {
      for (const bool has_mask : {true, false}) {
        DeformConv2dProblem<T> problem(ctx, {.deformable_groups = deformable_groups, .has_mask = has_mask});
        for (const double other : {0.25, inf}) {
          // Down in one window, across in another one, and both, in a third; of taps of their own.
          const std::int64_t windows = problem.shape.windows(0) * problem.shape.windows(1);
          problem.fill("offset", [&](std::int64_t i) {
            const std::int64_t plane = i / windows, window = i % windows;
            const bool down = (plane == 4 && window == 10) || (plane == 8 && window == 30);
            const bool across = (plane == 5 && window == 20) || (plane == 9 && window == 30);
            const bool beside = (plane == 5 && window == 10) || (plane == 4 && window == 20);
            return down || across ? nan : beside ? other : fractional_offset<T>(i);
          });
          const TestTensor<T>&out = problem.tensors.at("out"), &offset_grad = problem.tensors.at("offset_grad");
          const TestTensor<T>& x_grad = problem.tensors.at("x_grad");
          check(problem, [&] {
            for (const std::int64_t window : {10, 20, 30}) EXPECT_TRUE(std::isnan(out[window])) << window;
            EXPECT_FALSE(std::isnan(out[11]));
            for (const std::int64_t plane : {4, 5}) {
              EXPECT_TRUE(std::isnan(offset_grad[plane * windows + 10]));
              EXPECT_TRUE(std::isnan(offset_grad[plane * windows + 20]));
            }
            for (std::int64_t i = 0; i < x_grad.extents().product(); ++i) ASSERT_FALSE(std::isnan(x_grad[i])) << i;
          });
        }
      }
    }
  });
}

TEST_P(DeformConv2dEdgesTest, pixels_that_are_nan_or_infinite_concern_those_that_sample_them) {
  for_each_type([&]<class T>() {
    for (const double special : {nan, inf, -inf}) {
      for (const std::int64_t pixel : {0, 8, 30, 62}) {  // two corners, and between
        DeformConv2dProblem<T> problem(ctx, {.groups = 2, .deformable_groups = 2});
        const std::int64_t at = (1 * 4 + 2) * 63 + pixel;  // of image 1, channel 2
        const std::vector<double> values = problem.inputs.at("x");
        problem.fill("x", [&](std::int64_t i) { return i == at ? special : values[static_cast<std::size_t>(i)]; });
        const TestTensor<T>&out = problem.tensors.at("out"), &x_grad = problem.tensors.at("x_grad");
        check(problem, [&] {
          bool is_used = false;
          for (std::int64_t i = 0; i < out.extents().product(); ++i) {
            const bool may_use = i / 63 / 6 == 1 && i / 63 % 6 >= 3;  // the same image and group
            ASSERT_TRUE(may_use || std::isfinite(out[i])) << i;
            is_used = is_used || !std::isfinite(out[i]);
          }
          EXPECT_TRUE(is_used);
          for (std::int64_t i = 0; i < x_grad.extents().product(); ++i) ASSERT_TRUE(std::isfinite(x_grad[i])) << i;
        });
      }
    }
  });
}

TEST_P(DeformConv2dEdgesTest, an_out_grad_that_is_infinite_concerns_its_window_and_its_group) {
  const std::vector<DeformConv2dCase> all{
      {.groups = 2, .deformable_groups = 2},
      {.channels = 3, .out_channels = 3, .groups = 3},
      {.channels = 6, .out_channels = 10, .groups = 2},
      {.channels = 12, .out_channels = 12, .groups = 12, .deformable_groups = 3},
      {.images = 1, .channels = 64, .out_channels = 64, .groups = 4, .deformable_groups = 4}};
  for_each_type([&]<class T>() {
    for (const DeformConv2dCase& c : all) {
      DeformConv2dProblem<T> problem(ctx, c);
      const std::int64_t windows = c.windows(0) * c.windows(1), window = windows / 2;  // of image 0, channel 1
      const std::int64_t group = 1 / (c.out_channels / c.groups), group_channels = c.channels / c.groups;
      const std::int64_t row = group_channels * c.taps();
      problem.fill("out_grad", [&](std::int64_t i) { return i == windows + window ? inf : 0.25; });
      problem.fill("x", [](std::int64_t) { return 1.0; });
      problem.fill("weight", [](std::int64_t) { return 0.5; });
      problem.fill("mask", [](std::int64_t) { return 0.75; });
      const TestTensor<T>&x_grad = problem.tensors.at("x_grad"), &weight_grad = problem.tensors.at("weight_grad");
      const TestTensor<T>&offset_grad = problem.tensors.at("offset_grad"), &mask_grad = problem.tensors.at("mask_grad");
      check(problem, [&] {
        bool is_used = false;
        for (std::int64_t i = 0; i < x_grad.size(); ++i) {
          const bool may_use = i / (c.height * c.width) / group_channels == group;
          ASSERT_TRUE(may_use ? !std::isnan(x_grad[i]) : std::isfinite(x_grad[i])) << c.to_string() << ", x_grad " << i;
          is_used = is_used || !std::isfinite(x_grad[i]);
        }
        EXPECT_TRUE(is_used) << c.to_string();
        for (std::int64_t i = 0; i < weight_grad.size(); ++i) {
          ASSERT_TRUE(i / row == 1 || std::isfinite(weight_grad[i])) << c.to_string() << ", weight_grad " << i;
        }
        for (const TestTensor<T>* const tensor : {&offset_grad, &mask_grad}) {
          for (std::int64_t i = 0; i < tensor->size(); ++i) {
            ASSERT_TRUE(i % windows == window || std::isfinite((*tensor)[i])) << c.to_string() << ", " << i;
            ASSERT_TRUE(tensor == &offset_grad || !std::isnan((*tensor)[i])) << c.to_string() << ", mask_grad " << i;
          }
        }
      });
    }
  });
}

TEST_P(DeformConv2dEdgesTest, a_mask_of_zeros_leaves_the_bias_and_a_gradient) {
  for_each_type([&]<class T>() {
    DeformConv2dProblem<T> problem(ctx, {.groups = 2});
    problem.fill("mask", [](std::int64_t) { return 0.0; });
    problem.fill("bias", [](std::int64_t) { return -0.75; });
    check(problem, [&] {
      for (const std::string name : {"x_grad", "offset_grad", "weight_grad"}) expect_all(problem, name, 0.0);
      expect_all(problem, "out", -0.75);
    });
  });
}

TEST_P(DeformConv2dEdgesTest, many_samples_of_one_pixel) {
  for_each_type([&]<class T>() {
    for (const std::int64_t deformable_groups : {1, 2}) {
      DeformConv2dProblem<T> problem(
          ctx, {.images = 3, .height = 20, .width = 21, .deformable_groups = deformable_groups, .im2col_step = 2});
      const std::int64_t windows = 20 * 21;
      problem.fill("offset", [&](std::int64_t i) {
        const std::int64_t window = i % windows, tap = i / windows / 2 % 9;
        const bool across = i / windows % 2 == 1;
        return across ? 4.5 - static_cast<double>(window % 21 - 1 + tap % 3)
                      : 3.25 - static_cast<double>(window / 21 - 1 + tap / 3);
      });
      check(problem);
    }
  });
}

TEST_P(DeformConv2dEdgesTest, results_that_the_type_cannot_hold_are_infinite) {
  DeformConv2dProblem<f16> problem(ctx, {.kernel = {1, 1}, .padding = {0, 0}, .has_mask = false, .has_bias = false});
  problem.fill("x", [](std::int64_t) { return 6e4; });
  problem.fill("offset", [](std::int64_t) { return 0.0; });
  for (const std::string name : {"weight", "out_grad"}) problem.fill(name, [](std::int64_t) { return 1.0; });
  for_each_context<f16>([&](const Context& context) {
    poison(problem);
    problem.run(context);
    problem.run_grad(context);
    expect_all(problem, "out", inf);
    expect_all(problem, "weight_grad", inf);
    expect_all(problem, "x_grad", 6.0);
  });
}

}  // namespace
}  // namespace portops::test
