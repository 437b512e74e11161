// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_reference.hpp"
#include "ops/convolution/same_results.hpp"
#include "support/lent_memory.hpp"
#include "support/sanitized.hpp"

// The same bits on every run, wherever the temporaries lie.

namespace portops::test {
namespace {

/// Images of several steps, groups, channels that are no power of two, and enough samples that many collide.
const std::vector<DeformConv2dCase> cases{{.images = 5, .im2col_step = 2},
                                          {.channels = 12, .groups = 2, .deformable_groups = 3, .has_mask = false},
                                          {.channels = 64, .kernel = {5, 5}, .padding = {2, 2}},
                                          {.images = 1, .height = 30, .width = 31, .groups = 2}};

template <class T>
Results<T> results_of(DeformConv2dProblem<T>& problem, const Context& ctx, const Context& grad_ctx) {
  problem.run(ctx);
  problem.run_grad(grad_ctx);
  Results<T> results;
  for (auto& [name, tensor] : problem.tensors) {
    if (name != "out" && (name == "out_grad" || !name.ends_with("_grad"))) continue;
    tensor.download();
    for (std::int64_t i = 0; i < tensor.extents().product(); ++i) results[name].push_back(tensor.element(i));
    tensor.fill([](std::int64_t) { return nan; });
  }
  return results;
}

class DeformConv2dDeterminismTest : public OnEveryBackend {
 protected:
  const Context deterministic = Context(ctx).deterministic(true);
};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dDeterminismTest);

TEST_P(DeformConv2dDeterminismTest, on_every_run) {
  for_each_type([&]<class T>() {
    for (const DeformConv2dCase& c : cases) {
      DeformConv2dProblem<T> problem(ctx, c);
      const Results<T> first = results_of(problem, deterministic, deterministic);
      for (int run = 0; run < 4; ++run) {
        expect_same(results_of(problem, deterministic, deterministic), first, c.to_string());
      }
    }
  });
}

TEST_P(DeformConv2dDeterminismTest, on_every_run_of_few_products_without_x_grad) {
  for_each_type([&]<class T>() {
    for (const DeformConv2dCase& c :
         {DeformConv2dCase{.channels = 140, .height = 12, .width = 13, .out_channels = 140, .groups = 140},
          DeformConv2dCase{.channels = 64, .height = 30, .out_channels = 64, .groups = 4, .deformable_groups = 4},
          DeformConv2dCase{.channels = 3, .height = 40, .width = 41, .out_channels = 32}}) {
      DeformConv2dProblem<T> problem(ctx, c);
      problem.refs["x_grad"] = {};
      problem.tensors.at("x_grad").fill([](std::int64_t) { return nan; });
      const Results<T> first = results_of(problem, deterministic, deterministic);
      for (int run = 0; run < 4; ++run) {
        expect_same(results_of(problem, deterministic, deterministic), first, c.to_string());
      }
    }
  });
}

TEST_P(DeformConv2dDeterminismTest, on_every_run_where_all_samples_are_of_one_pixel) {
  for_each_type([&]<class T>() {
    DeformConv2dProblem<T> problem(ctx, {.images = 3, .height = 20, .width = 21, .im2col_step = 2});
    problem.fill("offset", [&](std::int64_t i) {
      const std::int64_t window = i % 420, tap = i / 840 % 9;
      return i / 420 % 2 == 1 ? 4.5 - static_cast<double>(window % 21 - 1 + tap % 3)
                              : 3.25 - static_cast<double>(window / 21 - 1 + tap / 3);
    });
    const Results<T> first = results_of(problem, deterministic, deterministic);
    for (int run = 0; run < 4; ++run) {
      expect_same(results_of(problem, deterministic, deterministic), first, "samples of one pixel");
    }
  });
}

TEST_P(DeformConv2dDeterminismTest, on_every_run_of_hosts_in_both_modes) {
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "not promised on GPUs";
  for_each_type([&]<class T>() {
    for (const DeformConv2dCase& c : cases) {
      DeformConv2dProblem<T> problem(ctx, c);
      const Results<T> first = results_of(problem, ctx, ctx);
      for (int run = 0; run < 2; ++run) expect_same(results_of(problem, ctx, ctx), first, c.to_string());
    }
  });
}

TEST_P(DeformConv2dDeterminismTest, whether_temporaries_are_lent_or_from_the_pool) {
  for_each_type([&]<class T>() {
    for (const DeformConv2dCase& c : cases) {
      DeformConv2dProblem<T> problem(ctx, c);
      const Results<T> expected = results_of(problem, deterministic, deterministic);
      LentMemory memory(ctx, problem.workspace(deterministic)), grad_memory(ctx, problem.grad_workspace(deterministic));
      const Context lending = Context(deterministic).workspace(memory.workspace());
      const Context grad_lending = Context(deterministic).workspace(grad_memory.workspace());
      for (int run = 0; run < 2; ++run) {
        expect_same(results_of(problem, lending, grad_lending), expected, c.to_string());
        EXPECT_TRUE(memory.is_untouched_outside());
        EXPECT_TRUE(grad_memory.is_untouched_outside());
      }
    }
  });
}

/// Fewer pixels may be shared out in another way, which takes memory.
TEST_P(DeformConv2dDeterminismTest, the_last_step_may_be_a_short_one) {
  skip_where_sanitized();
  const auto check = [&]<class T>(const DeformConv2dCase& c) {
    DeformConv2dProblem<T> problem(ctx, c);
    LentMemory memory(ctx, problem.grad_workspace(ctx));
    problem.check_grad(Context(ctx).workspace(memory.workspace()));
    EXPECT_TRUE(memory.is_untouched_outside());
  };
  check.template operator()<float>(
      {.images = 5, .channels = 64, .height = 40, .width = 40, .out_channels = 4, .im2col_step = 3});
  check.template operator()<f16>(
      {.images = 73, .channels = 256, .height = 6, .width = 7, .out_channels = 2, .im2col_step = 64});
}

TEST_P(DeformConv2dDeterminismTest, temporaries_that_are_lent_do_in_the_other_mode_as_well) {
  for_each_type([&]<class T>() {
    for (const DeformConv2dCase& c : cases) {
      DeformConv2dProblem<T> problem(ctx, c);
      LentMemory memory(ctx, problem.workspace(ctx)), grad_memory(ctx, problem.grad_workspace(ctx));
      problem.check(Context(ctx).workspace(memory.workspace()));
      problem.check_grad(Context(ctx).workspace(grad_memory.workspace()));
      EXPECT_TRUE(memory.is_untouched_outside());
      EXPECT_TRUE(grad_memory.is_untouched_outside());
      // Some of the gradients need no more than all.
      problem.refs["offset_grad"] = {};
      problem.refs["weight_grad"] = {};
      EXPECT_LE(problem.grad_workspace(ctx), grad_memory.workspace().bytes);
    }
  });
}

}  // namespace
}  // namespace portops::test
