// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_path_tests.hpp"
#include "ops/convolution/deform_conv2d/small_path.hpp"
#include "ops/convolution/deform_conv2d/taps_path.hpp"
#include "strided_tensor.hpp"

// The paths that GPUs have for deform_conv2d alone: groups of few channels, and small calls.

namespace portops::test {
namespace {

class DeformConv2dGpuPathsTest : public OnEveryBackend {};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dGpuPathsTest);

/// That a path takes all cases on GPUs, but in f64, and that its results equal the reference.
template <class Suits, class Path>
void check_own_path(const Context& ctx, const std::vector<DeformConv2dCase>& all, const Suits& suits,
                    const Path& path) {
  for (const DeformConv2dCase& c : all) {
    SCOPED_TRACE(c.to_string());
    for_each_type([&]<class T>() {
      DeformConv2dProblem<T> problem(ctx, c);
      const bool takes = suits(ctx, windows_of(problem), tensors_of(problem));
      EXPECT_EQ(takes, ctx.backend() == Backend::cuda && sizeof(T) <= 4);
      if (!takes) return;
      path(ctx, windows_of(problem), tensors_of(problem));
      problem.expect("out", problem.expected_out(), DeformConv2dProblem<T>::default_tolerance);
    });
  }
}

/// Groups of few channels, of which a GPU's threads take packs tap by tap: two to four packs, in 16 bits one or two of
/// eight, output channels that are words and that are none, pixels of several images, several deformable groups in a
/// group and several groups in one.
const std::vector<DeformConv2dCase> few_channels{
    {.images = 2, .channels = 64, .height = 23, .width = 21, .out_channels = 64, .groups = 4, .deformable_groups = 4},
    {.images = 1, .channels = 16, .height = 70, .width = 61, .out_channels = 16},
    {.images = 3, .channels = 24, .height = 13, .width = 11, .out_channels = 22, .groups = 2, .has_mask = false},
    {.images = 2, .channels = 36, .out_channels = 27, .groups = 3, .deformable_groups = 9, .has_bias = false},
    {.images = 1, .channels = 32, .out_channels = 48, .groups = 4, .deformable_groups = 2},
    {.images = 1, .channels = 32, .out_channels = 20, .groups = 4, .deformable_groups = 1},
    {.images = 1, .channels = 8, .out_channels = 7, .kernel = {5, 5}, .padding = {2, 2}},
    {.images = 1, .channels = 16, .height = 9, .out_channels = 6, .kernel = {2, 3}, .deformable_groups = 4},
    {.images = 1,
     .channels = 8,
     .height = 20,
     .width = 23,
     .out_channels = 12,
     .stride = {2, 3},
     .padding = {0, 1, 2, 0},
     .dilation = {3, 2}}};

TEST_P(DeformConv2dGpuPathsTest, groups_of_few_channels_are_taken_tap_by_tap_on_gpus) {
  std::vector<DeformConv2dCase> all = few_channels;
  for (const Layout layout : all_layouts) {
    all.push_back(with_layout({.channels = 16, .out_channels = 16, .groups = 2}, layout));
  }
  check_own_path(ctx, all, impl::suits_taps, impl::deform_conv2d_by_taps);
}

TEST_P(DeformConv2dGpuPathsTest, other_groups_are_not_taken_tap_by_tap) {
  for (const DeformConv2dCase& c :
       {DeformConv2dCase{.channels = 20, .out_channels = 16}, DeformConv2dCase{.channels = 16, .out_channels = 17},
        DeformConv2dCase{.channels = 16, .out_channels = 4}, DeformConv2dCase{.channels = 4, .out_channels = 8},
        DeformConv2dCase{.channels = 6, .out_channels = 16},
        DeformConv2dCase{.channels = 16, .out_channels = 16, .deformable_groups = 8},
        DeformConv2dCase{.channels = 8, .out_channels = 8, .kernel = {3, 11}, .padding = {1, 5}}}) {
    const DeformConv2dProblem<float> problem(ctx, c);
    EXPECT_FALSE(impl::suits_taps(ctx, windows_of(problem), tensors_of(problem))) << c.to_string();
  }
}

/// Small calls: pixels of a team that are 4, 6 and 8, of several images; words of weights and single ones; a group's
/// output channels in one part and in several, whole fours and not; several deformable groups in a group and several
/// groups in one; windows of one tap and of many.
const std::vector<DeformConv2dCase> small{
    {.images = 1, .channels = 64, .height = 14, .width = 15, .out_channels = 64},
    {.images = 3, .channels = 64, .height = 13, .width = 19, .out_channels = 32},
    {.images = 2, .channels = 32, .height = 20, .width = 25, .out_channels = 37},
    {.images = 1, .channels = 100, .height = 5, .width = 6, .out_channels = 150},
    {.images = 2, .channels = 27, .height = 6, .width = 7, .out_channels = 70, .has_mask = false},
    {.images = 1, .channels = 72, .out_channels = 9, .groups = 3, .deformable_groups = 6, .has_bias = false},
    {.images = 1, .channels = 72, .out_channels = 24, .groups = 3, .deformable_groups = 1},
    {.images = 1, .channels = 60, .out_channels = 24, .groups = 2, .deformable_groups = 3},
    {.images = 1, .channels = 3, .height = 28, .width = 28, .out_channels = 32},
    {.images = 2, .channels = 1, .out_channels = 5, .kernel = {5, 5}, .padding = {2, 2}},
    {.images = 1, .channels = 16, .height = 14, .width = 14, .out_channels = 16, .deformable_groups = 2},
    {.images = 2, .channels = 160, .out_channels = 16, .kernel = {1, 1}, .padding = {0, 0}},
    {.images = 1, .channels = 20, .height = 9, .out_channels = 8, .kernel = {7, 5}, .padding = {3, 2}},
    {.images = 2,
     .channels = 40,
     .height = 20,
     .width = 23,
     .out_channels = 12,
     .stride = {2, 3},
     .padding = {0, 1, 2, 0},
     .dilation = {3, 2}}};

TEST_P(DeformConv2dGpuPathsTest, small_calls_are_one_kernel_on_gpus) {
  std::vector<DeformConv2dCase> all = small;
  for (const Layout layout : all_layouts) {
    DeformConv2dCase c = with_layout({.channels = 32, .out_channels = 20, .groups = 1}, layout);
    c.layouts["weight"] = Layout::contiguous;
    all.push_back(c);
  }
  check_own_path(ctx, all, impl::suits_small, impl::deform_conv2d_small);
}

/// To the bit what they are in planes.
TEST_P(DeformConv2dGpuPathsTest, small_calls_may_have_their_channels_last) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "a path of GPUs";
  for (const DeformConv2dCase& c : {small[0], small[4], small[5]}) {
    SCOPED_TRACE(c.to_string());
    for_each_type([&]<class T>() {
      if constexpr (sizeof(T) <= 4) {
        DeformConv2dProblem<T> problem(ctx, c);
        const impl::Windows windows = windows_of(problem);
        impl::ConvolutionTensors tensors = tensors_of(problem);
        impl::deform_conv2d_small(ctx, windows, tensors);
        TestTensor<T>& out = problem.tensors.at("out");
        out.download();
        const auto channels_last = [&](const std::string& name) {
          const Extents extents = c.extents(name);
          auto tensor = StridedTensor<T>::channels_last(ctx, extents, extents[1], 0);
          const TestTensor<T>& from = problem.tensors.at(name);
          std::vector<double> values;
          for (std::int64_t i = 0; i < from.size(); ++i) values.push_back(from[i]);
          tensor.fill(values);
          return tensor;
        };
        auto x = channels_last("x"), lines = channels_last("out");
        tensors.x = x.ref();
        tensors.out = lines.ref();
        impl::deform_conv2d_small(ctx, windows, tensors);
        const std::vector<double> found = lines.download();
        for (std::int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(found[static_cast<std::size_t>(i)], out[i]) << i;
      }
    });
  }
}

TEST_P(DeformConv2dGpuPathsTest, other_calls_are_not_small) {
  std::vector<DeformConv2dCase> others{
      {.images = 1, .channels = 64, .height = 60, .width = 60, .out_channels = 64},
      {.images = 1, .channels = 512, .height = 7, .width = 7, .out_channels = 64},
      {.images = 1, .channels = 64, .height = 14, .width = 14, .out_channels = 64, .groups = 64},
      {.images = 4, .channels = 3, .height = 56, .width = 56, .out_channels = 64},
      {.images = 1, .channels = 64, .height = 14, .width = 14, .out_channels = 64, .deformable_groups = 64}};
  DeformConv2dCase strided{.channels = 32, .out_channels = 20};
  strided.layouts["weight"] = Layout::padded;
  others.push_back(strided);
  for (const DeformConv2dCase& c : others) {
    const DeformConv2dProblem<float> problem(ctx, c);
    EXPECT_FALSE(impl::suits_small(ctx, windows_of(problem), tensors_of(problem))) << c.to_string();
  }
}

}  // namespace
}  // namespace portops::test
