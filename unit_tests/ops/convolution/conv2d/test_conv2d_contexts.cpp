// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_bounds.hpp"
#include "ops/convolution/same_results.hpp"
#include "support/lent_memory.hpp"
#include "support/sanitized.hpp"

// conv2d and its gradient with every kind of context.

namespace portops::test {
namespace {

const std::vector<Conv2dCase> cases{
    {},
    {.images = 5, .stride = {2, 1}, .groups = 2},
    {.images = 3, .channels = 3, .out_channels = 1, .has_bias = false},
    {.images = 1, .channels = 1, .out_channels = 4, .kernel = {1, 1}, .padding = {0, 0}},
    {.channels = 12, .out_channels = 24, .groups = 6},
    {.images = 3, .channels = 128, .height = 9, .out_channels = 70},
    {.images = 1, .channels = 64, .height = 20, .width = 23, .out_channels = 40, .stride = {2, 2}},
    {.images = 1, .channels = 64, .height = 20, .width = 23, .out_channels = 70, .stride = {2, 2}},
    {.channels = 24, .out_channels = 40, .channels_last = {"x", "out", "x_grad", "out_grad"}},
};

template <class T>
Results<T> results_of(Conv2dProblem<T>& problem, const Context& ctx, const Context& grad_ctx) {
  problem.run(ctx);
  problem.run_grad(grad_ctx);
  Results<T> results;
  for (const std::string name : {"out", "x_grad", "weight_grad", "bias_grad"}) {
    Conv2dTensor<T>& tensor = problem.tensors.at(name);
    tensor.download();
    for (std::size_t i = 0; i < tensor.size(); ++i) results[name].push_back(tensor.element(i));
    tensor.fill(std::vector<double>(tensor.size(), nan));
  }
  return results;
}

class Conv2dContextsTest : public OnEveryBackend {
 protected:
  const Context deterministic = Context(ctx).deterministic(true);
};

PORTOPS_ON_EVERY_BACKEND(Conv2dContextsTest);

TEST_P(Conv2dContextsTest, the_same_bits_on_every_run) {
  for_each_type([&]<class T>() {
    for (const Conv2dCase& c : cases) {
      Conv2dProblem<T> problem(ctx, c);
      const Results<T> first = results_of(problem, deterministic, deterministic);
      for (int run = 0; run < unless_sanitized(3, 1); ++run) {
        expect_same(results_of(problem, deterministic, deterministic), first, c.to_string());
      }
      if (ctx.backend() != Backend::cuda) expect_same(results_of(problem, ctx, ctx), first, c.to_string());
    }
  });
}

TEST_P(Conv2dContextsTest, the_same_bits_whether_temporaries_are_lent_or_from_the_pool) {
  for_each_type([&]<class T>() {
    for (const Conv2dCase& c : cases) {
      Conv2dProblem<T> problem(ctx, c);
      const Results<T> expected = results_of(problem, deterministic, deterministic);
      LentMemory memory(ctx, problem.workspace(deterministic)), grad_memory(ctx, problem.grad_workspace(deterministic));
      const Context lending = Context(deterministic).workspace(memory.workspace());
      const Context grad_lending = Context(deterministic).workspace(grad_memory.workspace());
      for (int run = 0; run < 2; ++run) {
        expect_same(results_of(problem, lending, grad_lending), expected, c.to_string());
        EXPECT_TRUE(memory.is_untouched_outside());
        EXPECT_TRUE(grad_memory.is_untouched_outside());
      }
      problem.refs["weight_grad"] = {};
      EXPECT_LE(problem.grad_workspace(deterministic), grad_memory.workspace().bytes);
    }
  });
}

TEST_P(Conv2dContextsTest, products_of_kokkos_kernels) {
  if (!has_kokkos_kernels) GTEST_SKIP() << "a build without Kokkos Kernels";
  const Context by_kokkos_kernels = with_kokkos_kernels(ctx);
  for_each_type([&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      for (const Conv2dCase& c : cases) {
        Conv2dProblem<T> problem(ctx, c);
        problem.check(by_kokkos_kernels);
        problem.check_grad(by_kokkos_kernels);
      }
    }
  });
}

/// Of long sums over channels, over pixels and over images, of a stride and of groups.
TEST_P(Conv2dContextsTest, keep_the_bounds_of_errors_whatever_the_operands) {
  for (const Conv2dCase& c : {Conv2dCase{.images = 1, .channels = 128, .height = 6, .out_channels = 10},
                              Conv2dCase{.images = 1, .channels = 10, .height = 6, .out_channels = 128},
                              Conv2dCase{.images = 12, .channels = 2, .height = 30, .width = 33, .out_channels = 3},
                              Conv2dCase{.images = 500, .channels = 6, .height = 3, .width = 3, .out_channels = 3},
                              Conv2dCase{.channels = 96, .stride = {2, 1}, .groups = 2, .has_bias = false}}) {
    check_bounds(ctx, c);
  }
}

TEST_P(Conv2dContextsTest, refuse_products_that_there_are_not) {
  if (!has_kokkos_kernels) GTEST_SKIP() << "a build without Kokkos Kernels";
  Conv2dProblem<f16> problem(ctx, {});
  EXPECT_THROW(problem.run(with_kokkos_kernels(ctx)), Error);
  EXPECT_THROW(problem.run_grad(with_kokkos_kernels(ctx)), Error);
}

TEST_P(Conv2dContextsTest, refuse_a_workspace_that_is_too_small) {
  Conv2dProblem<float> problem(ctx, cases[5]);
  const std::size_t bytes = problem.grad_workspace(ctx);
  ASSERT_GT(bytes, 0u);
  LentMemory memory(ctx, bytes);
  const Context lending = Context(ctx).workspace({memory.workspace().data, bytes - 1});
  EXPECT_THROW(problem.run_grad(lending), Error);
}

}  // namespace
}  // namespace portops::test
