// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/embedding_sparse_gradient.hpp>
#include <portops/ops/merge_rows.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/sparse_sgd.hpp>
#include <portops/ops/sum.hpp>

#include <gmock/gmock.h>

// Leaves that want a sparse gradient.

namespace portops::test {
namespace {

using Elements = std::vector<double>;
using Rows = std::vector<std::int64_t>;

class SparseGradientsTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<double>(); }

  ag::Variable table(ag::Gradient gradient) { return random_variable(ctx, {6, 2}, 1, gradient); }
  ag::Variable ids(const Rows& rows) { return tensor_of(ctx, {static_cast<std::int64_t>(rows.size())}, rows); }
  /// Each row of the result is another factor of its gradient.
  ag::Variable looked_up(const ag::Variable& weight, const Rows& rows, double factor = 1.0) {
    Elements factors(2 * rows.size());
    for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = factor * static_cast<double>(i + 1);
    const ag::Variable by = variable_of(ctx, {static_cast<std::int64_t>(rows.size()), 2}, factors, ag::Gradient::none);
    return ag::sum(ctx, ag::multiply(ctx, ag::embedding(ctx, weight, ids(rows)), by));
  }
  /// The rows of a sparse gradient that there are, and their values.
  std::pair<Rows, Elements> merged(const ag::SparseGradient& gradient) {
    const auto count = static_cast<std::size_t>(merged_count(ctx, gradient.count.tensor()));
    Rows rows = elements_of<std::int64_t>(ctx, gradient.rows);
    Elements values = elements_of(ctx, gradient.values);
    rows.resize(count);
    values.resize(2 * count);
    return {rows, values};
  }
};

TEST_P(SparseGradientsTest, RowsAndValues) {
  const ag::Variable weight = table(ag::Gradient::sparse);
  ag::backward(ctx, looked_up(weight, {3, 0, 3}));
  EXPECT_FALSE(weight.grad());
  ASSERT_TRUE(weight.sparse_grad());
  EXPECT_EQ(merged(weight.sparse_grad()), (std::pair<Rows, Elements>({0, 3}, {3, 4, 1 + 5, 2 + 6})));
  // A step takes it as it is.
  const Elements before = elements_of(ctx, weight);
  const ag::SparseGradient gradient = weight.sparse_grad();
  sparse_sgd(ctx, weight.tensor(), gradient.rows.tensor(), gradient.values.tensor(), weight.tensor(),
             {.count = gradient.count.tensor(), .learning_rate = 0.5});
  weight.mark_changed("sparse_sgd");
  const Elements after = elements_of(ctx, weight);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const double slope = i == 0 ? 3 : i == 1 ? 4 : i == 6 ? 6 : i == 7 ? 8 : 0;
    EXPECT_DOUBLE_EQ(after[i], before[i] - 0.5 * slope);
  }
  ag::Variable(weight).clear_grad();
  EXPECT_FALSE(weight.sparse_grad());
}

TEST_P(SparseGradientsTest, SeveralLookUps) {
  const ag::Variable weight = table(ag::Gradient::sparse);
  ag::backward(ctx, ag::add(ctx, looked_up(weight, {3, 0, 3}), looked_up(weight, {5, 3}, 10.0)));
  EXPECT_EQ(merged(weight.sparse_grad()), (std::pair<Rows, Elements>({0, 3, 5}, {3, 4, 6 + 30, 8 + 40, 10, 20})));
  // What lies behind the count is left out when more is added.
  ag::backward(ctx, looked_up(weight, {1, 1}));
  EXPECT_EQ(merged(weight.sparse_grad()),
            (std::pair<Rows, Elements>({0, 1, 3, 5}, {3, 4, 1 + 3, 2 + 4, 6 + 30, 8 + 40, 10, 20})));
}

/// A host refuses the call; on a GPU the count tells, whichever of the terms it was, and in which pass.
TEST_P(SparseGradientsTest, ARowOutsideOfTheTableIsNotForgotten) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "a host has refused it before";
  for (const bool is_first : {true, false}) {
    for (const bool is_one_pass : {true, false}) {
      const ag::Variable weight = table(ag::Gradient::sparse);
      const ag::Variable wrong = looked_up(weight, {1, 77}), right = looked_up(weight, {3, 0});
      const ag::Variable one = is_first ? wrong : right, other = is_first ? right : wrong;
      if (is_one_pass) {
        ag::backward(ctx, ag::add(ctx, one, other));
      } else {
        ag::backward(ctx, one);
        ag::backward(ctx, other);
      }
      EXPECT_THAT(message_of([&] { merged_count(ctx, weight.sparse_grad().count.tensor()); }),
                  testing::HasSubstr("is not a row of the table"));
    }
  }
}

TEST_P(SparseGradientsTest, BesideDenseOnes) {
  const Elements expected = [&] {
    const ag::Variable weight = table(ag::Gradient::wanted);
    ag::backward(ctx, ag::add(ctx, looked_up(weight, {3, 0, 3}), ag::sum(ctx, ag::multiply(ctx, weight, weight))));
    EXPECT_FALSE(weight.sparse_grad());
    return elements_of(ctx, weight.grad());
  }();
  // Both in one pass; the dense one first; the sparse one first.
  const ag::Variable one = table(ag::Gradient::sparse), two = table(ag::Gradient::sparse),
                     three = table(ag::Gradient::sparse);
  const auto dense = [&](const ag::Variable& weight) { return ag::sum(ctx, ag::multiply(ctx, weight, weight)); };
  ag::backward(ctx, ag::add(ctx, looked_up(one, {3, 0, 3}), dense(one)));
  ag::backward(ctx, dense(two));
  ag::backward(ctx, looked_up(two, {3, 0, 3}));
  ag::backward(ctx, looked_up(three, {3, 0, 3}));
  ag::backward(ctx, dense(three));
  for (const ag::Variable& weight : {one, two, three}) {
    EXPECT_FALSE(weight.sparse_grad());
    const Elements found = elements_of(ctx, weight.grad());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ(found[i], expected[i]);
  }
}

TEST_P(SparseGradientsTest, AHookAndChosenVariables) {
  ag::Variable weight = table(ag::Gradient::sparse);
  int calls = 0;
  weight.on_gradient([&](const ag::Variable& its) {
    ++calls;
    EXPECT_TRUE(static_cast<bool>(its.sparse_grad()));
  });
  ag::backward(ctx, ag::add(ctx, looked_up(weight, {3}), looked_up(weight, {0})));
  EXPECT_EQ(calls, 1);
  // These are dense always, and nobody's but the caller's.
  const ag::Variable found = ag::gradients(ctx, {looked_up(weight, {3, 3})}, {weight})[0];
  EXPECT_EQ(elements_of(ctx, found), (Elements{0, 0, 0, 0, 0, 0, 1 + 3, 2 + 4, 0, 0, 0, 0}));
  EXPECT_EQ(calls, 1);
  // Of what was made from it, the gradient is dense too.
  weight.on_gradient({});
  weight.clear_grad();
  ag::backward(ctx, looked_up(ag::multiply(ctx, weight, 2), {3}));
  EXPECT_FALSE(weight.sparse_grad());
}

PORTOPS_ON_EVERY_BACKEND(SparseGradientsTest);

}  // namespace
}  // namespace portops::test
