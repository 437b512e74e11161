// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/check_gradients.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/lerp.hpp>
#include <portops/ops/matmul.hpp>
#include <portops/ops/mean.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/silu.hpp>
#include <portops/ops/split.hpp>
#include <portops/ops/subtract.hpp>
#include <portops/ops/sum.hpp>

// Gradients of gradients.

namespace portops::test {
namespace {

using Variables = std::vector<ag::Variable>;

struct SecondOrderCase {
  std::string name;
  std::vector<Extents> extents;
  std::function<ag::Variable(const Context& ctx, const Variables& inputs)> call;
};

std::vector<SecondOrderCase> second_order_cases() {
  using In = const Variables&;
  using Ctx = const Context&;
  const auto product = [](bool transpose_x, bool transpose_y) {
    return [=](Ctx c, In v) {
      return ag::matmul(c, v[0], v[1], {.transpose_x = transpose_x, .transpose_y = transpose_y});
    };
  };
  return {
      {"add", {{3, 4}, {3, 1}}, [](Ctx c, In v) { return ag::add(c, v[0], v[1]); }},
      {"subtract", {{4}, {3, 4}}, [](Ctx c, In v) { return ag::subtract(c, v[0], v[1]); }},
      {"multiply", {{3, 4}, {4}}, [](Ctx c, In v) { return ag::multiply(c, v[0], v[1]); }},
      {"multiply by a number", {{3, 4}}, [](Ctx c, In v) { return ag::multiply(c, v[0], 2.5); }},
      {"lerp", {{3, 1}, {4}, {3, 4}}, [](Ctx c, In v) { return ag::lerp(c, v[0], v[1], v[2]); }},
      {"lerp by a number", {{3, 1}, {4}}, [](Ctx c, In v) { return ag::lerp(c, v[0], v[1], 0.25); }},
      {"matmul", {{2, 1, 2, 3}, {2, 3, 2}}, product(false, false)},
      {"matmul, x turned", {{3, 2}, {2, 3, 2}}, product(true, false)},
      {"matmul, y turned", {{2, 3}, {2, 3}}, product(false, true)},
      {"matmul, both turned", {{3, 2}, {2, 3}}, product(true, true)},
      {"matmul of a vector", {{3}, {2, 3, 2}}, product(false, false)},
      {"matmul by a vector", {{2, 2, 3}, {3}}, product(false, false)},
      {"matmul of vectors", {{3}, {3}}, product(false, false)},
      {"sum", {{3, 2, 2}}, [](Ctx c, In v) { return ag::sum(c, v[0], {.axis = {0, -1}}); }},
      {"sum of all", {{3, 2}}, [](Ctx c, In v) { return ag::sum(c, v[0], {.keepdim = true}); }},
      {"mean", {{3, 2, 2}}, [](Ctx c, In v) { return ag::mean(c, v[0], {.axis = {1}}); }},
      {"reshape", {{3, 4}}, [](Ctx c, In v) { return ag::reshape(c, v[0], {.shape = {2, -1}}); }},
      {"concat", {{2, 3}, {2, 1}}, [](Ctx c, In v) { return ag::concat(c, v, {.axis = -1}); }},
      {"split",
       {{2, 6}},
       [](Ctx c, In v) {
         const Variables parts = ag::split(c, v[0], {.sections = {2, -1, 2}, .axis = 1});
         return ag::multiply(c, parts[0], parts[2]);
       }},
  };
}

class SecondOrderTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<double>(); }
};

TEST_P(SecondOrderTest, GradientsOfGradientsAreTheSlopes) {
  for (const SecondOrderCase& each : second_order_cases()) {
    SCOPED_TRACE(each.name);
    Variables inputs;
    for (const Extents& extents : each.extents) {
      inputs.push_back(random_variable(ctx, extents, static_cast<unsigned>(inputs.size()) + 1));
    }
    const auto loss = [&](const Variables& v) {
      const ag::Variable out = each.call(ctx, v);
      return ag::sum(ctx, ag::multiply(ctx, ag::multiply(ctx, out, out), out));
    };
    const auto plain = ag::gradients(ctx, {loss(inputs)}, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto gradient = [&](const Variables& v) {
        return ag::gradients(ctx, {loss(v)}, {v[i]}, {.create_graph = true})[0];
      };
      const auto found = elements_of(ctx, gradient(inputs)), expected = elements_of(ctx, plain[i]);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-11 * std::abs(expected[k]));
      EXPECT_NO_THROW(ag::check_gradients(ctx, gradient, inputs, {.tolerance = 1e-6}));
    }
  }
}

TEST_P(SecondOrderTest, ThirdDerivatives) {
  const ag::Variable x = variable_of(ctx, {2}, {2, 3});
  ag::Variable y = ag::multiply(ctx, ag::multiply(ctx, x, x), ag::multiply(ctx, x, x));
  for (int i = 0; i < 3; ++i) y = ag::gradients(ctx, {ag::sum(ctx, y)}, {x}, {.create_graph = true})[0];
  EXPECT_EQ(elements_of(ctx, y), (std::vector<double>{24 * 2, 24 * 3}));
  // A gradient is a variable like others: a loss may be made of it.
  ag::backward(ctx, ag::sum(ctx, ag::multiply(ctx, y, y)));
  EXPECT_EQ(elements_of(ctx, x.grad()), (std::vector<double>{2 * 24 * 24 * 2, 2 * 24 * 24 * 3}));
}

TEST_P(SecondOrderTest, AGivenGradientIsAVariableToo) {
  const ag::Variable x = variable_of(ctx, {2}, {2, 3}), by = variable_of(ctx, {2}, {5, 7});
  const ag::Variable grad =
      ag::gradients(ctx, {ag::multiply(ctx, x, x)}, {x}, {.loss_grads = {by}, .create_graph = true})[0];
  const auto found = ag::gradients(ctx, {ag::sum(ctx, grad)}, {x, by});
  EXPECT_EQ(elements_of(ctx, found[0]), (std::vector<double>{2 * 5, 2 * 7}));
  EXPECT_EQ(elements_of(ctx, found[1]), (std::vector<double>{2 * 2, 2 * 3}));
}

TEST_P(SecondOrderTest, Refusals) {
  const ag::Variable x = random_variable(ctx, {3}, 1);
  const ag::Variable loss = ag::sum(ctx, ag::silu(ctx, ag::multiply(ctx, x, x)));
  const ag::Variable grad = ag::gradients(ctx, {loss}, {x}, {.create_graph = true})[0];
  EXPECT_TRUE(grad.wants_gradient());
  expect_error([&] { ag::backward(ctx, ag::sum(ctx, grad)); },
               "portops::autograd::backward: silu_grad is not differentiable: gradients of gradients are not computed "
               "of silu");
  EXPECT_FALSE(x.grad());
  // Without create_graph there is nothing to go back along.
  const ag::Variable plain = ag::gradients(ctx, {loss}, {x})[0];
  expect_error([&] { ag::backward(ctx, ag::sum(ctx, plain)); },
               "portops::autograd::backward: loss was made from nothing whose gradient is wanted");
  expect_error([&] { ag::backward(ctx, x, {.create_graph = true}); },
               "portops::autograd::backward: create_graph is of gradients, in portops::autograd, alone");
}

PORTOPS_ON_EVERY_BACKEND(SecondOrderTest);

}  // namespace
}  // namespace portops::test
