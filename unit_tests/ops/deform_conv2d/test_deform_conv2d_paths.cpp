// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_reference.hpp"
#include "ops/deform_conv2d/deform_conv2d_rules.hpp"
#include "ops/deform_conv2d/fused/fused.hpp"
#include "ops/deform_conv2d/im2col.hpp"
#include "ops/deform_conv2d/tiles.hpp"

#include <limits>

// The paths of deform_conv2d, each made to compute the same calls.

namespace portops::test {
namespace {

/// Shapes around what the fused path's blocks take at once: chunks of 32 or 64 channels, 25 taps, 64 or 128 pixels, 128
/// or 256 output channels; and long inner axes, which blocks share.
const std::vector<DeformConv2dCase> cases{
    {.images = 1, .channels = 64, .out_channels = 128},
    {.images = 3, .channels = 128, .height = 9, .out_channels = 300},
    {.images = 1, .channels = 96, .height = 12, .width = 37, .out_channels = 65},
    {.images = 2, .channels = 160, .out_channels = 16, .kernel = {1, 1}, .padding = {0, 0}},
    {.images = 1, .channels = 64, .out_channels = 8, .kernel = {5, 5}, .padding = {2, 2}},
    {.images = 1, .channels = 64, .height = 9, .out_channels = 8, .kernel = {7, 8}, .padding = {3, 3}},
    {.images = 2, .channels = 256, .out_channels = 24, .groups = 2, .deformable_groups = 4},
    {.images = 2, .channels = 256, .out_channels = 24, .groups = 4, .deformable_groups = 2},
    {.images = 1, .channels = 192, .out_channels = 24, .groups = 3, .deformable_groups = 1, .has_bias = false},
    {.images = 1, .channels = 144, .out_channels = 10, .groups = 1, .deformable_groups = 3, .has_mask = false},
    {.images = 2,
     .channels = 64,
     .height = 20,
     .width = 23,
     .out_channels = 9,
     .stride = {2, 3},
     .padding = {0, 1, 2, 0},
     .dilation = {3, 2}},
    {.images = 1, .channels = 1024, .height = 3, .width = 3, .out_channels = 4}};

class DeformConv2dPathsTest : public OnEveryBackend {};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dPathsTest);

template <class T>
impl::DeformConv2dTensors tensors_of(const DeformConv2dProblem<T>& problem) {
  return {problem.refs.at("x"),    problem.refs.at("offset"), problem.refs.at("weight"),
          problem.refs.at("mask"), problem.refs.at("bias"),   problem.refs.at("out")};
}

template <class T>
impl::Windows windows_of(const DeformConv2dProblem<T>& problem) {
  return impl::deform_conv2d_extents("deform_conv2d", problem.refs.at("x"), problem.refs.at("weight"), problem.params())
      .windows;
}

/// That the path's results equal the reference. `run` takes the geometry and the tensors.
template <class T, class Run>
void check_path(const Context& ctx, const DeformConv2dCase& c, double tolerance, const Run& run) {
  DeformConv2dProblem<T> problem(ctx, c);
  const impl::DeformConv2dTensors tensors = tensors_of(problem);
  run(windows_of(problem), tensors);
  problem.expect("out", problem.expected().at("out"), tolerance);
}

/// The same for all cases and types, image by image. `path` computes as deform_conv2d_by_im2col does.
template <class Path>
void check_path_on(const Context& ctx, const std::vector<DeformConv2dCase>& all, const Path& path) {
  for (const DeformConv2dCase& c : all) {
    for_each_type([&]<class T>() {
      check_path<T>(ctx, c, DeformConv2dProblem<T>::default_tolerance,
                    [&](const impl::Windows& windows, const impl::DeformConv2dTensors& tensors) {
                      path(ctx, windows, tensors, 1);
                    });
    });
  }
}

TEST_P(DeformConv2dPathsTest, columns_in_memory_equal_the_reference) {
  check_path_on(ctx, cases, impl::deform_conv2d_by_im2col);
}

TEST_P(DeformConv2dPathsTest, fused_equals_the_reference) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "a path of GPUs";
  int fused = 0;
  for (const DeformConv2dCase& c : cases) {
    for_each_type([&]<class T>() {
      for (const Math math : {Math::ieee, Math::tf32}) {
        const Context with_math = Context(ctx).math(math);
        const bool rounds = math == Math::tf32 && std::is_same_v<T, float>;
        check_path<T>(with_math, c, rounds ? 0x1p-10 : DeformConv2dProblem<T>::default_tolerance,
                      [&](const impl::Windows& windows, const impl::DeformConv2dTensors& tensors) {
                        if (impl::can_fuse(with_math, windows, tensors)) {
                          ++fused;
                          impl::deform_conv2d_fused(with_math, windows, tensors);
                        } else {
                          impl::deform_conv2d_by_im2col(with_math, windows, tensors, 64);
                        }
                      });
      }
    });
  }
  if (fused == 0) GTEST_SKIP() << "no device that can";
}

TEST_P(DeformConv2dPathsTest, fused_in_every_form_equals_the_reference) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "a path of GPUs";
  int fused = 0;
  // Several tiles of output channels and pixels; groups that meet deformable groups; more taps than a phase has; one
  // tap, so that a step is a chunk.
  for (const DeformConv2dCase& c : {cases[1], cases[7], cases[5], cases[3]}) {
    for_each_type([&]<class T>() {
      DeformConv2dProblem<T> problem(ctx, c);
      const impl::DeformConv2dTensors tensors = tensors_of(problem);
      const impl::Windows windows = windows_of(problem);
      const std::vector<Sum> expected = problem.expected().at("out");
      for (const Math math : {Math::ieee, Math::tf32}) {
        const Context with_math = Context(ctx).math(math);
        if (!impl::can_fuse(with_math, windows, tensors)) continue;
        const bool rounds = math == Math::tf32 && std::is_same_v<T, float>;
        for (const impl::FusedForm& form : impl::fused_forms(with_math, windows, tensors.x.type())) {
          SCOPED_TRACE(std::to_string(form.rows) + " output channels, " + std::to_string(form.pixels) + " pixels, " +
                       std::to_string(form.splits) + " splits");
          problem.tensors.at("out").fill([](std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); });
          impl::deform_conv2d_fused(with_math, windows, tensors, form);
          problem.expect("out", expected, rounds ? 0x1p-10 : DeformConv2dProblem<T>::default_tolerance);
          ++fused;
        }
      }
    });
  }
  if (fused == 0) GTEST_SKIP() << "no device that can";
}

TEST_P(DeformConv2dPathsTest, tiles_of_hosts_equal_the_reference) {
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "a path of hosts";
  std::vector<DeformConv2dCase> all = cases;
  // More output channels than a tile has, and more pixels.
  all.push_back({.images = 1, .channels = 5, .height = 3, .width = 4, .out_channels = 500});
  all.push_back({.images = 3, .channels = 4, .height = 31, .width = 33, .out_channels = 7, .groups = 1});
  check_path_on(ctx, all, impl::deform_conv2d_by_tiles);
}

TEST_P(DeformConv2dPathsTest, gradients_of_products_of_several_tiles) {
  for (const DeformConv2dCase& c : {cases[1], cases[2], cases[6]}) {
    for_each_type([&]<class T>() { DeformConv2dProblem<T>(ctx, c).check_grad(ctx); });
  }
}

}  // namespace
}  // namespace portops::test
