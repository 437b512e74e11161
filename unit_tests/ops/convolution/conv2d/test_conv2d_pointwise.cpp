// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_bounds.hpp"
#include "ops/convolution/conv2d/pointwise.hpp"

#include <array>
#include <set>
#include <string>
#include <vector>

// Windows that are pixels: their gradients by matrix products of tensors as they lie.

namespace portops::test {
namespace {

class Conv2dPointwiseTest : public OnEveryBackend {};

PORTOPS_ON_EVERY_BACKEND(Conv2dPointwiseTest);

TEST_P(Conv2dPointwiseTest, gradients_of_windows_that_are_pixels_equal_the_reference) {
  // As many channels and pixels as f32 wants of products; the weight is taken as it lies, or copied.
  Conv2dCase c{.channels = 96, .height = 9, .width = 8, .out_channels = 80, .kernel = {1, 1}, .padding = {0, 0}};
  for (const std::set<std::string>& last : {std::set<std::string>{}, {"x", "x_grad", "out_grad"}}) {
    for (const Layout layout : {Layout::contiguous, Layout::padded, Layout::reversed, Layout::every_other}) {
      for (const std::int64_t groups : {1, 2}) {
        c.images = groups == 1 ? 3 : 2;
        c.groups = groups;
        c.channels_last = last;
        c.layouts["weight"] = layout;
        for_each_type([&]<class T>() { Conv2dProblem<T>(ctx, c).check_grad(ctx); });
      }
    }
  }
}

TEST_P(Conv2dPointwiseTest, keeps_the_bounds_of_errors_whatever_the_operands) {
  // Long sums over channels, and over output channels; over pixels and over images.
  for (const auto& [images, channels, out_channels, height] :
       std::vector<std::array<std::int64_t, 4>>{{1, 1200, 64, 2}, {1, 64, 1200, 2}, {2, 64, 64, 16}, {60, 64, 64, 1}}) {
    for (const std::set<std::string>& last : {std::set<std::string>{}, {"x", "out", "x_grad", "out_grad"}}) {
      check_bounds(ctx, {.images = images,
                         .channels = channels,
                         .height = height,
                         .width = 8,
                         .out_channels = out_channels,
                         .kernel = {1, 1},
                         .padding = {0, 0},
                         .channels_last = last});
    }
  }
}

TEST_P(Conv2dPointwiseTest, weight_gradients_by_planes_equal_the_reference) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "no device that can";
  const Conv2dCase c{
      .channels = 68, .height = 12, .width = 16, .out_channels = 64, .kernel = {1, 1}, .padding = {0, 0}};
  int taken = 0;
  const auto check = [&](const Conv2dCase& its) {
    for_each_type([&]<class T>() {
      Conv2dProblem<T> problem(ctx, its);
      const bool suits =
          impl::suits_products_of_planes(ctx, problem.windows(), problem.refs.at("x"), problem.refs.at("out_grad"));
      problem.check_grad(ctx);
      problem.check_grad(Context(ctx).deterministic(true));
      if (std::is_same_v<T, float>) problem.check_grad(Context(ctx).math(Math::tf32), 0x1p-10);
      taken += suits ? 1 : 0;
    });
  };
  // An image's product is weight_grad, unless its rows lie apart; sums of few elements, and of many; of few images in
  // chunks.
  for (const auto& [images, channels, out_channels, height] : std::vector<std::array<std::int64_t, 4>>{
           {1, 68, 64, 12}, {2, 68, 64, 12}, {9, 68, 64, 12}, {9, 182, 182, 24}, {3, 68, 64, 64}}) {
    Conv2dCase its = c;
    its.images = images;
    its.channels = channels;
    its.out_channels = out_channels;
    its.height = height;
    check(its);
    its.layouts["weight_grad"] = Layout::every_other;
    its.channels_last = {"weight"};
    check(its);
  }
  int types = 0;
  for_each_type([&]<class T>() { ++types; });
  EXPECT_EQ(taken, 10 * types);
  for (const Layout layout : {Layout::padded, Layout::reversed, Layout::negative, Layout::every_other}) {
    for (const std::string name : {"x", "out_grad"}) {
      Conv2dCase its = c;
      its.layouts[name] = layout;
      check(its);
    }
  }
  // Planes that are no whole accesses, few channels, groups, and more sums than planes.
  for (const auto& [channels, out_channels, width, groups] : std::vector<std::array<std::int64_t, 4>>{
           {68, 64, 15, 1}, {31, 64, 16, 1}, {68, 31, 16, 1}, {80, 72, 16, 2}, {400, 380, 16, 1}}) {
    Conv2dCase its = c;
    its.channels = channels;
    its.out_channels = out_channels;
    its.height = channels == 400 ? 1 : 11;
    its.width = width;
    its.groups = groups;
    const int before = taken;
    check(its);
    EXPECT_EQ(taken, before) << channels << " to " << out_channels;
  }
}

TEST_P(Conv2dPointwiseTest, windows_are_pixels_only_where_they_are_all_of_them) {
  const auto pointwise = [&](const Conv2dCase& c) {
    return impl::is_pointwise(Conv2dProblem<double>(ctx, c).windows());
  };
  EXPECT_TRUE(pointwise({.kernel = {1, 1}, .padding = {0, 0}, .dilation = {3, 2}}));
  EXPECT_FALSE(pointwise({.kernel = {1, 1}, .padding = {0, 1}}));
  EXPECT_FALSE(pointwise({.kernel = {1, 1}, .padding = {0, 0, 1, 0}}));
  EXPECT_FALSE(pointwise({.kernel = {1, 1}, .stride = {1, 2}, .padding = {0, 0}}));
  EXPECT_FALSE(pointwise({.kernel = {1, 2}, .padding = {0, 0}}));
}

}  // namespace
}  // namespace portops::test
