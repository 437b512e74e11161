// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_reference.hpp"
#include "strided_tensor.hpp"

namespace portops::test {
namespace {

/// Those that deform_conv2d reads.
const std::vector<std::string> operands{"x", "offset", "weight", "mask", "bias"};

class DeformConv2dTest : public OnEveryBackend {
 protected:
  /// All element types.
  void check(const DeformConv2dCase& c) {
    for_each_type([&]<class T>() { DeformConv2dProblem<T>(ctx, c).check(ctx); });
  }
};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dTest);

TEST_P(DeformConv2dTest, equals_the_reference_for_every_stride_padding_and_dilation) {
  for (const Numbers& stride : {Numbers{1, 1}, Numbers{2, 1}, Numbers{1, 3}, Numbers{3, 2}}) {
    for (const Numbers& padding : {Numbers{0, 0}, Numbers{1, 2}, Numbers{0, 1, 3, 2}, Numbers{2, 0, 0, 1}}) {
      for (const Numbers& dilation : {Numbers{1, 1}, Numbers{2, 1}, Numbers{1, 3}}) {
        check({.stride = stride, .padding = padding, .dilation = dilation});
      }
    }
  }
}

TEST_P(DeformConv2dTest, equals_the_reference_for_every_kernel) {
  for (const std::array<std::int64_t, 2> kernel :
       {std::array<std::int64_t, 2>{1, 1}, {3, 3}, {5, 5}, {2, 3}, {3, 2}, {1, 4}, {7, 9}}) {
    check({.kernel = kernel, .padding = {0, 0}});
    check({.kernel = kernel, .stride = {2, 2}, .padding = {2, 1}});
  }
}

TEST_P(DeformConv2dTest, equals_the_reference_for_every_group) {
  for (const std::int64_t groups : {1, 2, 4}) {
    for (const std::int64_t deformable_groups : {1, 2, 4}) {
      check({.out_channels = 8, .groups = groups, .deformable_groups = deformable_groups});
      check({.channels = 8, .out_channels = 4, .groups = groups, .deformable_groups = deformable_groups});
    }
  }
  check({.channels = 12, .groups = 2, .deformable_groups = 3});
  check({.channels = 12, .groups = 3, .deformable_groups = 2});
  check({.channels = 12, .groups = 6, .deformable_groups = 4});
  check({.channels = 6, .out_channels = 6, .groups = 6, .deformable_groups = 1});
  check({.channels = 6, .out_channels = 12, .groups = 6, .deformable_groups = 6});
}

TEST_P(DeformConv2dTest, equals_the_reference_for_every_number_of_channels) {
  for (const std::int64_t channels : {1, 2, 3, 4, 5, 6, 8, 16, 17, 31, 64}) {
    for (const std::int64_t out_channels : {1, 5}) {
      check({.images = 1, .channels = channels, .height = 5, .out_channels = out_channels, .kernel = {2, 3}});
    }
  }
  for (const std::int64_t out_channels : {8, 16, 64, 65}) {
    check({.images = 1, .height = 5, .out_channels = out_channels, .kernel = {2, 3}});
  }
  check({.images = 1, .channels = 64, .out_channels = 64, .groups = 2, .deformable_groups = 4});
}

TEST_P(DeformConv2dTest, does_not_drift_over_constant_data) {
  for_each_type([&]<class T>() {
    for (const std::int64_t channels : {2, 512}) {
      for (const double constant : drifting_constants) {
        DeformConv2dProblem<T> problem(ctx,
                                       {.images = 1, .channels = channels, .height = 4, .width = 5, .out_channels = 3});
        problem.fill("x", [&](std::int64_t) { return constant; });
        problem.fill("offset", [](std::int64_t) { return 0.0; });
        problem.fill("weight", [](std::int64_t) { return 0.3; });
        problem.fill("mask", [](std::int64_t) { return 1.0; });
        problem.check(ctx);
      }
    }
  });
}

TEST_P(DeformConv2dTest, equals_the_reference_for_every_extent_of_images) {
  for (const std::int64_t height : {1, 2, 3, 8}) {
    for (const std::int64_t width : {1, 2, 7, 16, 17, 33}) {
      check({.channels = 2, .height = height, .width = width, .out_channels = 3});
    }
  }
  check({.images = 1, .height = 40, .width = 41, .has_mask = false});
}

TEST_P(DeformConv2dTest, takes_mask_and_bias_or_not) {
  for (const bool has_mask : {false, true}) {
    for (const bool has_bias : {false, true}) {
      check({.has_mask = has_mask, .has_bias = has_bias});
      check({.kernel = {1, 1}, .padding = {0, 0}, .groups = 2, .has_mask = has_mask, .has_bias = has_bias});
    }
  }
}

TEST_P(DeformConv2dTest, takes_so_many_images_at_once) {
  for (const std::int64_t images : {1, 5}) {
    for (const std::int64_t im2col_step : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{64},
                                           std::numeric_limits<std::int64_t>::max()}) {
      check({.images = images, .im2col_step = im2col_step});
      check({.images = images, .groups = 2, .deformable_groups = 2, .im2col_step = im2col_step, .has_mask = false});
    }
  }
  check({.images = 70, .channels = 2, .height = 3, .width = 3, .out_channels = 2});
}

TEST_P(DeformConv2dTest, reads_and_writes_every_layout_where_it_lies) {
  for (const Layout layout : all_layouts) {
    std::map<std::string, Layout> all{{"out", layout}};
    check({.groups = 2, .layouts = all});
    for (const std::string& name : operands) {
      check({.groups = 2, .layouts = {{name, layout}}});
      all[name] = layout;
    }
    check({.groups = 2, .deformable_groups = 2, .layouts = all});
    check({.channels = 64, .height = 3, .kernel = {1, 1}, .padding = {0, 0}, .layouts = all});
  }
}

TEST_P(DeformConv2dTest, reads_and_writes_channels_last_and_some_of_more_channels) {
  for_each_type([&]<class T>() {
    const auto check = [&](const DeformConv2dCase& c, const auto& lie) {
      DeformConv2dProblem<T> problem(ctx, c);
      auto x = lie("x"), weight = lie("weight"), out = lie("out");
      x.fill(problem.inputs.at("x"));
      weight.fill(problem.inputs.at("weight"));
      problem.refs["x"] = x.ref();
      problem.refs["weight"] = weight.ref();
      problem.refs["out"] = out.ref();
      problem.run(ctx);
      problem.compare("out", out.download(), problem.expected_out());
    };
    for_channels_last<T>(ctx, check);
  });
}

TEST_P(DeformConv2dTest, reads_elements_that_stand_for_many) {
  for_each_type([&]<class T>() {
    for (const std::string& name : operands) {
      const DeformConv2dCase c{.groups = 2, .deformable_groups = 2};
      // Along each axis alone, and along all.
      const int rank = c.extents(name).rank();
      for (int axis = 0; axis <= rank; ++axis) {
        DeformConv2dProblem<T> problem(ctx, c);
        const TensorRef whole = problem.refs.at(name);
        Extents strides = whole.strides();
        for (int other = 0; other < rank; ++other) strides[other] *= axis == other || axis == rank ? 0 : 1;
        problem.refs[name] = TensorRef(static_cast<const T*>(whole.data()), whole.extents(), strides, whole.space());
        std::vector<double>& values = problem.inputs.at(name);
        const std::vector<double> all = values;
        const Extents dense = whole.extents().row_major_strides();
        for (std::size_t i = 0; i < values.size(); ++i) {
          std::int64_t at = 0;
          for (int other = 0; other < rank; ++other) {
            at += static_cast<std::int64_t>(i) / dense[other] % whole.extent(other) * strides[other];
          }
          values[i] = all[static_cast<std::size_t>(at)];
        }
        problem.check(ctx);
      }
    }
  });
}

TEST_P(DeformConv2dTest, rounds_operands_only_where_it_may) {
  const DeformConv2dCase c{.channels = 64, .out_channels = 16, .groups = 2};
  for_each_type([&]<class T>() {
    DeformConv2dProblem<T>(ctx, c).check(
        Context(ctx).math(Math::tf32), std::is_same_v<T, float> ? 0x1p-10 : DeformConv2dProblem<T>::default_tolerance);
  });
}

TEST_P(DeformConv2dTest, equals_the_reference_with_deterministic_contexts) {
  const Context deterministic = Context(ctx).deterministic(true);
  for_each_type([&]<class T>() {
    DeformConv2dProblem<T>(ctx, {.groups = 2, .deformable_groups = 2}).check(deterministic);
    DeformConv2dProblem<T>(ctx, {.channels = 64, .kernel = {5, 5}, .padding = {2, 2}}).check(deterministic);
  });
}

TEST_P(DeformConv2dTest, is_a_plain_convolution_without_offsets) {
  for_each_type([&]<class T>() {
    for (const std::int64_t groups : {1, 2}) {
      DeformConv2dProblem<T> problem(ctx, {.stride = {2, 1},
                                           .padding = {1, 2},
                                           .dilation = {1, 2},
                                           .groups = groups,
                                           .has_mask = false,
                                           .has_bias = false});
      const auto& c = problem.shape;
      const auto small = [](std::int64_t i) { return static_cast<double>(i * 7 % 11 % 3 - 1); };
      problem.fill("x", small);
      problem.fill("weight", small);
      problem.fill("offset", [](std::int64_t) { return 0.0; });
      problem.run(ctx);
      TestTensor<T>& out = problem.tensors.at("out");
      out.download();
      std::int64_t at = 0;
      for (std::int64_t n = 0; n < c.images; ++n) {
        for (std::int64_t m = 0; m < c.out_channels; ++m) {
          for (std::int64_t i = 0; i < c.windows(0); ++i) {
            for (std::int64_t j = 0; j < c.windows(1); ++j) {
              const std::int64_t channels = c.channels / groups, first = m / (c.out_channels / groups) * channels;
              double sum = 0.0;
              for (std::int64_t tap = 0; tap < channels * 9; ++tap) {
                const std::int64_t h = 2 * i - 1 + tap / 3 % 3, w = j - 2 + 2 * (tap % 3);
                if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
                const std::int64_t plane = n * c.channels + first + tap / 9;
                sum += small(m * channels * 9 + tap) * small((plane * c.height + h) * c.width + w);
              }
              ASSERT_EQ(out[at++], sum) << problem.shape.to_string() << ": " << n << ", " << m << ", " << i << ", "
                                        << j;
            }
          }
        }
      }
    }
  });
}

TEST_P(DeformConv2dTest, samples_a_pixel_between_four) {
  for_each_type([&]<class T>() {
    DeformConv2dProblem<T> problem(ctx, {.images = 1,
                                         .channels = 1,
                                         .height = 2,
                                         .width = 2,
                                         .out_channels = 1,
                                         .kernel = {1, 1},
                                         .stride = {2, 2},
                                         .padding = {0, 0}});
    const auto set = [&](const std::string& name, const std::vector<double>& values) {
      problem.fill(name, [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    };
    set("x", {1.0, 3.0, 5.0, 9.0});
    set("offset", {0.25, 0.5});  // down, across
    set("weight", {2.0});
    set("mask", {0.5});
    set("bias", {-8.0});
    problem.run(ctx);
    problem.tensors.at("out").download();
    EXPECT_EQ(problem.tensors.at("out")[0], 0.75 * 2.0 + 0.25 * 7.0 - 8.0);
  });
}

TEST_P(DeformConv2dTest, has_strides_of_1_and_no_padding_by_default) {
  DeformConv2dProblem<float> problem(ctx, {.padding = {0, 0}, .has_mask = false, .has_bias = false});
  deform_conv2d(ctx, problem.refs["x"], problem.refs["offset"], problem.refs["weight"], problem.refs["out"]);
  problem.expect("out", problem.expected_out());
}

TEST_P(DeformConv2dTest, needs_a_workspace_that_depends_on_nothing_but_the_call) {
  for_each_type([&]<class T>() {
    const DeformConv2dCase c{.images = 3, .groups = 2, .im2col_step = 2};
    const DeformConv2dProblem<T> one(ctx, c), other(ctx, c);
    EXPECT_EQ(one.workspace(ctx), one.workspace(ctx));
    EXPECT_EQ(one.workspace(ctx), other.workspace(ctx));
  });
}

}  // namespace
}  // namespace portops::test
