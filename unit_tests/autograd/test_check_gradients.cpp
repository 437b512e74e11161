// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"

#include <portops/autograd/check_gradients.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/divide.hpp>
#include <portops/ops/multiply.hpp>

// What checks gradients notices wrong ones.

namespace portops::test {
namespace {

using Variables = std::vector<ag::Variable>;

class CheckGradientsTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<double>(); }

  std::string message(const std::function<ag::Variable(const Variables&)>& function, const Variables& variables) {
    return message_of([&] { ag::check_gradients(ctx, function, variables); });
  }
};

TEST_P(CheckGradientsTest, RightOnes) {
  const ag::Variable x = random_variable(ctx, {2, 3}, 1), y = random_variable(ctx, {3}, 2, ag::Gradient::none);
  const auto before = elements_of(ctx, x);
  EXPECT_EQ(message([&](const Variables& v) { return ag::multiply(ctx, ag::multiply(ctx, v[0], v[1]), v[0]); }, {x, y}),
            "");
  EXPECT_EQ(elements_of(ctx, x), before);
  EXPECT_FALSE(x.grad());
  // One that plays no part has the slope 0.
  EXPECT_EQ(message([&](const Variables& v) { return ag::multiply(ctx, v[0], 2); }, {x, y}), "");
}

TEST_P(CheckGradientsTest, WrongOnes) {
  const ag::Variable x = random_variable(ctx, {2, 3}, 1), y = random_variable(ctx, {3}, 2);
  const std::string half = message([&](const Variables& v) { return ag::multiply(ctx, v[0], v[0].detach()); }, {x});
  EXPECT_EQ(half.find("portops::autograd::check_gradients: the gradient of variables[0] at element 0 is "), 0U) << half;
  EXPECT_NE(half.find("(by central differences of step 1e-05)"), std::string::npos) << half;
  const std::string zero = message([&](const Variables& v) { return ag::multiply(ctx, v[0], v[1].detach()); }, {x, y});
  EXPECT_EQ(zero.find("portops::autograd::check_gradients: the gradient of variables[1] at element 0 is 0, expected "),
            0U)
      << zero;
}

TEST_P(CheckGradientsTest, ThoseThatAreNan) {
  const ag::Variable zero = variable_of(ctx, {1}, {0});
  const std::string nan = message([&](const Variables& v) { return ag::divide(ctx, v[0], v[0]); }, {zero});
  EXPECT_NE(nan.find("the gradient of variables[0] at element 0 is "), std::string::npos) << nan;
  EXPECT_NE(nan.find("nan"), std::string::npos) << nan;
}

TEST_P(CheckGradientsTest, Errors) {
  const ag::Variable x = random_variable(ctx, {2}, 1);
  const std::string name = "portops::autograd::check_gradients: ";
  EXPECT_EQ(message([&](const Variables& v) { return v[0].detach(); }, {x}),
            name + "what the function gave was made from none of the variables");
  const std::string expected = ", expected a contiguous tensor of f64";
  EXPECT_EQ(message([](const Variables& v) { return v[0]; }, {ag::Variable()}),
            name + "variables[0] is empty" + expected);
  TestTensor<double> strided(ctx, {2, 2}, Layout::every_other);
  EXPECT_EQ(message([](const Variables& v) { return v[0]; }, {x, ag::Variable(strided.ref())}),
            name + "variables[1] is not f64, or not contiguous" + expected);
}

PORTOPS_ON_EVERY_BACKEND(CheckGradientsTest);

}  // namespace
}  // namespace portops::test
