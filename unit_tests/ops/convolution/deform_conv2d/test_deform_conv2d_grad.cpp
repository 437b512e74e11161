// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_reference.hpp"
#include "strided_tensor.hpp"

namespace portops::test {
namespace {

/// Those that deform_conv2d_grad reads.
const std::vector<std::string> operands{"x", "offset", "weight", "mask", "out_grad"};

class DeformConv2dGradTest : public OnEveryBackend {
 protected:
  /// All element types.
  void check(const DeformConv2dCase& c) {
    for_each_type([&]<class T>() { DeformConv2dProblem<T>(ctx, c).check_grad(ctx); });
  }
};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dGradTest);

TEST_P(DeformConv2dGradTest, equals_the_reference_for_every_stride_padding_and_dilation) {
  for (const Numbers& stride : {Numbers{1, 1}, Numbers{2, 1}, Numbers{1, 3}}) {
    for (const Numbers& padding : {Numbers{0, 0}, Numbers{0, 1, 3, 2}, Numbers{2, 0, 0, 1}}) {
      for (const Numbers& dilation : {Numbers{1, 1}, Numbers{2, 1}, Numbers{1, 3}}) {
        check({.stride = stride, .padding = padding, .dilation = dilation});
      }
    }
  }
}

TEST_P(DeformConv2dGradTest, equals_the_reference_for_every_kernel) {
  for (const std::array<std::int64_t, 2> kernel : {std::array<std::int64_t, 2>{1, 1}, {5, 5}, {2, 3}, {3, 2}, {1, 4}}) {
    check({.kernel = kernel, .padding = {0, 0}});
    check({.kernel = kernel, .stride = {2, 2}, .padding = {2, 1}});
  }
}

TEST_P(DeformConv2dGradTest, equals_the_reference_for_every_group) {
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

TEST_P(DeformConv2dGradTest, equals_the_reference_for_every_number_of_channels) {
  for (const std::int64_t channels : {1, 2, 3, 4, 5, 6, 8, 16, 17, 31, 64}) {
    check({.images = 1, .channels = channels, .height = 5, .out_channels = 5, .kernel = {2, 3}});
  }
  for (const std::int64_t out_channels : {1, 8, 64, 65}) {
    check({.images = 1, .height = 5, .out_channels = out_channels, .kernel = {2, 3}});
  }
  check({.images = 1, .channels = 64, .out_channels = 64, .groups = 2, .deformable_groups = 4});
}

TEST_P(DeformConv2dGradTest, equals_the_reference_for_every_extent_of_images) {
  for (const std::int64_t height : {1, 2, 8}) {
    for (const std::int64_t width : {1, 2, 7, 17, 33}) {
      check({.channels = 2, .height = height, .width = width, .out_channels = 3});
    }
  }
  check({.images = 1, .height = 40, .width = 41, .has_mask = false});
}

TEST_P(DeformConv2dGradTest, does_not_drift_over_constant_data) {
  const auto fill = [](auto& problem, double constant) {
    problem.fill("x", [&](std::int64_t) { return constant; });
    problem.fill("offset", [](std::int64_t) { return 0.0; });
    problem.fill("weight", [](std::int64_t) { return 0.7; });
    problem.fill("mask", [](std::int64_t) { return 1.0; });
    problem.fill("out_grad", [](std::int64_t) { return 0.3; });
  };
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      if (!std::is_same_v<T, float> && constant != drifting_constants[0]) continue;
      // Long sums over pixels, over steps of images, over channels.
      for (const DeformConv2dCase& c :
           {DeformConv2dCase{.images = 1,
                             .channels = 1,
                             .height = 256,
                             .width = 256,
                             .out_channels = 1,
                             .kernel = {1, 1},
                             .padding = {0, 0}},
            DeformConv2dCase{.images = 500,
                             .channels = 1,
                             .height = 2,
                             .width = 2,
                             .out_channels = 1,
                             .kernel = {1, 1},
                             .padding = {0, 0},
                             .im2col_step = 1},
            DeformConv2dCase{.images = 1, .channels = 512, .height = 3, .width = 3, .out_channels = 4}}) {
        DeformConv2dProblem<T> problem(ctx, c);
        fill(problem, constant);
        problem.check_grad(ctx);
      }
    }
  });
}

TEST_P(DeformConv2dGradTest, takes_so_many_images_at_once) {
  for (const std::int64_t images : {1, 5}) {
    for (const std::int64_t im2col_step : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{64},
                                           std::numeric_limits<std::int64_t>::max()}) {
      check({.images = images, .im2col_step = im2col_step});
      check({.images = images, .groups = 2, .deformable_groups = 2, .im2col_step = im2col_step, .has_mask = false});
    }
  }
  check({.images = 70, .channels = 2, .height = 3, .width = 3, .out_channels = 2});
}

TEST_P(DeformConv2dGradTest, equals_the_reference_with_other_contexts) {
  for_each_type([&]<class T>() {
    for (const DeformConv2dCase& c : {DeformConv2dCase{.groups = 2, .deformable_groups = 2, .im2col_step = 1},
                                      DeformConv2dCase{.channels = 64, .kernel = {5, 5}, .padding = {2, 2}}}) {
      DeformConv2dProblem<T>(ctx, c).check_grad(Context(ctx).deterministic(true));
      DeformConv2dProblem<T>(ctx, c).check_grad(
          Context(ctx).math(Math::tf32),
          std::is_same_v<T, float> ? 0x1p-10 : DeformConv2dProblem<T>::default_tolerance);
    }
  });
}

/// On a GPU the lists of deterministic mode then exceed their rooms: those of single taps by far, others beyond what
/// one warp brings in order.
TEST_P(DeformConv2dGradTest, equals_the_reference_where_many_samples_are_of_few_pixels) {
  for_each_type([&]<class T>() {
    for (const DeformConv2dCase& c :
         {DeformConv2dCase{.channels = 3, .height = 6, .width = 40, .kernel = {1, 1}, .padding = {0, 0}},
          DeformConv2dCase{.channels = 20, .height = 12, .width = 11, .groups = 2, .deformable_groups = 2},
          DeformConv2dCase{.channels = 64, .height = 9, .width = 10, .kernel = {5, 5}, .padding = {2, 2}}}) {
      DeformConv2dProblem<T> problem(ctx, c);
      // All windows of a row sample x halfway between columns 3 and 4.
      problem.fill("offset", [&](std::int64_t i) {
        const std::int64_t channel = i / (c.windows(0) * c.windows(1)), tap = channel / 2 % c.taps();
        const std::int64_t column = i % c.windows(1) - c.left() + tap % c.kernel[1];
        return channel % 2 == 0 ? 0.25 : 3.5 - static_cast<double>(column);
      });
      problem.check_grad(ctx);
      problem.check_grad(Context(ctx).deterministic(true));
    }
  });
}

/// On a GPU several warps share the channels, or one takes them one pack after the other, in packs of each width.
TEST_P(DeformConv2dGradTest, equals_the_reference_by_lists_with_many_channels) {
  for_each_type([&]<class T>() {
    for (const DeformConv2dCase& c :
         {DeformConv2dCase{.images = 1, .channels = 261}, DeformConv2dCase{.images = 1, .channels = 260},
          DeformConv2dCase{.images = 1, .channels = 320}, DeformConv2dCase{.channels = 36},
          DeformConv2dCase{
              .images = 3, .channels = 33, .height = 48, .width = 64, .kernel = {1, 1}, .padding = {0, 0}}}) {
      DeformConv2dProblem<T>(ctx, c).check_grad(Context(ctx).deterministic(true));
    }
  });
}

TEST_P(DeformConv2dGradTest, does_not_look_at_bias) {
  TestTensor<f16> other(ctx, {3, 4});
  DeformConv2dProblem<float> problem(ctx, {.has_bias = false});
  problem.check_grad(ctx);
  problem.refs["bias"] = other;
  problem.check_grad(ctx);
  problem.refs["bias"] = problem.refs["x_grad"];
  problem.check_grad(ctx);
}

TEST_P(DeformConv2dGradTest, gives_any_of_the_results_alone) {
  for_each_type([&]<class T>() {
    for (const bool has_mask : {true, false}) {
      for (unsigned wanted = 0; wanted < 32; ++wanted) {
        DeformConv2dProblem<T> problem(ctx, {.groups = 2, .im2col_step = 1, .has_mask = has_mask});
        for (std::size_t i = 0; i < deform_conv2d_gradients.size(); ++i) {
          if ((wanted >> i & 1u) == 0) problem.refs[deform_conv2d_gradients[i]] = {};
        }
        problem.check_grad(ctx);
      }
    }
  });
}

TEST_P(DeformConv2dGradTest, reads_and_writes_every_layout_where_it_lies) {
  for (const Layout layout : all_layouts) {
    std::map<std::string, Layout> all;
    for (const auto* names : {&operands, &deform_conv2d_gradients}) {
      for (const std::string& name : *names) {
        check({.groups = 2, .layouts = {{name, layout}}});
        all[name] = layout;
      }
    }
    check({.groups = 2, .deformable_groups = 2, .layouts = all});
    check({.channels = 64, .height = 3, .kernel = {1, 1}, .padding = {0, 0}, .layouts = all});
  }
}

TEST_P(DeformConv2dGradTest, reads_and_writes_channels_last_and_some_of_more_channels) {
  for_each_type([&]<class T>() {
    const auto check = [&](const DeformConv2dCase& c, const auto& lie) {
      DeformConv2dProblem<T> problem(ctx, c);
      std::map<std::string, StridedTensor<T>> tensors;
      for (const std::string name : {"x", "weight", "out_grad", "x_grad", "weight_grad"}) {
        StridedTensor<T>& tensor = tensors.emplace(name, lie(name)).first->second;
        if (problem.inputs.contains(name)) tensor.fill(problem.inputs.at(name));
        problem.refs[name] = tensor.ref();
      }
      problem.run_grad(ctx);
      const DeformConv2dResults expected = problem.expected();
      for (const std::string name : {"x_grad", "weight_grad"}) {
        problem.compare(name, tensors.at(name).download(), expected.at(name));
      }
      for (const std::string name : {"offset_grad", "mask_grad", "bias_grad"}) problem.expect(name, expected.at(name));
    };
    for_channels_last<T>(ctx, check);
  });
}

TEST_P(DeformConv2dGradTest, writes_nothing_behind_x_grad_of_one_image) {
  // Of 75 elements, which are no multiple of 16 bytes, while the stride of images is one.
  const DeformConv2dCase c{.images = 1, .channels = 3, .height = 5, .width = 5, .out_channels = 80};
  for_each_type([&]<class T>() {
    DeformConv2dProblem<T> problem(ctx, c);
    StridedTensor<T> x_grad(ctx, c.extents("x_grad"), {80, 1, 15, 3}, 0);
    problem.refs["x_grad"] = x_grad.ref();
    problem.run_grad(ctx);
    problem.compare("x_grad", x_grad.download(), problem.expected().at("x_grad"));
  });
}

TEST_P(DeformConv2dGradTest, reads_elements_that_stand_for_many) {
  for_each_type([&]<class T>() {
    for (const std::string& name : operands) {
      DeformConv2dProblem<T> problem(ctx, {.groups = 2, .deformable_groups = 2});
      const TensorRef whole = problem.refs.at(name);
      problem.refs[name] = TensorRef(static_cast<const T*>(whole.data()), whole.extents(), {0, 0, 0, 0}, whole.space());
      for (double& value : problem.inputs.at(name)) value = problem.inputs.at(name)[0];
      problem.check_grad(ctx);
    }
  });
}

TEST_P(DeformConv2dGradTest, takes_one_tensor_for_several_inputs) {
  DeformConv2dProblem<double> problem(ctx, {.channels = 2,
                                            .height = 5,
                                            .width = 5,
                                            .out_channels = 2,
                                            .kernel = {1, 1},
                                            .padding = {0, 0},
                                            .has_mask = false});
  for (const std::string name : {"x", "out_grad"}) {
    problem.refs[name] = problem.refs["offset"];
    problem.inputs[name] = problem.inputs["offset"];
  }
  problem.check_grad(ctx);
}

TEST_P(DeformConv2dGradTest, agrees_with_central_differences) {
  for (const bool has_mask : {true, false}) {
    DeformConv2dProblem<double> problem(ctx, {.images = 2,
                                              .channels = 4,
                                              .height = 4,
                                              .width = 3,
                                              .out_channels = 2,
                                              .kernel = {2, 2},
                                              .stride = {2, 1},
                                              .padding = {1, 0, 0, 1},
                                              .groups = 2,
                                              .deformable_groups = 2,
                                              .has_mask = has_mask});
    problem.run_grad(ctx);
    TestTensor<double>& out = problem.tensors.at("out");
    const std::vector<double> out_grad = problem.inputs.at("out_grad");
    for (const std::string name : {"x", "offset", "weight", "mask", "bias"}) {
      if (!problem.shape.has(name)) continue;
      TestTensor<double>& gradient = problem.tensors.at(name + std::string("_grad"));
      gradient.download();
      const std::vector<double> values = problem.inputs.at(name);
      for (std::size_t k = 0; k < values.size(); ++k) {
        constexpr double step = 1e-4;  // less than the distance to an integer position
        const auto at = [&](double shift) {
          problem.fill(name, [&](std::int64_t i) {
            return values[static_cast<std::size_t>(i)] + (static_cast<std::size_t>(i) == k ? shift : 0.0);
          });
          problem.run(ctx);
          out.download();
          double sum = 0.0;
          for (std::size_t i = 0; i < out_grad.size(); ++i) sum += out[static_cast<std::int64_t>(i)] * out_grad[i];
          return sum;
        };
        ASSERT_NEAR(gradient[static_cast<std::int64_t>(k)], (at(step) - at(-step)) / (2 * step), 1e-9)
            << name << ", element " << k;
      }
      problem.fill(name, [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    }
  }
}

TEST_P(DeformConv2dGradTest, of_a_sample_between_four_pixels) {
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
    set("out_grad", {4.0});
    problem.run_grad(ctx);
    const auto expect = [&](const std::string& name, const std::vector<double>& expected) {
      TestTensor<T>& tensor = problem.tensors.at(name);
      tensor.download();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(tensor[static_cast<std::int64_t>(i)], expected[i]) << name << ", " << i;
      }
    };
    expect("bias_grad", {4.0});
    expect("weight_grad", {4.0 * 0.5 * 3.25});
    expect("mask_grad", {8.0 * 3.25});
    expect("offset_grad", {0.5 * 8.0 * 5.0, 0.5 * 8.0 * (0.75 * 2.0 + 0.25 * 4.0)});
    expect("x_grad", {4.0 * 0.375, 4.0 * 0.375, 4.0 * 0.125, 4.0 * 0.125});
  });
}

// A sum of so many ones in a half type would stop growing on the way.
TEST_P(DeformConv2dGradTest, sums_do_not_stagnate) {
  const auto check = [&]<class T>(DeformConv2dCase c, const std::vector<std::string>& sums) {
    c.channels = c.height = c.width = c.out_channels = 1;
    c.kernel = {1, 1};
    c.has_mask = false;
    DeformConv2dProblem<T> problem(ctx, c);
    for (const std::string name : {"x", "weight", "out_grad"}) problem.fill(name, [](std::int64_t) { return 1.0; });
    // All windows sample the one pixel.
    problem.fill("offset", [&](std::int64_t i) {
      const std::int64_t windows = c.windows(0) * c.windows(1), window = i % windows;
      return -static_cast<double>(i / windows % 2 == 0 ? window / c.windows(1) : window % c.windows(1));
    });
    problem.run_grad(ctx);
    for (const std::string& name : sums) {
      problem.tensors.at(name).download();
      const auto count = static_cast<double>(c.images * c.windows(0) * c.windows(1));
      EXPECT_EQ(problem.tensors.at(name)[0], count) << name << " of " << name_of(ElementTypeOf<T>::value);
    }
  };
  for_each_type([&]<class T>() {
    check.template operator()<T>({.images = 1, .padding = {0, 0, 63, 63}}, {"x_grad", "weight_grad", "bias_grad"});
  });
  check.operator()<bf16>({.images = 512, .padding = {0, 0}, .im2col_step = 1}, {"weight_grad", "bias_grad"});
}

}  // namespace
}  // namespace portops::test
