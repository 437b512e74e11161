// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/embedding_sparse_gradient.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/sum.hpp>

namespace portops::test {
namespace {

using Elements = std::vector<double>;

class SetGradTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<double>(); }
};

TEST_P(SetGradTest, TakesThePlaceOfTheGradient) {
  ag::Variable w = variable_of(ctx, {2}, {1, 2});
  ag::backward(ctx, ag::sum(ctx, w));
  const ag::Variable other = variable_of(ctx, {2}, {5, 6}, ag::Gradient::none);
  w.set_grad(other);
  EXPECT_EQ(w.grad().tensor().data(), other.tensor().data());
  ag::backward(ctx, ag::sum(ctx, w));  // added, in other memory
  EXPECT_EQ(elements_of(ctx, w.grad()), (Elements{6, 7}));
  EXPECT_EQ(elements_of(ctx, other), (Elements{5, 6}));
}

TEST_P(SetGradTest, RefusesWhatDoesNotFit) {
  ag::Variable w = variable_of(ctx, {2}, {1, 2}), constant = variable_of(ctx, {2}, {1, 2}, ag::Gradient::none);
  expect_error([&] { constant.set_grad(w); },
               "portops::autograd::Variable::set_grad: the variable is no leaf whose gradient is wanted");
  expect_error([&] { w.set_grad(ag::Variable()); },
               "portops::autograd::Variable::set_grad: the gradient is empty, expected a tensor");
  expect_error([&] { w.set_grad(variable_of(ctx, {3}, {1, 2, 3})); },
               "portops::autograd::Variable::set_grad: the gradient is f64 [3], expected f64 [2] (as the variable)");
  expect_error([&] { w.set_grad(ag::SparseGradient()); },
               "portops::autograd::Variable::set_grad: the gradient is sparse, and the variable wants a dense one");
}

TEST_P(SetGradTest, SparseGradients) {
  ag::Variable table = variable_of(ctx, {4, 2}, {0, 0, 0, 0, 0, 0, 0, 0}, ag::Gradient::sparse);
  EXPECT_TRUE(table.wants_sparse_gradient());
  EXPECT_FALSE(variable_of(ctx, {1}, {1}).wants_sparse_gradient());
  EXPECT_FALSE(ag::Variable().wants_sparse_gradient());
  // 4 is no row of the table.
  const Tensor rows = tensor_of<std::int64_t>(ctx, {4}, {3, 4, 0, 3});
  const ag::SparseGradient merged =
      ag::merge_sparse(ctx, 4, rows, variable_of(ctx, {4, 2}, {1, 2, 100, 100, 3, 4, 5, 6}));
  table.set_grad(merged);
  EXPECT_FALSE(table.grad());
  const ag::SparseGradient found = table.sparse_grad();
  EXPECT_EQ(elements_of<std::int64_t>(ctx, found.count), std::vector<std::int64_t>{2});
  EXPECT_EQ(elements_of<std::int64_t>(ctx, found.rows), (std::vector<std::int64_t>{0, 3, 4, 4}));
  Elements values = elements_of(ctx, found.values);
  values.resize(4);
  EXPECT_EQ(values, (Elements{3, 4, 6, 8}));
  table.set_grad(variable_of(ctx, {4, 2}, Elements(8, 1), ag::Gradient::none));
  EXPECT_FALSE(table.sparse_grad());
  expect_error(
      [&] { table.set_grad(ag::SparseGradient{merged.rows, variable_of(ctx, {4, 3}, Elements(12)), merged.count}); },
      "portops::autograd::Variable::set_grad: the gradient is f64 [4, 3], expected f64 [4, 2] (as the variable)");
  const std::string name = "portops::autograd::Variable::set_grad: ";
  expect_error([&] { table.set_grad(ag::SparseGradient{{}, merged.values, merged.count}); },
               name + "rows of the gradient are empty, expected a tensor");
  expect_error([&] { table.set_grad(ag::SparseGradient{merged.rows, merged.values, {}}); },
               name + "count of the gradient is empty, expected a tensor");
  expect_error([&] { table.set_grad(ag::SparseGradient{merged.rows, {}, merged.count}); },
               name + "the gradient is empty, expected a tensor");
  expect_error([&] { ag::merge_sparse(ctx, 4, {}, {}); }, "portops::autograd::merge_sparse: rows or values are empty");
}

PORTOPS_ON_EVERY_BACKEND(SetGradTest);

}  // namespace
}  // namespace portops::test
