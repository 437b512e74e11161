// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_path_tests.hpp"
#include "ops/convolution/convolve.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_convolution.hpp"
#include "ops/convolution/deform_conv2d/gradient/taps_grad_path.hpp"
#include "ops/convolution/fused_form_text.hpp"
#include "strided_tensor.hpp"

#include <limits>

// The paths of deform_conv2d, each made to compute the same calls.

namespace portops::test {
namespace {

using Operator = impl::DeformConv2dConvolution;

/// Shapes around what the fused path's blocks take at once: chunks of 32 or 64 channels, 25 taps, 64 or 128 pixels, 64
/// to 256 output channels; and long inner axes, which blocks share.
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
    {.images = 1, .channels = 1024, .height = 3, .width = 3, .out_channels = 4},
    // A part of one chunk.
    {.images = 2, .channels = 8, .height = 12, .width = 20, .out_channels = 70},
    {.images = 1, .channels = 27, .height = 12, .width = 20, .out_channels = 130, .deformable_groups = 1},
    // Runs of 16 channels and a few more.
    {.images = 2, .channels = 64, .height = 9, .out_channels = 64, .groups = 4, .deformable_groups = 4},
    {.images = 1, .channels = 96, .height = 9, .out_channels = 24, .groups = 2, .deformable_groups = 4},
    // Of 8 and of 12.
    {.images = 2, .channels = 48, .height = 9, .out_channels = 70, .deformable_groups = 4},
    {.images = 1, .channels = 80, .height = 12, .out_channels = 48, .groups = 2, .deformable_groups = 10},
    // Padded runs of channels: more of them than images, and less.
    {.images = 2, .channels = 240, .height = 4, .out_channels = 24, .groups = 6, .deformable_groups = 6},
    {.images = 5, .channels = 160, .height = 4, .out_channels = 24, .groups = 4, .deformable_groups = 2}};

class DeformConv2dPathsTest : public OnEveryBackend {};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dPathsTest);

template <class T>
impl::DeformConv2dGradTensors tensors_of_grad(const DeformConv2dProblem<T>& problem) {
  const auto& refs = problem.refs;
  return {refs.at("x"),         refs.at("offset"),   refs.at("weight"),      refs.at("mask"),
          refs.at("out_grad"),  refs.at("x_grad"),   refs.at("offset_grad"), refs.at("weight_grad"),
          refs.at("mask_grad"), refs.at("bias_grad")};
}

/// That the path's results equal the reference. `run` takes the geometry and the tensors.
template <class T, class Run>
void check_path(const Context& ctx, const DeformConv2dCase& c, double tolerance, const Run& run) {
  DeformConv2dProblem<T> problem(ctx, c);
  const impl::ConvolutionTensors tensors = tensors_of(problem);
  run(windows_of(problem), tensors);
  problem.expect("out", problem.expected_out(), tolerance);
}

/// The same for all cases and types, image by image. `path` computes as deform_conv2d_by_im2col does.
template <class Path>
void check_path_on(const Context& ctx, const std::vector<DeformConv2dCase>& all, const Path& path) {
  for (const DeformConv2dCase& c : all) {
    for_each_type([&]<class T>() {
      check_path<T>(ctx, c, DeformConv2dProblem<T>::default_tolerance,
                    [&](const impl::Windows& windows, const impl::ConvolutionTensors& tensors) {
                      path(ctx, windows, tensors, 1);
                    });
    });
  }
}

TEST_P(DeformConv2dPathsTest, columns_in_memory_equal_the_reference) {
  check_path_on(ctx, cases, impl::convolve_by_im2col<Operator>);
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
                      [&](const impl::Windows& windows, const impl::ConvolutionTensors& tensors) {
                        if (impl::can_fuse(with_math, windows, tensors)) {
                          ++fused;
                          impl::convolve_fused(with_math, Operator::fused(), windows, tensors);
                        } else {
                          impl::convolve_by_im2col<Operator>(with_math, windows, tensors, 64);
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
  // tap, so that a step is a chunk; chunks that are half full.
  for (const DeformConv2dCase& c : {cases[1], cases[7], cases[5], cases[3], cases[9]}) {
    for_each_type([&]<class T>() {
      DeformConv2dProblem<T> problem(ctx, c);
      const impl::ConvolutionTensors tensors = tensors_of(problem);
      const impl::Windows windows = windows_of(problem);
      const std::vector<Sum> expected = problem.expected_out();
      for (const Math math : {Math::ieee, Math::tf32}) {
        const Context with_math = Context(ctx).math(math);
        if (!impl::can_fuse(with_math, windows, tensors)) continue;
        const bool rounds = math == Math::tf32 && std::is_same_v<T, float>;
        for (const impl::FusedForm& form : impl::fused_forms(with_math, Operator::fused(), {windows, tensors})) {
          SCOPED_TRACE(text_of(form));
          problem.tensors.at("out").fill([](std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); });
          impl::convolve_fused(with_math, Operator::fused(), windows, tensors, form);
          problem.expect("out", expected, rounds ? 0x1p-10 : DeformConv2dProblem<T>::default_tolerance);
          ++fused;
        }
      }
    });
  }
  if (fused == 0) GTEST_SKIP() << "no device that can";
}

TEST_P(DeformConv2dPathsTest, fused_in_every_form_writes_channels_last_what_it_writes_in_planes) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "a path of GPUs";
  int fused = 0;
  for (const DeformConv2dCase& c : {cases[1], cases[2], cases[8]}) {
    for_each_type([&]<class T>() {
      DeformConv2dProblem<T> problem(ctx, c);
      impl::ConvolutionTensors tensors = tensors_of(problem);
      const impl::Windows windows = windows_of(problem);
      if (!impl::can_fuse(ctx, windows, tensors)) return;
      const Extents extents = c.extents("out");
      TestTensor<T>& out = problem.tensors.at("out");
      for (const impl::FusedForm& form : impl::fused_forms(ctx, Operator::fused(), {windows, tensors})) {
        tensors.out = out.ref();
        impl::convolve_fused(ctx, Operator::fused(), windows, tensors, form);
        out.download();
        // At multiples of 16 bytes and between them.
        for (const std::int64_t apart : {(extents[1] + 7) / 8 * 8, extents[1] + 3}) {
          SCOPED_TRACE(text_of(form) + ", " + std::to_string(apart) + " apart");
          auto lines = StridedTensor<T>::channels_last(ctx, extents, apart, apart % 8);
          tensors.out = lines.ref();
          impl::convolve_fused(ctx, Operator::fused(), windows, tensors, form);
          const std::vector<double> found = lines.download();
          for (std::int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(found[static_cast<std::size_t>(i)], out[i]) << i;
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
  // Few channels, whose samples are found in strips: several images in a tile, and several slices of the inner axis;
  // x, which is then read where it lies, in another layout.
  all.push_back({.images = 5, .channels = 64, .height = 5, .out_channels = 20, .deformable_groups = 8});
  all.push_back({.images = 5, .channels = 3, .height = 5, .width = 11, .out_channels = 40, .stride = {2, 1}});
  all.push_back({.images = 3, .channels = 12, .out_channels = 9, .groups = 3, .deformable_groups = 2});
  for (const Layout layout : all_layouts) {
    all.push_back({.images = 2, .channels = 2, .out_channels = 20, .layouts = {{"x", layout}, {"mask", layout}}});
  }
  check_path_on(ctx, all, impl::convolve_by_tiles<Operator>);
}

/// Depthwise windows, first layers and warps.
const std::vector<DeformConv2dCase> few_products{
    {.images = 1,
     .channels = 3,
     .height = 24,
     .width = 31,
     .out_channels = 3,
     .kernel = {1, 1},
     .padding = {0, 0},
     .groups = 3,
     .has_mask = false,
     .has_bias = false},
    {.images = 2, .channels = 6, .out_channels = 6, .kernel = {3, 2}, .groups = 6},
    {.images = 2, .channels = 6, .out_channels = 18, .groups = 6, .deformable_groups = 6, .has_mask = false},
    {.images = 1, .channels = 12, .out_channels = 12, .groups = 12, .deformable_groups = 3},
    {.images = 1,
     .channels = 4,
     .height = 20,
     .width = 13,
     .out_channels = 4,
     .kernel = {7, 7},
     .padding = {3, 3},
     .groups = 4},
    {.images = 1, .channels = 1, .height = 40, .width = 41, .out_channels = 16, .stride = {2, 2}},
    {.images = 3,
     .channels = 2,
     .height = 1,
     .width = 300,
     .out_channels = 5,
     .kernel = {1, 3},
     .padding = {0, 2},
     .dilation = {1, 2}},
    {.images = 3, .channels = 4, .height = 19, .width = 18, .out_channels = 32, .kernel = {2, 2}},
    {.images = 1, .channels = 6, .out_channels = 4, .groups = 2, .deformable_groups = 3},
    {.images = 1, .channels = 70, .height = 5, .width = 6, .out_channels = 70, .groups = 70}};

/// Others of whose gradients a GPU has no columns in memory: packs of channels that are whole, and that are not; more
/// of them than a warp has threads; output channels that several threads share.
const std::vector<DeformConv2dCase> few_gradient_products{
    {.images = 1, .channels = 140, .height = 5, .width = 6, .out_channels = 140, .groups = 140},
    {.images = 2, .channels = 128, .height = 4, .width = 5, .out_channels = 128, .groups = 128, .has_mask = false},
    {.images = 2, .channels = 64, .height = 7, .width = 6, .out_channels = 64, .groups = 4, .deformable_groups = 4},
    {.images = 1, .channels = 48, .height = 7, .width = 6, .out_channels = 96, .groups = 4, .deformable_groups = 2},
    {.images = 1, .channels = 80, .height = 4, .width = 7, .out_channels = 40, .groups = 5},
    {.images = 2, .channels = 30, .height = 6, .width = 7, .out_channels = 120, .groups = 6, .deformable_groups = 3},
    {.images = 2, .channels = 14, .height = 6, .width = 7, .out_channels = 21, .groups = 7},
    {.images = 1, .channels = 16, .height = 6, .width = 7, .out_channels = 32, .groups = 1, .deformable_groups = 8},
    {.images = 1, .channels = 3, .height = 23, .width = 17, .out_channels = 40},
    {.images = 1,
     .channels = 2,
     .height = 9,
     .width = 10,
     .out_channels = 64,
     .kernel = {5, 5},
     .padding = {2, 2},
     .groups = 1},
    {.images = 1, .channels = 6, .height = 9, .width = 10, .out_channels = 12, .groups = 1, .deformable_groups = 6}};

/// Those and others, with operands that lie anyhow.
std::vector<DeformConv2dCase> cases_of_few_products() {
  std::vector<DeformConv2dCase> all = few_products;
  for (const Layout layout : all_layouts) {
    all.push_back(with_layout({.channels = 3, .out_channels = 3, .groups = 3}, layout));
  }
  return all;
}

TEST_P(DeformConv2dPathsTest, pixels_of_gpus_equal_the_reference) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "a path of GPUs";
  check_path_on(ctx, cases_of_few_products(),
                [](const Context& on, const impl::Windows& windows, const impl::ConvolutionTensors& tensors,
                   std::int64_t) { impl::convolve_by_pixels<Operator>(on, windows, tensors); });
}

TEST_P(DeformConv2dPathsTest, strips_of_hosts_equal_the_reference) {
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "a path of hosts";
  check_path_on(ctx, cases_of_few_products(),
                [](const Context& on, const impl::Windows& windows, const impl::ConvolutionTensors& tensors,
                   std::int64_t) { impl::convolve_by_strips<Operator>(on, windows, tensors); });
}

TEST_P(DeformConv2dPathsTest, few_products_give_gradients_that_equal_the_reference) {
  std::vector<DeformConv2dCase> all = few_products;
  all.insert(all.end(), few_gradient_products.begin(), few_gradient_products.end());
  // Several bands of rows, in several steps; several strips for each chunk of them. On GPUs, several chunks of pixels.
  all.push_back(
      {.images = 3, .channels = 2, .height = 70, .width = 9, .out_channels = 2, .groups = 2, .im2col_step = 2});
  all.push_back(
      {.images = 1, .channels = 3, .height = 100, .width = 90, .out_channels = 3, .groups = 3, .deformable_groups = 3});
  all.push_back({.images = 140, .channels = 2, .height = 4, .width = 3, .out_channels = 4, .groups = 2});
  for (const Layout layout : all_layouts) {
    DeformConv2dCase c{.channels = 3, .out_channels = 3, .groups = 3};
    for (const std::string name : {"x", "offset", "weight", "mask", "out_grad", "x_grad", "offset_grad", "weight_grad",
                                   "mask_grad", "bias_grad"}) {
      c.layouts[name] = layout;
    }
    all.push_back(c);
  }
  for (const DeformConv2dCase& c : all) {
    for_each_type([&]<class T>() { DeformConv2dProblem<T>(ctx, c).check_grad(ctx); });
  }
}

TEST_P(DeformConv2dPathsTest, few_products_give_any_of_the_gradients_alone) {
  for_each_type([&]<class T>() {
    for (unsigned wanted = 0; wanted < 32; ++wanted) {
      for (const DeformConv2dCase& c :
           {DeformConv2dCase{.channels = 6, .out_channels = 18, .groups = 2, .deformable_groups = 3},
            few_gradient_products[0], few_gradient_products[2]}) {
        DeformConv2dProblem<T> problem(ctx, c);
        for (std::size_t i = 0; i < deform_conv2d_gradients.size(); ++i) {
          if ((wanted >> i & 1u) == 0) problem.refs[deform_conv2d_gradients[i]] = {};
        }
        problem.check_grad(ctx);
      }
    }
  });
}

TEST_P(DeformConv2dPathsTest, few_products_give_gradients_far_from_their_windows) {
  for_each_type([&]<class T>() {
    DeformConv2dProblem<T> problem(
        ctx, {.images = 1, .channels = 2, .height = 70, .width = 9, .out_channels = 2, .groups = 2});
    problem.fill("offset", [](std::int64_t i) { return fractional_offset<T>(i, 63.0); });
    problem.check_grad(ctx);
  });
}

TEST_P(DeformConv2dPathsTest, few_products_take_paths_of_their_own_and_no_workspace) {
  const bool is_device = ctx.backend() == Backend::cuda;
  const auto suits = [&](const DeformConv2dProblem<float>& problem) {
    const impl::Windows windows = windows_of(problem);
    return is_device ? impl::suits_pixels(ctx, windows, tensors_of(problem))
                     : impl::suits_strips<Operator>(ctx, windows, problem.refs.at("x"));
  };
  for (const DeformConv2dCase& c : few_products) {
    const DeformConv2dProblem<float> problem(ctx, c);
    if (!is_device && c.out_channels / c.groups > 16) continue;
    EXPECT_TRUE(suits(problem)) << c.to_string();
    EXPECT_EQ(problem.workspace(ctx), 0u) << c.to_string();
  }
  for (const DeformConv2dCase& c : cases) {
    const DeformConv2dProblem<float> problem(ctx, c);
    const impl::Windows windows = windows_of(problem);
    // Some would go pixel by pixel without the fused kernel, which comes first.
    if (is_device && !impl::can_fuse(ctx, windows, tensors_of(problem))) continue;
    const impl::ConvolutionPath path = impl::choose_path<Operator>(ctx, windows, tensors_of(problem));
    EXPECT_EQ(path, is_device ? impl::ConvolutionPath::fused : impl::ConvolutionPath::tiles) << c.to_string();
  }
}

TEST_P(DeformConv2dPathsTest, gradients_of_few_products_are_taken_tap_by_tap_unless_they_are_deterministic) {
  for (const std::vector<DeformConv2dCase>& all : {few_products, few_gradient_products}) {
    for (const DeformConv2dCase& c : all) {
      const DeformConv2dProblem<float> problem(ctx, c);
      const impl::Windows windows = windows_of(problem);
      impl::DeformConv2dGradTensors tensors = tensors_of_grad(problem);
      EXPECT_EQ(impl::suits_taps_grad(ctx, windows, tensors), ctx.backend() == Backend::cuda) << c.to_string();
      const Context deterministic = Context(ctx).deterministic(true);
      EXPECT_FALSE(impl::suits_taps_grad(deterministic, windows, tensors)) << c.to_string();
      tensors.x_grad = {};
      EXPECT_EQ(impl::suits_taps_grad(deterministic, windows, tensors), ctx.backend() == Backend::cuda)
          << "without x_grad, " << c.to_string();
    }
  }
}

TEST_P(DeformConv2dPathsTest, pixels_need_numbers_of_32_bits) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const DeformConv2dProblem<float> problem(ctx, {.images = 2, .channels = 2, .height = 1, .groups = 2});
  const impl::ConvolutionTensors tensors = tensors_of(problem);
  const impl::Windows windows = windows_of(problem);
  EXPECT_TRUE(impl::fits_pixels(windows, tensors));
  const auto lies = [&](TensorRef impl::ConvolutionTensors::* which, int axis, std::int64_t stride) {
    impl::ConvolutionTensors changed = tensors;
    const TensorRef& tensor = tensors.*which;
    Extents strides = tensor.strides();
    strides[axis] = stride;
    changed.*which = TensorRef(tensor.data(), tensor.type(), tensor.extents(), strides, tensor.space());
    return impl::fits_pixels(windows, changed);
  };
  using Tensors = impl::ConvolutionTensors;
  for (const auto which : {&Tensors::x, &Tensors::offset, &Tensors::weight, &Tensors::mask, &Tensors::out}) {
    EXPECT_TRUE(lies(which, 0, most / 8));
    EXPECT_FALSE(lies(which, 0, most));
    EXPECT_FALSE(lies(which, 0, -most));
    EXPECT_FALSE(lies(which, 0, std::numeric_limits<std::int64_t>::min()));
  }
  EXPECT_TRUE(lies(&Tensors::x, 2, most + 1)) << "of one row";
  const auto has = [&](std::int64_t impl::Windows::* number, std::int64_t value) {
    impl::Windows changed = windows;
    changed.*number = value;
    return impl::fits_pixels(changed, tensors);
  };
  EXPECT_FALSE(has(&impl::Windows::height, 0)) << "no pixels";
  EXPECT_FALSE(has(&impl::Windows::top, most + 1));
  EXPECT_FALSE(has(&impl::Windows::stride_x, most));
  EXPECT_FALSE(has(&impl::Windows::dilation_y, most));
}

TEST_P(DeformConv2dPathsTest, strips_need_numbers_of_32_bits) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto fits = [](const Extents& strides, impl::Windows windows) {
    float element = 0.0f;
    return Operator::fits_strips(windows, TensorRef(&element, {1, 1, windows.height, windows.width}, strides));
  };
  const impl::Windows small{
      .height = 3, .width = 2, .out_height = 3, .out_width = 2, .kernel_height = 1, .kernel_width = 1};
  EXPECT_TRUE(fits({0, 0, 2, 1}, small));
  EXPECT_TRUE(fits({most + 1, most + 1, most / 2, 1}, small));
  EXPECT_FALSE(fits({0, 0, most / 2 + 1, 1}, small));
  EXPECT_FALSE(fits({0, 0, -most / 2, 2}, small));
  EXPECT_FALSE(fits({0, 0, 1, std::numeric_limits<std::int64_t>::min()}, small));
  const auto changed = [&](std::int64_t impl::Windows::* number, std::int64_t value) {
    impl::Windows windows = small;
    windows.*number = value;
    return windows;
  };
  EXPECT_FALSE(fits({0, 0, 0, 0}, changed(&impl::Windows::height, 0))) << "no pixels";
  EXPECT_TRUE(fits({0, 0, 0, 0}, changed(&impl::Windows::height, most / 2)));
  EXPECT_FALSE(fits({0, 0, 0, 0}, changed(&impl::Windows::height, most / 2 + 1))) << "so many pixels";
  EXPECT_FALSE(fits({0, 0, 0, 0}, changed(&impl::Windows::height, most + 1)));
  EXPECT_FALSE(fits({0, 0, 0, 0}, changed(&impl::Windows::top, most + 1)));
  EXPECT_FALSE(fits({0, 0, 0, 0}, changed(&impl::Windows::stride_x, most + 1)));
  EXPECT_TRUE(fits({0, 0, 0, 0}, changed(&impl::Windows::dilation_y, most + 1))) << "of one tap";
}

TEST_P(DeformConv2dPathsTest, gradients_of_products_of_several_tiles) {
  for (const DeformConv2dCase& c : {cases[1], cases[2], cases[6]}) {
    for_each_type([&]<class T>() { DeformConv2dProblem<T>(ctx, c).check_grad(ctx); });
  }
}

}  // namespace
}  // namespace portops::test
