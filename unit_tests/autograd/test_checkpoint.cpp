// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/checkpoint.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/dropout.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/silu.hpp>
#include <portops/ops/sum.hpp>

namespace portops::test {
namespace {

using Variables = std::vector<ag::Variable>;

class AutogradCheckpointTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<double>(); }

  /// Uses a variable that is no input, as a layer uses its parameters.
  ag::Segment segment_with(const ag::Variable& weight) {
    return [this, weight](const Context& its, const Variables& x) -> Variables {
      ++calls;
      const ag::Variable y = ag::silu(its, ag::multiply(its, x[0], weight));
      return {ag::multiply(its, y, ag::dropout(its, y, {.seed = 5})), ag::add(its, x[0], 1)};
    };
  }

  int calls = 0;
};

TEST_P(AutogradCheckpointTest, TheSameBits) {
  const ag::Variable x = random_variable(ctx, {4, 3}, 1), weight = random_variable(ctx, {3}, 2);
  const ag::Segment segment = segment_with(weight);
  const auto loss_of = [&](const Variables& made) { return ag::sum(ctx, ag::multiply(ctx, made[0], made[1])); };
  const auto expected = ag::gradients(ctx, {loss_of(segment(ctx, {ag::add(ctx, x, 1)}))}, {x, weight});
  calls = 0;
  const ag::Variable loss = loss_of(ag::checkpoint(ctx, segment, {ag::add(ctx, x, 1)}));
  EXPECT_EQ(calls, 1);
  const auto first = ag::gradients(ctx, {loss}, {x, weight}, {.keep_graph = true});
  EXPECT_EQ(calls, 2);
  const auto second = ag::gradients(ctx, {loss}, {x, weight});
  EXPECT_EQ(calls, 3);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(elements_of(ctx, first[i]), elements_of(ctx, expected[i]));
    EXPECT_EQ(elements_of(ctx, second[i]), elements_of(ctx, expected[i]));
  }
  EXPECT_FALSE(x.grad() || weight.grad());
}

TEST_P(AutogradCheckpointTest, OneInAnother) {
  const ag::Variable x = random_variable(ctx, {4, 3}, 1), weight = random_variable(ctx, {3}, 2);
  const ag::Segment inner = segment_with(weight);
  const ag::Segment outer = [&](const Context& its, const Variables& inputs) -> Variables {
    return {ag::silu(its, ag::checkpoint(its, inner, {ag::multiply(its, inputs[0], 2)})[0])};
  };
  const auto expected = ag::gradients(ctx, {ag::sum(ctx, outer(ctx, {x})[0])}, {x, weight});
  const auto found = ag::gradients(ctx, {ag::sum(ctx, ag::checkpoint(ctx, outer, {x})[0])}, {x, weight});
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(elements_of(ctx, found[i]), elements_of(ctx, expected[i]));
}

TEST_P(AutogradCheckpointTest, AnInputThatChanges) {
  const ag::Variable x = random_variable(ctx, {4, 3}, 1), weight = random_variable(ctx, {3}, 2);
  const ag::Variable loss = ag::sum(ctx, ag::checkpoint(ctx, segment_with(weight), {x})[0]);
  x.mark_changed("adam");
  expect_error(
      [&] { ag::backward(ctx, loss); },
      "portops::autograd::checkpoint: inputs[0] has been changed in place by adam since the segment was called");
}

TEST_P(AutogradCheckpointTest, ASegmentThatMakesOtherCalls) {
  const ag::Variable x = random_variable(ctx, {3}, 1);
  int call = 0;
  const ag::Segment segment = [&](const Context& its, const Variables& inputs) -> Variables {
    return {call++ == 0 ? ag::multiply(its, inputs[0], inputs[0]) : ag::silu(its, inputs[0])};
  };
  const ag::Variable loss = ag::sum(ctx, ag::checkpoint(ctx, segment, {x})[0]);
  expect_error(
      [&] { ag::backward(ctx, loss); },
      "portops::autograd::checkpoint: the segment has kept 1 tensors, expected 2, as when it was called before");
}

PORTOPS_ON_EVERY_BACKEND(AutogradCheckpointTest);

}  // namespace
}  // namespace portops::test
