// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_reference.hpp"
#include "strided_tensor.hpp"
#include "support/lent_memory.hpp"
#include "support/products.hpp"

// deform_conv2d and its gradient with the products that the context asks for.

namespace portops::test {
namespace {

/// Products with one row, one column, several groups and several steps; inner axes of all lengths.
const std::vector<DeformConv2dCase> cases{
    {},
    {.images = 5, .groups = 2, .deformable_groups = 2, .im2col_step = 2},
    {.images = 3, .im2col_step = 1},
    {.images = 3, .channels = 3, .out_channels = 1, .has_bias = false},
    {.images = 1, .channels = 1, .out_channels = 4, .kernel = {1, 1}, .padding = {0, 0}, .has_mask = false},
    {.images = 2, .channels = 1, .height = 1, .width = 1, .out_channels = 1, .kernel = {1, 1}, .padding = {0, 0}},
    {.channels = 12, .out_channels = 24, .groups = 6, .deformable_groups = 4},
    {.channels = 6, .out_channels = 12, .groups = 6, .deformable_groups = 1, .im2col_step = 1},
    {.images = 3, .channels = 128, .height = 9, .out_channels = 70, .im2col_step = 2},
    {.images = 1, .channels = 64, .height = 20, .width = 23, .out_channels = 40, .stride = {2, 1}},
    {.images = 2, .channels = 512, .height = 3, .width = 4, .out_channels = 5},
};

/// The element types of which Kokkos Kernels has products.
template <class F>
void for_each_wide_type(const F& f) {
  for_each_type([&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) f.template operator()<T>();
  });
}

class DeformConv2dProductsTest : public OnEveryBackend {
 protected:
  void SetUp() override {
    OnEveryBackend::SetUp();
    if (!has_kokkos_kernels) GTEST_SKIP() << "a build without Kokkos Kernels";
  }

  const Context by_kokkos_kernels = with_kokkos_kernels(ctx);
};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dProductsTest);

TEST_P(DeformConv2dProductsTest, of_kokkos_kernels_equal_the_reference) {
  for (const DeformConv2dCase& c : cases) {
    for_each_wide_type([&]<class T>() { DeformConv2dProblem<T>(ctx, c).check(by_kokkos_kernels); });
  }
}

TEST_P(DeformConv2dProductsTest, of_kokkos_kernels_give_gradients_that_equal_the_reference) {
  for (const DeformConv2dCase& c : cases) {
    for_each_wide_type([&]<class T>() { DeformConv2dProblem<T>(ctx, c).check_grad(by_kokkos_kernels); });
  }
}

TEST_P(DeformConv2dProductsTest, of_kokkos_kernels_give_each_gradient_alone) {
  for_each_wide_type([&]<class T>() {
    for (const std::string& wanted : deform_conv2d_gradients) {
      DeformConv2dProblem<T> problem(ctx, {.images = 3, .groups = 2, .im2col_step = 2});
      for (const std::string& name : deform_conv2d_gradients) {
        if (name != wanted) problem.refs[name] = {};
      }
      problem.check_grad(by_kokkos_kernels);
    }
  });
}

TEST_P(DeformConv2dProductsTest, of_kokkos_kernels_are_added_up_over_many_steps) {
  for_each_wide_type([&]<class T>() {
    DeformConv2dProblem<T>(ctx, {.images = 70, .channels = 2, .height = 3, .width = 3, .im2col_step = 3})
        .check_grad(by_kokkos_kernels);
  });
}

TEST_P(DeformConv2dProductsTest, of_kokkos_kernels_read_and_write_every_layout) {
  for_each_wide_type([&]<class T>() {
    for (const std::int64_t im2col_step : {1, 64}) {
      for (const Layout layout : all_layouts) {
        DeformConv2dCase c{.groups = 2, .im2col_step = im2col_step};
        for (const auto* names : {&deform_conv2d_inputs, &deform_conv2d_gradients}) {
          for (const std::string& name : *names) c.layouts[name] = layout;
        }
        c.layouts["out"] = layout;
        DeformConv2dProblem<T>(ctx, c).check(by_kokkos_kernels);
        DeformConv2dProblem<T>(ctx, c).check_grad(by_kokkos_kernels);
      }
    }
  });
}

TEST_P(DeformConv2dProductsTest, of_kokkos_kernels_read_and_write_channels_last) {
  for_each_wide_type([&]<class T>() {
    for_channels_last<T>(ctx, [&](const DeformConv2dCase& c, const auto& lie) {
      DeformConv2dProblem<T> problem(ctx, c);
      auto x = lie("x"), weight = lie("weight"), out = lie("out");
      x.fill(problem.inputs.at("x"));
      weight.fill(problem.inputs.at("weight"));
      problem.refs["x"] = x.ref();
      problem.refs["weight"] = weight.ref();
      problem.refs["out"] = out.ref();
      problem.run(by_kokkos_kernels);
      problem.compare("out", out.download(), problem.expected_out());
    });
  });
}

TEST_P(DeformConv2dProductsTest, of_kokkos_kernels_do_with_the_workspace_that_is_asked_for) {
  for_each_wide_type([&]<class T>() {
    for (const DeformConv2dCase& c : cases) {
      DeformConv2dProblem<T> problem(ctx, c);
      LentMemory memory(ctx, problem.workspace(by_kokkos_kernels));
      LentMemory grad_memory(ctx, problem.grad_workspace(by_kokkos_kernels));
      problem.check(Context(by_kokkos_kernels).workspace(memory.workspace()));
      problem.check_grad(Context(by_kokkos_kernels).workspace(grad_memory.workspace()));
      EXPECT_TRUE(memory.is_untouched_outside());
      EXPECT_TRUE(grad_memory.is_untouched_outside());
    }
  });
}

TEST_P(DeformConv2dProductsTest, of_kokkos_kernels_take_tensors_without_elements) {
  for_each_wide_type([&]<class T>() {
    for (const DeformConv2dCase& c : {DeformConv2dCase{.images = 0}, DeformConv2dCase{.height = 1, .padding = {0, 0}},
                                      DeformConv2dCase{.out_channels = 0}, DeformConv2dCase{.channels = 0}}) {
      DeformConv2dProblem<T>(ctx, c).check(by_kokkos_kernels);
      DeformConv2dProblem<T>(ctx, c).check_grad(by_kokkos_kernels);
    }
  });
}

/// The math is that of Kokkos Kernels.
TEST_P(DeformConv2dProductsTest, of_kokkos_kernels_do_not_round_to_tf32) {
  need_type<float>();
  const Context tf32 = Context(by_kokkos_kernels).math(Math::tf32);
  DeformConv2dProblem<float>(ctx, cases.back()).check(tf32);
  DeformConv2dProblem<float>(ctx, cases.back()).check_grad(tf32);
}

class DeformConv2dOwnProductsTest : public OnEveryBackend {};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dOwnProductsTest);

TEST_P(DeformConv2dOwnProductsTest, equal_the_reference) {
  const Context own = Context(ctx).products(Products::own);
  for (const DeformConv2dCase& c : cases) {
    for_each_type([&]<class T>() {
      DeformConv2dProblem<T>(ctx, c).check(own);
      DeformConv2dProblem<T>(ctx, c).check_grad(own);
    });
  }
}

TEST_P(DeformConv2dOwnProductsTest, are_those_of_deterministic_mode) {
  const Context own = Context(ctx).products(Products::own).deterministic(true);
  for_each_type([&]<class T>() {
    DeformConv2dProblem<T> problem(ctx, cases[1]);
    problem.check(own);
    problem.check_grad(own);
  });
}

/// That both operators refuse the context, say the same, and leave the results alone.
template <class T>
void expect_refused(const Context& ctx, const Context& wrong, const std::string& where) {
  DeformConv2dProblem<T> problem(ctx, {});
  std::vector<std::string> results = deform_conv2d_gradients;
  results.emplace_back("out");
  for (const std::string& name : results) problem.tensors.at(name).fill([](std::int64_t) { return 7.0; });
  const auto message = [&](const std::string& op) {
    return "portops::" + op + ": the context's products are kokkos_kernels, expected automatic or own " + where;
  };
  expect_error([&] { problem.run(wrong); }, message("deform_conv2d"));
  expect_error([&] { problem.workspace(wrong); }, message("deform_conv2d"));
  expect_error([&] { problem.run_grad(wrong); }, message("deform_conv2d_grad"));
  expect_error([&] { problem.grad_workspace(wrong); }, message("deform_conv2d_grad"));
  // Whether or not there is anything to multiply.
  DeformConv2dProblem<T> empty(ctx, {.images = 0});
  expect_error([&] { empty.run(wrong); }, message("deform_conv2d"));
  for (const std::string& name : results) {
    TestTensor<T>& tensor = problem.tensors.at(name);
    tensor.download();
    for (std::int64_t i = 0; i < tensor.extents().product(); ++i) ASSERT_EQ(tensor[i], 7.0) << name << ", " << i;
  }
}

class DeformConv2dProductsErrorTest : public OnEveryBackend {
 protected:
  const Context by_kokkos_kernels = with_kokkos_kernels(ctx);
};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dProductsErrorTest);

TEST_P(DeformConv2dProductsErrorTest, a_build_without_kokkos_kernels_has_none) {
  if (has_kokkos_kernels) GTEST_SKIP() << "this build has them";
  for_each_type([&]<class T>() {
    expect_refused<T>(ctx, by_kokkos_kernels, "in a build without Kokkos Kernels (PORTOPS_ENABLE_KOKKOS_KERNELS)");
  });
}

TEST_P(DeformConv2dProductsErrorTest, kokkos_kernels_has_none_of_16_bit_types) {
  if (!has_kokkos_kernels) GTEST_SKIP() << "a build without Kokkos Kernels";
  for_each_type([&]<class T>() {
    if (sizeof(T) > 2) return;
    const std::string type(name_of(ElementTypeOf<T>::value));
    expect_refused<T>(ctx, by_kokkos_kernels, "for " + type + " (Kokkos Kernels multiplies f64 and f32)");
  });
}

TEST_P(DeformConv2dProductsErrorTest, kokkos_kernels_promises_no_order_of_additions) {
  if (!has_kokkos_kernels) GTEST_SKIP() << "a build without Kokkos Kernels";
  for_each_wide_type([&]<class T>() {
    expect_refused<T>(ctx, Context(by_kokkos_kernels).deterministic(true),
                      "in deterministic mode (Kokkos Kernels promises no order of additions)");
  });
}

}  // namespace
}  // namespace portops::test
