// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_bounds.hpp"
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/conv2d_rules.hpp"
#include "ops/convolution/conv2d/pointwise.hpp"
#include "ops/convolution/conv2d/weight_grad_by_products.hpp"
#include "ops/convolution/conv2d/window_rows.hpp"
#include "ops/convolution/conv2d/x_grad.hpp"
#include "ops/convolution/convolve.hpp"
#include "ops/convolution/fused_form_text.hpp"

#include <cmath>
#include <string>
#include <vector>

// The paths of conv2d, each made to compute the same calls.

namespace portops::test {
namespace {

using Operator = impl::Conv2dConvolution;

/// Shapes around what the fused path's blocks take at once: chunks of 32 or 64 channels, 25 taps, 64 or 128 pixels, 64
/// to 256 output channels; and long inner axes, which blocks share.
const std::vector<Conv2dCase> cases{
    {.images = 1, .channels = 64, .out_channels = 128, .channels_last = {"x", "out"}},
    {.images = 3, .channels = 128, .height = 9, .out_channels = 300},
    {.images = 1, .channels = 96, .height = 12, .width = 37, .out_channels = 65, .channels_last = {"x"}},
    {.images = 2, .channels = 160, .out_channels = 16, .kernel = {1, 1}, .padding = {0, 0}},
    {.images = 1, .channels = 64, .out_channels = 8, .kernel = {5, 5}, .padding = {2, 2}},
    {.images = 1, .channels = 64, .height = 9, .out_channels = 8, .kernel = {7, 8}, .padding = {3, 3}},
    {.images = 2, .channels = 8, .height = 12, .width = 20, .out_channels = 70, .dilation = {1, 2}},
    {.images = 2, .channels = 27, .height = 11, .width = 12, .out_channels = 72},
    {.images = 2, .channels = 61, .height = 12, .width = 9, .out_channels = 40, .channels_last = {"x"}},
    {.images = 2, .channels = 256, .out_channels = 24, .groups = 2},
    {.images = 1, .channels = 192, .out_channels = 24, .groups = 3, .has_bias = false},
    {.images = 2,
     .channels = 64,
     .height = 20,
     .width = 23,
     .out_channels = 9,
     .stride = {2, 3},
     .padding = {0, 1, 2, 0},
     .dilation = {3, 2}},
    {.images = 1, .channels = 1024, .height = 3, .width = 3, .out_channels = 4},
    {.images = 5, .channels = 160, .height = 4, .out_channels = 24, .groups = 4},
    // Weights that are read where they lie, in 16 bits: channels that fill no chunk, output channels that fill no tile.
    {.images = 2, .channels = 72, .out_channels = 150, .kernel = {3, 2}, .channels_last = {"x", "weight", "out"}},
    {.images = 3, .channels = 128, .height = 9, .out_channels = 40, .groups = 2, .channels_last = {"weight"}},
    {.images = 1,
     .channels = 200,
     .height = 30,
     .width = 19,
     .out_channels = 36,
     .kernel = {5, 7},
     .stride = {2, 1},
     .padding = {4, 0, 1, 3},
     .dilation = {1, 2},
     .channels_last = {"x", "weight"}},
    // Too far for the engine for tensor copies: padding, stride.
    {.images = 1, .channels = 64, .width = 9, .out_channels = 8, .stride = {9, 1}, .padding = {1, 130, 1, 0}}};

class Conv2dPathsTest : public OnEveryBackend {};

PORTOPS_ON_EVERY_BACKEND(Conv2dPathsTest);

template <class T>
impl::ConvolutionTensors tensors_of(const Conv2dProblem<T>& problem) {
  return {problem.refs.at("x"), {}, problem.refs.at("weight"), {}, problem.refs.at("bias"), problem.refs.at("out")};
}

/// That the path's results equal the reference, image by image, of all types.
template <class Path>
void check_path_on(const Context& ctx, const std::vector<Conv2dCase>& all, const Path& path) {
  for (const Conv2dCase& c : all) {
    for_each_type([&]<class T>() {
      Conv2dProblem<T> problem(ctx, c);
      path(ctx, problem.windows(), tensors_of(problem), 1);
      problem.expect("out", problem.expected("out"));
    });
  }
}

/// That the path keeps the bounds of errors whatever the operands, by all ways of products.
template <class Path>
void check_bounds_of_path_on(const Context& ctx, const Conv2dCase& c, const Path& path) {
  for_each_operands(ctx, c, {"out"}, [&]<class T>(Conv2dProblem<T>& problem, const auto& expected) {
    // Made to multiply columns, GPUs do so by a library.
    const double of_columns = ctx.backend() == Backend::cuda ? error_of_chains<T>(terms_of(c, "out")) : 0.0;
    for (const Context& context : contexts_of_products(ctx)) {
      if (!has_products_of<T>(context) || asks_in_vain<T>(context)) continue;
      SCOPED_TRACE(describe(context));
      problem.poison("out");
      path(context, problem.windows(), tensors_of(problem), 1);
      problem.expect("out", expected.at("out"), conv2d_bound<T>(context, c, "out") + of_columns);
    }
  });
}

/// A long inner axis.
const Conv2dCase long_sums{.images = 1, .channels = 128, .height = 6, .out_channels = 10};

TEST_P(Conv2dPathsTest, columns_in_memory_equal_the_reference) {
  check_path_on(ctx, cases, impl::convolve_by_im2col<Operator>);
  check_bounds_of_path_on(ctx, long_sums, impl::convolve_by_im2col<Operator>);
}

TEST_P(Conv2dPathsTest, tiles_equal_the_reference) {
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "a path of hosts";
  check_path_on(ctx, cases, impl::convolve_by_tiles<Operator>);
  check_bounds_of_path_on(ctx, long_sums, impl::convolve_by_tiles<Operator>);
}

TEST_P(Conv2dPathsTest, strips_and_pixels_equal_the_reference) {
  const std::vector<Conv2dCase> few{
      {.channels = 1, .out_channels = 1},
      {.images = 3, .channels = 3, .height = 20, .width = 23, .out_channels = 16, .stride = {2, 2}},
      {.channels = 6, .out_channels = 12, .padding = {4, 5}, .groups = 6},
      {.channels = 9, .out_channels = 9, .groups = 9, .channels_last = {"x", "out"}},
      {.channels = 4, .width = 300, .out_channels = 5, .kernel = {1, 7}, .dilation = {1, 2}}};
  const auto path = [](const Context& on, const impl::Windows& windows, const impl::ConvolutionTensors& tensors,
                       std::int64_t) {
    if (on.backend() == Backend::cuda) {
      impl::convolve_by_pixels<Operator>(on, windows, tensors);
    } else {
      impl::convolve_by_strips<Operator>(on, windows, tensors);
    }
  };
  check_path_on(ctx, few, path);
  check_bounds_of_path_on(ctx, {.channels = 3, .height = 12, .out_channels = 16, .kernel = {7, 7}}, path);
}

TEST_P(Conv2dPathsTest, products_of_tensors_as_they_lie_equal_the_reference) {
  for (const std::int64_t images : {1, 5}) {
    for (const std::int64_t groups : {1, 2, 4}) {
      for (const std::set<std::string>& last : {std::set<std::string>{}, {"x", "out"}}) {
        for (const bool has_bias : {false, true}) {
          const Conv2dCase c{.images = images,
                             .channels = 20,
                             .out_channels = 12,
                             .kernel = {1, 1},
                             .padding = {0, 0},
                             .groups = groups,
                             .has_bias = has_bias,
                             .channels_last = last};
          check_path_on(ctx, {c},
                        [](const Context& on, const impl::Windows& windows, const impl::ConvolutionTensors& tensors,
                           std::int64_t) {
                          ASSERT_TRUE(impl::is_pointwise(windows));
                          impl::convolve_by_products(on, windows, tensors);
                        });
        }
      }
    }
  }
}

/// That all forms of the fused path are as near to what is expected as tolerance(context) says. Returns how many.
template <class T, class Tolerance>
int check_fused_on(const Context& ctx, Conv2dProblem<T>& problem, const std::vector<Sum>& expected,
                   const Tolerance& tolerance) {
  const impl::ConvolutionTensors tensors = tensors_of(problem);
  const impl::Windows windows = problem.windows();
  int fused = 0;
  for (const Math math : {Math::ieee, Math::tf32}) {
    const Context with_math = Context(ctx).math(math);
    if (!impl::can_fuse(with_math, windows, tensors)) continue;
    for (const impl::FusedForm& form : impl::fused_forms(with_math, Operator::fused(), {windows, tensors})) {
      SCOPED_TRACE(text_of(form));
      problem.poison("out");
      impl::convolve_fused(with_math, Operator::fused(), windows, tensors, form);
      problem.expect("out", expected, tolerance(with_math));
      ++fused;
    }
  }
  return fused;
}

TEST_P(Conv2dPathsTest, fused_in_every_form_equals_the_reference) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "a path of GPUs";
  int fused = 0;
  for (const Conv2dCase& c : cases) {
    for_each_type([&]<class T>() {
      Conv2dProblem<T> problem(ctx, c);
      fused += check_fused_on(ctx, problem, problem.expected("out"), [](const Context& context) {
        return may_round_operands<T>(context) ? 0x1p-10 : Conv2dProblem<T>::default_tolerance;
      });
    });
  }
  if (fused == 0) GTEST_SKIP() << "no device that can";
}

TEST_P(Conv2dPathsTest, fused_in_every_form_keeps_the_bounds_of_errors_whatever_the_operands) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "a path of GPUs";
  int fused = 0;
  for (const Conv2dCase& c : {cases[0], cases[8], cases[12]}) {
    for_each_operands(ctx, c, {"out"}, [&]<class T>(Conv2dProblem<T>& problem, const auto& expected) {
      fused += check_fused_on(ctx, problem, expected.at("out"),
                              [&](const Context& context) { return conv2d_bound<T>(context, c, "out"); });
    });
  }
  if (fused == 0) GTEST_SKIP() << "no device that can";
}

TEST_P(Conv2dPathsTest, resident_blocks_equal_the_reference) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "a path of GPUs";
  int runs = 0, patches = 0, split = 0;
  for (const Conv2dCase& c : std::vector<Conv2dCase>{
           // So many tiles that warpgroups take several, one after the other: of one stage each, and of several.
           {.images = 4, .channels = 16, .height = 150, .width = 141, .out_channels = 3, .channels_last = {"x", "out"}},
           {.images = 130,
            .channels = 72,
            .height = 25,
            .width = 24,
            .out_channels = 7,
            .kernel = {1, 1},
            .padding = {0, 0}},
           // Channels of 64 bytes, in 16-bit types, and of two chunks, whose weight lies as it is wanted.
           {.images = 5, .channels = 32, .height = 28, .width = 28, .out_channels = 40},
           {.images = 2,
            .channels = 128,
            .height = 20,
            .width = 21,
            .out_channels = 16,
            .channels_last = {"x", "weight"}},
           // Channels that are no multiples of 16 bytes.
           {.images = 5, .channels = 27, .height = 19, .width = 22, .out_channels = 40},
           {.images = 7, .channels = 37, .height = 14, .width = 14, .out_channels = 12, .channels_last = {"x", "out"}},
           // Windows that reach far beyond x, and tiles that end outside of out.
           {.images = 3,
            .channels = 40,
            .height = 30,
            .width = 19,
            .out_channels = 6,
            .kernel = {2, 3},
            .padding = {5, 0, 2, 7},
            .dilation = {3, 2},
            .channels_last = {"x", "out"}},
           {.images = 3, .channels = 64, .height = 20, .width = 31, .out_channels = 10, .groups = 2, .has_bias = false},
           {.images = 9, .channels = 24, .height = 31, .width = 38, .out_channels = 5, .stride = {2, 2}}}) {
    for_each_type([&]<class T>() {
      Conv2dProblem<T> problem(ctx, c);
      const impl::ConvolutionTensors tensors = tensors_of(problem);
      const impl::Windows windows = problem.windows();
      if (!impl::can_fuse(ctx, windows, tensors)) return;
      const std::vector<Sum> expected = problem.expected("out");
      for (const Math math : {Math::ieee, Math::tf32}) {
        const bool rounds = math == Math::tf32 && std::is_same_v<T, float>;
        if (math == Math::tf32 && !rounds) continue;
        const Context with_math = Context(ctx).math(math);
        for (const impl::FusedForm& form : impl::fused_forms(with_math, Operator::fused(), {windows, tensors})) {
          if (form.residence == impl::Residence::none) continue;
          ++(form.residence == impl::Residence::runs ? runs : patches);
          if (std::is_same_v<T, float> && !rounds) ++split;
          SCOPED_TRACE(text_of(form));
          problem.poison("out");
          impl::convolve_fused(with_math, Operator::fused(), windows, tensors, form);
          problem.expect("out", expected, rounds ? 0x1p-10 : Conv2dProblem<T>::default_tolerance);
        }
      }
    });
  }
  if (runs + patches == 0) GTEST_SKIP() << "no device that can";
  EXPECT_GT(runs, 0);
  EXPECT_GT(patches, 0);
  EXPECT_GT(split, 0) << "of f32 as terms";
}

/// Numbers that have 11 significant bits enter products as they are, and others are off by nothing on average.
TEST_P(Conv2dPathsTest, tf32_is_exact_where_it_can_be_and_has_no_bias_elsewhere) {
  const Context tf32 = Context(ctx).math(Math::tf32);
  Conv2dProblem<float> problem(ctx, {.images = 1,
                                     .channels = 64,
                                     .height = 13,
                                     .width = 20,
                                     .out_channels = 70,
                                     .has_bias = false,
                                     .channels_last = {"x", "out"}});
  const impl::ConvolutionTensors tensors = tensors_of(problem);
  const impl::Windows windows = problem.windows();
  if (!impl::can_fuse(tf32, windows, tensors)) GTEST_SKIP() << "a path of GPUs of compute capability 9.0";
  const auto forms = impl::fused_forms(tf32, Operator::fused(), {windows, tensors});

  // Sums of such numbers fit into the 24 bits of an f32.
  problem.fill("x", [](std::size_t i) { return static_cast<double>(i * 7919 % 4095) - 2047.0; });
  problem.fill("weight", [](std::size_t i) { return static_cast<double>(i % 7) - 3.0; });
  std::vector<Sum> expected = problem.expected("out");
  for (const impl::FusedForm& form : forms) {
    SCOPED_TRACE(text_of(form));
    problem.poison("out");
    impl::convolve_fused(tf32, Operator::fused(), windows, tensors, form);
    problem.expect("out", expected, 0.0);
  }

  Random random(3);
  for (const char* name : {"x", "weight"}) {
    problem.fill(name, [&](std::size_t) { return random.uniform(0.5, 2.0); });
  }
  expected = problem.expected("out");
  Conv2dTensor<float>& out = problem.tensors.at("out");
  for (const impl::FusedForm& form : forms) {
    SCOPED_TRACE(text_of(form));
    impl::convolve_fused(tf32, Operator::fused(), windows, tensors, form);
    out.download();
    double error = 0.0;
    for (std::size_t i = 0; i < expected.size(); ++i) error += out[i] / static_cast<double>(expected[i].value) - 1.0;
    // Bits that are cut off would make it 2^-11.5.
    EXPECT_LT(std::abs(error / static_cast<double>(expected.size())), 0x1p-14);
  }
}

TEST_P(Conv2dPathsTest, rows_of_windows_of_few_channels_equal_the_reference) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "a path of GPUs";
  int fused = 0;
  for (const Conv2dCase& c : std::vector<Conv2dCase>{
           {.channels = 3, .height = 20, .width = 23, .out_channels = 70, .kernel = {7, 7}, .stride = {2, 2}},
           {.images = 3, .channels = 4, .width = 30, .out_channels = 5, .kernel = {2, 8}, .padding = {3, 9, 0, 1}},
           {.channels = 1, .height = 9, .width = 60, .out_channels = 65, .kernel = {3, 40}, .dilation = {2, 1}},
           {.channels = 7, .kernel = {3, 5}, .stride = {1, 3}, .padding = {2, 2}, .channels_last = {"x", "out"}},
           {.channels = 3, .width = 9, .kernel = {5, 5}, .stride = {1, 7}, .padding = {0, 8}}}) {
    for_each_type([&]<class T>() {
      for (const double special : {0.5, nan, inf}) {
        Conv2dProblem<T> problem(ctx, c);
        const std::vector<double> x = problem.inputs.at("x");
        problem.fill("x", [&](std::size_t i) { return i == 17 ? special : x[i]; });
        for (const Math math : {Math::ieee, Math::tf32}) {
          const Context with_math = Context(ctx).math(math);
          if (!impl::suits_window_rows(with_math, problem.windows(), tensors_of(problem))) continue;
          impl::convolve_by_window_rows(with_math, problem.windows(), tensors_of(problem));
          const bool rounds = math == Math::tf32 && std::is_same_v<T, float>;
          problem.expect("out", problem.expected("out"), rounds ? 0x1p-10 : Conv2dProblem<T>::default_tolerance);
          ++fused;
        }
      }
    });
  }
  if (fused == 0) GTEST_SKIP() << "no device that can";
}

TEST_P(Conv2dPathsTest, gradients_of_weights_as_they_lie_equal_the_reference) {
  // In 16 bits x_grad takes a weight whose channels are neighbours turned, tap by tap backwards; with strides in
  // phases.
  const std::set<std::string> last{"x", "weight", "out_grad", "x_grad", "weight_grad"};
  const std::vector<Conv2dCase> all{
      {.images = 2, .channels = 72, .height = 9, .out_channels = 80, .channels_last = last},
      {.images = 1, .channels = 320, .out_channels = 88, .kernel = {2, 3}, .channels_last = {"weight"}},
      {.images = 3, .channels = 136, .height = 8, .out_channels = 64, .stride = {2, 2}, .channels_last = last},
      {.images = 1, .channels = 64, .out_channels = 72, .kernel = {4, 3}, .stride = {3, 2}, .channels_last = last},
      {.images = 2, .channels = 128, .height = 7, .out_channels = 128, .groups = 2, .channels_last = last}};
  for (const Conv2dCase& c : all) {
    for_each_type([&]<class T>() { Conv2dProblem<T>(ctx, c).check_grad(ctx); });
  }
}

TEST_P(Conv2dPathsTest, gradients_of_few_channels_equal_the_reference) {
  // Of one group, x_grad by columns and weight_grad by rows of windows, or pixel by pixel in small images; of several,
  // pixel by pixel, in several chunks, but for depthwise windows of some extents.
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  const std::vector<Conv2dCase> few{
      {.images = 3, .channels = 3, .height = 20, .width = 23, .out_channels = 33, .kernel = {7, 7}, .stride = {2, 2}},
      {.images = 2, .channels = 4, .width = 30, .out_channels = 9, .kernel = {2, 8}, .padding = {3, 9, 0, 1}},
      {.channels = 1, .height = 50, .width = 60, .out_channels = 70, .kernel = {3, 3}, .dilation = {2, 1}},
      {.channels = 1, .height = 30, .width = 29, .out_channels = 20, .kernel = {7, 7}, .stride = {2, 2}},
      {.images = 3, .channels = 2, .height = 17, .width = 13, .out_channels = 36, .kernel = {3, 5}, .stride = {2, 1}},
      {.images = 200, .channels = 1, .height = 5, .width = 6, .out_channels = 3},
      {.channels = 7, .out_channels = 12, .kernel = {3, 5}, .stride = {1, 3}, .channels_last = {"x", "out_grad"}},
      {.channels = 8, .width = 9, .out_channels = 10, .kernel = {5, 5}, .stride = {1, 7}, .padding = {0, 8}},
      {.images = 2, .channels = 12, .height = 37, .width = 41, .out_channels = 24, .groups = 4},
      {.images = 3, .channels = 6, .height = 40, .width = 39, .out_channels = 84, .dilation = {1, 3}, .groups = 2},
      {.images = 2, .channels = 10, .height = 50, .width = 50, .out_channels = 10, .stride = {2, 1}, .groups = 10},
      {.images = 2, .channels = 10, .height = 50, .width = 50, .out_channels = 10, .kernel = {3, 4}, .groups = 10},
      {.channels = 12, .out_channels = 4, .groups = 4},
      {.channels = 3, .height = 4, .width = 5, .out_channels = 12, .stride = {huge, huge}},
      {.channels = 9, .out_channels = 9, .groups = 9, .channels_last = {"x", "out_grad", "x_grad", "weight_grad"}}};
  for (const Conv2dCase& c : few) {
    for_each_type([&]<class T>() { Conv2dProblem<T>(ctx, c).check_grad(ctx); });
  }
}

TEST_P(Conv2dPathsTest, weight_gradients_by_products_equal_the_reference) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "a path of GPUs";
  // Around what blocks take at once: lines of 64 channels, three of them, 64 or 128 output channels, 32 or 64 pixels.
  const std::vector<Conv2dCase> all{
      {.images = 3, .channels = 64, .height = 13, .width = 17, .out_channels = 72},
      {.images = 1, .channels = 32, .height = 3, .width = 3, .out_channels = 32},
      {.images = 2, .channels = 40, .height = 20, .out_channels = 136, .kernel = {5, 2}, .padding = {2, 0, 1, 1}},
      {.images = 2,
       .channels = 80,
       .width = 30,
       .out_channels = 160,
       .stride = {2, 3},
       .dilation = {1, 2},
       .groups = 2},
      {.images = 5,
       .channels = 128,
       .height = 30,
       .width = 31,
       .out_channels = 64,
       .channels_last = {"x", "out_grad", "weight_grad"}},
      {.images = 1, .channels = 200, .out_channels = 48, .kernel = {1, 1}, .stride = {2, 1}, .padding = {0, 0}},
      {.images = 2, .channels = 72, .out_channels = 40, .padding = {4, 0, 0, 3}, .channels_last = {"x"}},
      // So many tiles that each is a block's, which writes the result; and planes that are read where they lie.
      {.images = 1, .channels = 320, .height = 4, .width = 6, .out_channels = 200},
      {.images = 1,
       .channels = 328,
       .height = 5,
       .width = 5,
       .out_channels = 264,
       .channels_last = {"x", "out_grad", "weight_grad"}},
      {.images = 5,
       .channels = 24,
       .height = 20,
       .width = 30,
       .out_channels = 200,
       .kernel = {1, 1},
       .padding = {0, 0}},
      {.images = 3,
       .channels = 128,
       .height = 24,
       .width = 9,
       .out_channels = 96,
       .kernel = {1, 1},
       .padding = {0, 0},
       .groups = 2},
      // Output channels that fill no unit, as many as offsets and masks have.
      {.images = 3, .channels = 64, .height = 14, .width = 14, .out_channels = 27},
      {.images = 2,
       .channels = 72,
       .height = 9,
       .out_channels = 131,
       .channels_last = {"x", "out_grad", "weight_grad"}},
      {.images = 2, .channels = 40, .height = 12, .out_channels = 33, .kernel = {1, 1}, .padding = {0, 0}},
      // And what f32 takes besides: units of 4 channels, images of few pixels.
      {.images = 7, .channels = 20, .height = 5, .width = 4, .out_channels = 27, .stride = {1, 2}},
      {.images = 2, .channels = 48, .out_channels = 64, .dilation = {2, 1}, .groups = 4},
      {.images = 9, .channels = 8, .height = 40, .width = 50, .out_channels = 17, .channels_last = {"out_grad"}}};
  int taken = 0;
  for (const Conv2dCase& c : all) {
    for_each_type([&]<class T>() {
      Conv2dProblem<T> problem(ctx, c);
      if (!impl::suits_weight_products(ctx, problem.windows(), problem.refs.at("x"), problem.refs.at("out_grad")))
        return;
      problem.check_grad(ctx);
      if (std::is_same_v<T, float>) problem.check_grad(Context(ctx).math(Math::tf32), 0x1p-10);
      ++taken;
    });
  }
  if (taken == 0) GTEST_SKIP() << "no device that can";
}

TEST(Conv2dPhases, take_each_tap_once_and_reach_what_it_reaches) {
  for (const std::int64_t extent : {1, 2, 7, 12}) {
    for (const std::int64_t kernel : {1, 2, 3, 5}) {
      for (const std::int64_t stride : {1, 2, 3, 4, 6, 1000}) {
        for (const std::int64_t before : {0, 1, 2, 9}) {
          for (const std::int64_t dilation : {1, 2, 3, 4}) {
            // Which taps of the turned weight meet a pixel of x, and from where.
            std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> expected, found;
            for (std::int64_t h = 0; h < extent; ++h) {
              for (std::int64_t tap = 0; tap < kernel; ++tap) {
                const std::int64_t from = h + before - (kernel - 1 - tap) * dilation;
                if (from % stride == 0) expected[{h, tap}] = from / stride;
              }
            }
            const std::vector<impl::Phase> phases = impl::phases_of(extent, kernel, stride, before, dilation);
            EXPECT_LE(phases.size(), static_cast<std::size_t>(kernel));
            for (const impl::Phase& phase : phases) {
              for (std::int64_t i = 0; i < phase.extent; ++i) {
                for (std::int64_t t = 0; t < phase.taps; ++t) {
                  const auto [at, is_new] = found.insert({{phase.first + i * stride, phase.tap + t * phase.tap_step},
                                                          i - phase.before + t * phase.dilation});
                  EXPECT_TRUE(is_new);
                }
              }
            }
            EXPECT_EQ(found, expected) << extent << ", " << kernel << ", " << stride << ", " << before << ", "
                                       << dilation;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace portops::test
