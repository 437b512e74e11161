// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/sequence_reverse.hpp>
#include <portops/ops/sum.hpp>

// Levels travel with variables.

namespace portops::test {
namespace {

class RaggedVariablesTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<double>(); }

  const Levels levels{std::vector<std::vector<std::int64_t>>{{0, 1, 3}, {0, 2, 2, 5}}};
  Tensor values(unsigned seed, const Extents& extents) {
    Random random(seed);
    std::vector<double> elements(static_cast<std::size_t>(extents.product()));
    for (double& each : elements) each = random.uniform(0.25, 2.0);
    return tensor_of(ctx, extents, elements);
  }
};

TEST_P(RaggedVariablesTest, LevelsAreSharedAndChanged) {
  const Tensor x_values = values(1, {5, 2}), y_values = values(2, {2});
  const ag::Variable x(x_values.ref(), levels, ag::Gradient::wanted), y(y_values, ag::Gradient::wanted);
  const ag::Variable shared = ag::relu(ctx, ag::add(ctx, x, y));
  EXPECT_EQ(shared.levels(), levels);
  const ag::Variable pooled = ag::sequence_pool(ctx, ag::sequence_reverse(ctx, shared), {.pooltype = "max"});
  EXPECT_EQ(pooled.levels(), levels.upper());
  const ag::Variable again = ag::sequence_pool(ctx, pooled, {.pooltype = "sum"});
  EXPECT_EQ(again.tensor().extents(), (Extents{2, 2}));
  EXPECT_FALSE(again.levels());
  ag::backward(ctx, ag::sum(ctx, again));
  EXPECT_EQ(x.grad().levels(), levels);
  EXPECT_FALSE(y.grad().levels());
  // Of each sequence with rows, one in each column.
  const auto grad = elements_of(ctx, x.grad());
  for (int column = 0; column < 2; ++column) {
    double first = 0.0, second = 0.0;
    for (int row = 0; row < 5; ++row) (row < 2 ? first : second) += grad[static_cast<std::size_t>(2 * row + column)];
    EXPECT_EQ(first, 1.0);
    EXPECT_EQ(second, 1.0);
  }
}

TEST_P(RaggedVariablesTest, TensorsAreShared) {
  const Tensor expected = values(1, {5, 2});
  const ag::Variable x(values(1, {5, 2}), levels, ag::Gradient::wanted);
  EXPECT_EQ(elements_of(ctx, x), elements_of(ctx, ag::Variable(expected)));
  EXPECT_EQ(x.levels(), levels);
}

TEST_P(RaggedVariablesTest, InPlace) {
  const Tensor x_values = values(1, {5, 2}), y_values = values(2, {5, 2});
  ag::Variable x(x_values);
  const ag::Variable y(y_values.ref(), levels);
  ag::in_place::add(ctx, x, y);
  EXPECT_EQ(x.levels(), levels);
}

TEST_P(RaggedVariablesTest, LevelsOfOtherRows) {
  const Tensor x_values = values(1, {1, 2}), y_values = values(2, {5, 2});
  const ag::Variable x(x_values.ref(), Levels::from_lengths({1})), y(y_values);
  const std::string message = "portops::add: out has extents [5, 2], but levels of 1 rows";
  expect_error([&] { ag::add(ctx, x, y); }, message);
  const ag::Variable plain(x_values);
  expect_error([&] { ag::sequence_reverse(ctx, plain); },
               "portops::sequence_reverse: x has no levels, expected a ragged tensor");
}

PORTOPS_ON_EVERY_BACKEND(RaggedVariablesTest);

}  // namespace
}  // namespace portops::test
