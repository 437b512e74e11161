// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_reference.hpp"
#include "support/central_differences.hpp"

// conv2d and its gradient against the reference.

namespace portops::test {
namespace {

class Conv2dTest : public OnEveryBackend {
 protected:
  /// All element types, both directions.
  void check(const Conv2dCase& c) {
    for_each_type([&]<class T>() {
      Conv2dProblem<T> problem(ctx, c);
      problem.check(ctx);
      problem.check_grad(ctx);
    });
  }
};

PORTOPS_ON_EVERY_BACKEND(Conv2dTest);

TEST_P(Conv2dTest, equals_the_reference_for_every_stride_padding_and_dilation) {
  for (const Numbers& stride : {Numbers{1, 1}, Numbers{2, 1}, Numbers{1, 3}, Numbers{2, 2}, Numbers{6, 4}}) {
    for (const Numbers& padding : {Numbers{0, 0}, Numbers{0, 1, 3, 2}, Numbers{2, 0, 0, 1}, Numbers{5, 4}}) {
      for (const Numbers& dilation : {Numbers{1, 1}, Numbers{2, 1}, Numbers{1, 3}, Numbers{2, 2}, Numbers{3, 4}}) {
        check({.stride = stride, .padding = padding, .dilation = dilation});
      }
    }
  }
}

TEST_P(Conv2dTest, equals_the_reference_for_every_kernel) {
  for (const std::array<std::int64_t, 2> kernel : {std::array<std::int64_t, 2>{1, 1}, {5, 5}, {2, 3}, {3, 2}, {1, 4}}) {
    check({.kernel = kernel, .padding = {0, 0}});
    check({.kernel = kernel, .stride = {2, 2}, .padding = {2, 1}});
    // More pixels from window to window than in one.
    check({.kernel = kernel, .stride = {6, 7}, .padding = {0, 1}});
    check({.height = 16, .width = 12, .kernel = kernel, .stride = {kernel[0], kernel[1]}, .padding = {0, 0}});
  }
}

TEST_P(Conv2dTest, equals_the_reference_for_every_group) {
  for (const std::int64_t groups : {1, 2, 4}) {
    check({.out_channels = 8, .groups = groups});
    check({.channels = 8, .out_channels = 4, .stride = {2, 1}, .groups = groups});
  }
  check({.channels = 12, .groups = 3});
  check({.channels = 6, .out_channels = 6, .groups = 6});
  check({.channels = 6, .out_channels = 12, .stride = {2, 2}, .groups = 6});
  check({.images = 1, .channels = 128, .out_channels = 64, .groups = 2});
}

TEST_P(Conv2dTest, equals_the_reference_for_every_number_of_channels) {
  for (const std::int64_t channels : {1, 2, 3, 5, 16, 17, 31, 64, 130}) {
    check({.images = 1, .channels = channels, .height = 5, .out_channels = 5, .kernel = {2, 3}});
  }
  for (const std::int64_t out_channels : {1, 8, 33, 64, 65}) {
    check({.images = 1, .height = 5, .out_channels = out_channels, .kernel = {2, 3}});
  }
}

TEST_P(Conv2dTest, equals_the_reference_for_every_extent_of_images) {
  for (const std::int64_t height : {1, 2, 8}) {
    for (const std::int64_t width : {1, 2, 7, 17, 33, 150}) {
      check({.channels = 2, .height = height, .width = width, .out_channels = 3});
      check({.channels = 20, .height = height, .width = width, .out_channels = 3, .stride = {2, 2}});
    }
  }
  check({.images = 9, .channels = 1, .height = 3, .width = 2});
}

TEST_P(Conv2dTest, equals_the_reference_with_padding_larger_than_the_kernel) {
  check({.kernel = {2, 2}, .padding = {4, 5}});
  check({.kernel = {2, 2}, .stride = {3, 2}, .padding = {4, 5, 7, 3}});
  check({.channels = 24, .height = 2, .width = 3, .kernel = {1, 1}, .padding = {3, 2}});
}

TEST_P(Conv2dTest, reads_and_writes_every_layout) {
  for (const Layout layout : all_layouts) {
    for (const Conv2dCase& shape :
         {Conv2dCase{.groups = 2}, Conv2dCase{.channels = 40, .stride = {2, 1}}, Conv2dCase{.channels = 1},
          Conv2dCase{.channels = 20, .kernel = {1, 1}, .padding = {0, 0}}}) {
      Conv2dCase c = shape;
      c.lay_all(layout);
      check(c);
    }
  }
}

TEST_P(Conv2dTest, reads_and_writes_channels_last) {
  for (const std::int64_t channels : {2, 8, 64}) {
    for (const std::set<std::string>& last : {std::set<std::string>{"x"},
                                              {"out", "out_grad"},
                                              {"x", "out", "x_grad", "out_grad"},
                                              {"x", "weight", "out", "x_grad", "weight_grad", "out_grad"},
                                              {"weight", "weight_grad"}}) {
      for (const Layout layout : {Layout::contiguous, Layout::padded}) {
        for (const std::int64_t groups : {1, 2}) {
          Conv2dCase c{.channels = channels, .out_channels = 8, .groups = groups, .channels_last = last};
          for (const std::string& name : last) c.layouts[name] = layout;
          check(c);
          c.stride = {2, 2};
          check(c);
          c.kernel = {1, 1};
          c.padding = {0, 0};
          check(c);
        }
      }
    }
  }
}

TEST_P(Conv2dTest, reads_elements_that_stand_for_many) {
  for_each_type([&]<class T>() {
    for (const std::string name : {"x", "weight", "bias", "out_grad"}) {
      Conv2dProblem<T> problem(ctx, {.channels = 20, .groups = 2});
      const double one = problem.inputs.at(name)[0];
      problem.fill(name, [&](std::size_t) { return one; });
      const TensorRef whole = problem.refs.at(name);
      problem.refs[name] = TensorRef(static_cast<const T*>(whole.data()), whole.extents(),
                                     Extents::of_rank(whole.rank()), whole.space());
      problem.check(ctx);
      problem.check_grad(ctx);
    }
  });
}

TEST_P(Conv2dTest, gives_each_gradient_alone) {
  for_each_type([&]<class T>() {
    for (const std::string& wanted : conv2d_gradients) {
      Conv2dProblem<T> problem(ctx, {.stride = {2, 1}, .groups = 2});
      for (const std::string& name : conv2d_gradients) {
        if (name != wanted) problem.refs[name] = {};
      }
      problem.check_grad(ctx);
    }
    Conv2dProblem<T> none(ctx, {});
    for (const std::string& name : conv2d_gradients) none.refs[name] = {};
    none.run_grad(ctx);
  });
}

TEST_P(Conv2dTest, of_tensors_without_elements) {
  check({.images = 0});
  check({.out_channels = 0});
  check({.channels = 0});
  check({.channels = 0, .has_bias = false});
  check({.height = 0});
  check({.height = 0, .width = 0, .padding = {0, 0}});
  // A window that is larger than the padded image.
  check({.height = 2, .width = 2, .kernel = {5, 5}});
  check({.height = 5, .kernel = {3, 3}, .padding = {0, 0}, .dilation = {3, 1}});
}

TEST_P(Conv2dTest, without_a_bias) {
  check({.has_bias = false});
  check({.channels = 40, .out_channels = 40, .has_bias = false});
}

TEST_P(Conv2dTest, has_strides_of_1_and_no_padding_by_default) {
  Conv2dProblem<float> problem(ctx, {.padding = {0, 0}, .has_bias = false});
  conv2d(ctx, problem.refs["x"], problem.refs["weight"], problem.refs["out"]);
  problem.expect("out", problem.expected("out"));
}

TEST_P(Conv2dTest, does_not_drift_over_constant_data) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      if (!std::is_same_v<T, float> && constant != drifting_constants[0]) continue;
      // Long sums over pixels, over images, over channels.
      for (const Conv2dCase& c :
           {Conv2dCase{.images = 1, .channels = 1, .height = 256, .width = 256, .out_channels = 1, .kernel = {1, 1}},
            Conv2dCase{.images = 500, .channels = 1, .height = 2, .width = 2, .out_channels = 1, .kernel = {1, 1}},
            Conv2dCase{.images = 1, .channels = 700, .height = 3, .width = 3, .out_channels = 4},
            Conv2dCase{.images = 1, .channels = 4, .height = 3, .width = 3, .out_channels = 700}}) {
        Conv2dProblem<T> problem(ctx, c);
        problem.fill("x", [&](std::size_t) { return constant; });
        problem.fill("weight", [](std::size_t) { return 0.7; });
        problem.fill("out_grad", [](std::size_t) { return 0.3; });
        problem.check(ctx);
        problem.check_grad(ctx);
      }
    }
  });
}

TEST_P(Conv2dTest, keeps_nan_and_infinity_to_the_windows_that_hold_them) {
  for_each_type([&]<class T>() {
    for (const double special : {nan, inf}) {
      for (const std::int64_t channels : {4, 40}) {
        Conv2dProblem<T> problem(ctx, {.channels = channels, .stride = {2, 1}});
        const std::vector<double> x = problem.inputs.at("x");
        problem.fill("x", [&](std::size_t i) { return i == 9 ? special : x[i]; });
        problem.check(ctx);
        problem.refs["weight_grad"] = {};
        problem.check_grad(ctx);
      }
    }
  });
}

TEST_P(Conv2dTest, agrees_with_central_differences) {
  const Conv2dCase c{.channels = 4,
                     .height = 4,
                     .width = 5,
                     .out_channels = 2,
                     .kernel = {2, 3},
                     .stride = {2, 1},
                     .padding = {1, 0, 0, 1},
                     .groups = 2};
  const Conv2dParams params{.stride = c.stride, .padding = c.padding, .groups = c.groups};
  TestTensor<double> x(ctx, c.extents("x")), weight(ctx, c.extents("weight")), bias(ctx, c.extents("bias"));
  TestTensor<double> out(ctx, c.extents("out")), out_grad(ctx, c.extents("out"));
  TestTensor<double> x_grad(ctx, c.extents("x")), weight_grad(ctx, c.extents("weight")), bias_grad(ctx, {2});
  unsigned seed = 0;
  for (TestTensor<double>* tensor : {&x, &weight, &bias, &out_grad}) tensor->fill_randomly(++seed);
  conv2d_grad(ctx, x, weight, out_grad, x_grad, weight_grad, bias_grad, params);
  const auto objective = [&] {
    Conv2dParams with_bias = params;
    with_bias.bias = bias;
    conv2d(ctx, x, weight, out, with_bias);
    return weighted_sum(out, out_grad);
  };
  expect_slopes(x, x_grad, objective);
  expect_slopes(weight, weight_grad, objective);
  expect_slopes(bias, bias_grad, objective);
}

TEST_P(Conv2dTest, rounds_operands_only_where_it_may) {
  for_each_type([&]<class T>() {
    Conv2dProblem<T> problem(ctx, {.channels = 64, .out_channels = 64, .groups = 2});
    const double tolerance = std::is_same_v<T, float> ? 0x1p-10 : Conv2dProblem<T>::default_tolerance;
    problem.check(Context(ctx).math(Math::tf32), tolerance);
    problem.check_grad(Context(ctx).math(Math::tf32), tolerance);
  });
}

// A sum of so many ones in a half type would stop growing on the way.
TEST_P(Conv2dTest, sums_do_not_stagnate) {
  for_each_type([&]<class T>() {
    Conv2dProblem<T> problem(ctx, {.images = 2,
                                   .channels = 1,
                                   .height = 32,
                                   .width = 32,
                                   .out_channels = 1,
                                   .kernel = {1, 1},
                                   .padding = {0, 0}});
    for (const std::string name : {"x", "weight", "out_grad"}) problem.fill(name, [](std::size_t) { return 1.0; });
    problem.run_grad(ctx);
    for (const std::string name : {"weight_grad", "bias_grad"}) {
      problem.tensors.at(name).download();
      EXPECT_EQ(problem.tensors.at(name)[0], 2048.0) << name;
    }
  });
}

}  // namespace
}  // namespace portops::test
