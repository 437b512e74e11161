// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/nn/adam.hpp>
#include <portops/nn/embedding.hpp>
#include <portops/nn/generator.hpp>
#include <portops/nn/loss_scale.hpp>
#include <portops/nn/sgd.hpp>
#include <portops/ops/adam.hpp>
#include <portops/ops/count_nonfinite.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/momentum.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/sgd.hpp>
#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/sparse_momentum.hpp>
#include <portops/ops/sparse_sgd.hpp>

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace portops::test {
namespace {

using Elements = std::vector<double>;
using nn::Variable;
using testing::ElementsAre;

class OptimizerTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<double>(); }

  /// Gives a leaf this gradient.
  void set_grad(const Variable& leaf, const Variable& gradient) {
    Variable(leaf).clear_grad();
    ag::backward(ctx, ag::multiply(ctx, leaf, 1), {.loss_grads = {gradient}});
  }
  void set_grad(const Variable& leaf, const Elements& gradient) {
    set_grad(leaf, variable_of(ctx, leaf.tensor().extents(), gradient, ag::Gradient::none));
  }
  template <class T>
  Variable leaf_of(const Elements& elements, ag::Gradient gradient = ag::Gradient::wanted) {
    std::vector<T> rounded;
    for (const double each : elements) rounded.push_back(static_cast<T>(each));
    return {tensor_of(ctx, {static_cast<std::int64_t>(elements.size())}, rounded), gradient};
  }
  template <class T>
  void set_grad_of(const Variable& leaf, const Elements& gradient) {
    set_grad(leaf, leaf_of<T>(gradient, ag::Gradient::none));
  }
  /// The tensor of a state.
  Variable part(const nn::State& state, const std::string& name) {
    for (const nn::NamedVariable& each : state) {
      if (each.name == name) return each.variable;
    }
    throw Error("there is no " + name);
  }
  std::vector<std::string> names_of(const nn::State& state) {
    std::vector<std::string> names;
    for (const nn::NamedVariable& each : state) names.push_back(each.name);
    return names;
  }
};

TEST_P(OptimizerTest, Sgd) {
  const Variable x = variable_of(ctx, {2}, {1, -2}), y = variable_of(ctx, {1}, {3}), idle = variable_of(ctx, {1}, {9}),
                 frozen = variable_of(ctx, {1}, {5}, ag::Gradient::none);
  nn::Sgd optimizer(ctx, {{"x", x}, {"y", y}, {"idle", idle}, {"frozen", frozen}}, 0.5, {.weight_decay = 0.25});
  EXPECT_THAT(names_of(optimizer.state()), ElementsAre("steps"));
  set_grad(x, {4, 8});
  set_grad(y, {2});
  optimizer.step(ctx);
  EXPECT_EQ(elements_of(ctx, x), (Elements{1 - 0.5 * (4 + 0.25), -2 - 0.5 * (8 - 0.5)}));
  EXPECT_EQ(elements_of(ctx, y), Elements{3 - 0.5 * (2 + 0.75)});
  EXPECT_EQ(elements_of(ctx, idle), Elements{9});
  EXPECT_EQ(elements_of(ctx, frozen), Elements{5});
  optimizer.clear_grads();
  EXPECT_FALSE(x.grad() || y.grad());
  optimizer.step(ctx);
  EXPECT_EQ(elements_of(ctx, y), Elements{3 - 0.5 * (2 + 0.75)});
}

TEST_P(OptimizerTest, Momentum) {
  const Variable x = variable_of(ctx, {1}, {1});
  nn::Sgd optimizer(ctx, {{"x", x}}, 0.5, {.momentum = 0.5, .use_nesterov = true, .maximize = true});
  double value = 1, velocity = 0;
  for (const double rate : {0.5, 0.5, 0.125}) {
    set_grad(x, {2});
    optimizer.set_learning_rate(ctx, rate);
    optimizer.step(ctx);
    velocity = 0.5 * velocity - 2;
    value -= rate * (-2 + 0.5 * velocity);
    EXPECT_EQ(elements_of(ctx, x), Elements{value});
    EXPECT_EQ(elements_of(ctx, part(optimizer.state(), "velocity.x")), Elements{velocity});
  }
  EXPECT_EQ(optimizer.learning_rate(), 0.125);
}

TEST_P(OptimizerTest, Adam) {
  for (const bool decoupled : {false, true}) {
    const Variable x = variable_of(ctx, {2}, {1, -2});
    nn::Adam optimizer(
        ctx, {{"x", x}}, 0.1,
        {.beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3, .weight_decay = 0.2, .decoupled_weight_decay = decoupled});
    EXPECT_THAT(names_of(optimizer.state()),
                ElementsAre("steps", "beta1_pow.f64", "beta2_pow.f64", "moment1.x", "moment2.x"));
    Elements value = {1, -2}, first = {0, 0}, second = {0, 0};
    for (int step = 1; step <= 3; ++step) {
      const Elements gradient = {0.5 * step, -1};
      set_grad(x, gradient);
      optimizer.step(ctx);
      for (std::size_t i = 0; i < 2; ++i) {
        const double g = gradient[i] + (decoupled ? 0 : 0.2 * value[i]);
        if (decoupled) value[i] *= 1 - 0.1 * 0.2;
        first[i] = 0.8 * first[i] + 0.2 * g;
        second[i] = 0.9 * second[i] + 0.1 * g * g;
        value[i] -=
            0.1 * first[i] / (1 - std::pow(0.8, step)) / (std::sqrt(second[i] / (1 - std::pow(0.9, step))) + 1e-3);
        EXPECT_NEAR(elements_of(ctx, x)[i], value[i], 1e-14);
      }
    }
  }
}

// A step changes what earlier calls have kept, and passes say so.
TEST_P(OptimizerTest, VersionsFollow) {
  const Variable x = variable_of(ctx, {1}, {1});
  const Variable out = ag::multiply(ctx, x, x);
  nn::Sgd optimizer(ctx, {{"x", x}}, 0.5);
  ag::backward(ctx, ag::multiply(ctx, x, 2));
  optimizer.step(ctx);
  EXPECT_NE(message_of([&] { ag::backward(ctx, out); }).find("portops::nn::Optimizer"), std::string::npos);
}

// Steps that one by one are lost in 16 bits.
TEST_P(OptimizerTest, Masters) {
  need_type<bf16>();
  need_type<float>();
  for (const bool has_masters : {true, false}) {
    const Variable x = leaf_of<bf16>({1}), y = leaf_of<float>({1});
    nn::Sgd optimizer(ctx, {{"x", x}, {"y", y}}, 0x1p-12, {.has_masters = has_masters});
    for (int step = 0; step < 64; ++step) {
      set_grad_of<bf16>(x, {1});
      set_grad_of<float>(y, {1});
      optimizer.step(ctx);
    }
    EXPECT_EQ(static_cast<float>(elements_of<bf16>(ctx, x)[0]), has_masters ? 1 - 0x1p-6F : 1.0F);
    EXPECT_EQ(elements_of<float>(ctx, y)[0], 1 - 0x1p-6F);
    EXPECT_EQ(names_of(optimizer.state()),
              has_masters ? std::vector<std::string>({"steps", "master.x"}) : std::vector<std::string>{"steps"});
  }
}

// What something else has written into a parameter stays; where it is as before, so is what the master has beyond it.
TEST_P(OptimizerTest, MastersFollowChanges) {
  need_type<bf16>();
  need_type<float>();
  const Variable x = leaf_of<bf16>({1, 1}), other = leaf_of<bf16>({3, 1}, ag::Gradient::none);
  nn::Sgd optimizer(ctx, {{"x", x}}, 0x1p-12);
  const auto master_after_step = [&] {
    set_grad_of<bf16>(x, {1, 1});
    optimizer.step(ctx);
    return elements_of<float>(ctx, part(optimizer.state(), "master.x"));
  };
  EXPECT_THAT(master_after_step(), ElementsAre(1 - 0x1p-12F, 1 - 0x1p-12F));
  copy(ctx, other.tensor(), x.tensor());
  x.mark_changed("a copy");
  EXPECT_THAT(master_after_step(), ElementsAre(3 - 0x1p-12F, 1 - 0x1p-11F));
  EXPECT_THAT(master_after_step(), ElementsAre(3 - 0x1p-11F, 1 - 3 * 0x1p-12F));
  const std::vector<bf16> found = elements_of<bf16>(ctx, x);
  EXPECT_EQ((std::vector<float>{found[0], found[1]}), (std::vector<float>{3, 1}));
}

// A parameter of two names takes one step.
TEST_P(OptimizerTest, TiedParameters) {
  struct Tied : nn::Module {
    explicit Tied(const Variable& its_x) : x(its_x) {}
    void describe(nn::Members& members) override { members.parameter("a", x).parameter("b", x); }

    Variable x;
  };
  Tied tied(variable_of(ctx, {1}, {1}));
  EXPECT_THAT(names_of(tied.state()), ElementsAre("a", "b"));
  EXPECT_THAT(names_of(tied.parameters()), ElementsAre("a"));
  nn::Sgd optimizer(ctx, tied.parameters(), 0.5);
  set_grad(tied.x, {1});
  optimizer.step(ctx);
  EXPECT_EQ(elements_of(ctx, tied.x), Elements{0.5});
}

// As adam.hpp says, and not as PyTorch does.
TEST_P(OptimizerTest, AdamOfALateFirstGradient) {
  const Variable x = variable_of(ctx, {1}, {0}), late = variable_of(ctx, {1}, {0});
  nn::Adam optimizer(ctx, {{"x", x}, {"late", late}}, 0.5, {.epsilon = 0});
  for (int step = 1; step <= 10; ++step) {
    set_grad(x, {2});
    if (step == 10) set_grad(late, {2});
    optimizer.step(ctx);
  }
  const double expected = 0.5 * (0.1 / (1 - std::pow(0.9, 10))) * std::sqrt((1 - std::pow(0.999, 10)) / 0.001);
  EXPECT_NEAR(elements_of(ctx, late)[0], -expected, 1e-12);
}

TEST_P(OptimizerTest, SparseGradients) {
  const auto table = [&] { return random_variable(ctx, {6, 2}, 1, ag::Gradient::sparse); };
  const std::vector<std::int64_t> ids = {3, 0, 3};
  const auto look_up = [&](const Variable& weight) {
    Variable(weight).clear_grad();
    ag::backward(ctx, ag::embedding(ctx, weight, tensor_of(ctx, {3}, ids)),
                 {.loss_grads = {random_variable(ctx, {3, 2}, 2, ag::Gradient::none)}});
  };
  for (int kind = 0; kind < 3; ++kind) {
    SCOPED_TRACE(kind);
    const Variable x = table(), y = table();
    std::unique_ptr<nn::Optimizer> optimizer;
    if (kind == 0) optimizer = std::make_unique<nn::Sgd>(ctx, nn::State{{"x", x}}, 0.5);
    if (kind == 1) optimizer = std::make_unique<nn::Sgd>(ctx, nn::State{{"x", x}}, 0.5, nn::SgdParams{.momentum = 0.9});
    if (kind == 2) optimizer = std::make_unique<nn::Adam>(ctx, nn::State{{"x", x}}, 0.5);
    const Variable a = variable_of(ctx, {6, 2}, Elements(12, 0)), b = variable_of(ctx, {6, 2}, Elements(12, 0));
    for (int step = 1; step <= 2; ++step) {
      look_up(x);
      optimizer->step(ctx);
      look_up(y);
      const ag::SparseGradient its = y.sparse_grad();
      const TensorRef rows = its.rows.tensor(), values = its.values.tensor(), count = its.count.tensor();
      if (kind == 0) sparse_sgd(ctx, y.tensor(), rows, values, y.tensor(), {.count = count, .learning_rate = 0.5});
      if (kind == 1) {
        sparse_momentum(ctx, y.tensor(), rows, values, a.tensor(), y.tensor(), a.tensor(),
                        {.count = count, .learning_rate = 0.5});
      }
      if (kind == 2) {
        sparse_adam(ctx, y.tensor(), rows, values, a.tensor(), b.tensor(), y.tensor(), a.tensor(), b.tensor(),
                    {.count = count,
                     .learning_rate = 0.5,
                     .beta1_pow = std::pow(0.9, step),
                     .beta2_pow = std::pow(0.999, step)});
      }
      y.mark_changed("a step");
      EXPECT_EQ(elements_of(ctx, x), elements_of(ctx, y));
    }
    EXPECT_NE(elements_of(ctx, x), elements_of(ctx, table()));
  }
}

TEST_P(OptimizerTest, SparseGradientsOf16Bits) {
  need_type<bf16>();
  const std::vector<bf16> elements{bf16(2.0F), bf16(1.0F)};
  const Variable x{tensor_of(ctx, {2, 1}, elements), ag::Gradient::sparse};
  nn::Sgd optimizer(ctx, {{"x", x}}, 0.5, {.momentum = 0.9, .has_masters = false});
  ASSERT_EQ(names_of(optimizer.state()), (std::vector<std::string>{"steps", "velocity.x"}));
  EXPECT_EQ(optimizer.state()[1].variable.tensor().type(), ElementType::bf16);
  for (int step = 0; step < 2; ++step) {
    const Variable out = ag::embedding(ctx, x, tensor_of<std::int64_t>(ctx, {1}, {1}));
    ag::backward(ctx, out, {.loss_grads = {tensor_of(ctx, {1, 1}, std::vector<bf16>{bf16(1.0F)})}});
    optimizer.step(ctx);
    optimizer.clear_grads();
  }
  const std::vector<bf16> found = elements_of<bf16>(ctx, x);
  EXPECT_EQ(static_cast<float>(found[0]), 2.0F);
  EXPECT_NEAR(static_cast<float>(found[1]), 1.0F - 0.5F * 1.0F - 0.5F * 1.9F, 0x1p-8F);
}

TEST_P(OptimizerTest, Errors) {
  const std::string name = "portops::nn::Optimizer: ";
  const Variable x = random_variable(ctx, {6, 2}, 1, ag::Gradient::sparse);
  ag::backward(ctx, ag::embedding(ctx, x, tensor_of<std::int64_t>(ctx, {1}, {2})),
               {.loss_grads = {random_variable(ctx, {1, 2}, 2, ag::Gradient::none)}});
  const std::string sparse = name + "the gradient of x is sparse, and the sparse steps do not have ";
  const Elements before = elements_of(ctx, x);
  nn::Sgd decays(ctx, {{"x", x}}, 0.5, {.weight_decay = 0.1});
  EXPECT_EQ(message_of([&] { decays.step(ctx); }), sparse + "weight_decay");
  nn::Adam climbs(ctx, {{"x", x}}, 0.5, {.maximize = true});
  EXPECT_EQ(message_of([&] { climbs.step(ctx); }), sparse + "maximize");
  EXPECT_EQ(elements_of(ctx, x), before);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message_of([&] { nn::Sgd(ctx, {}, nan); }), name + "learning_rate is nan, expected a finite number");
  EXPECT_EQ(message_of([&] { decays.set_learning_rate(ctx, nan); }),
            name + "learning_rate is nan, expected a finite number");
  EXPECT_EQ(message_of([&] { nn::Sgd(ctx, {{"y", ag::multiply(ctx, x, 2)}}, 1); }), name + "y is no leaf");
  if (has_type<float>()) {
    nn::LossScale scale(ctx);
    EXPECT_EQ(message_of([&] { nn::Sgd(ctx, {{"x", x}}, 0.5).step(ctx, scale); }), sparse + "a scale of the loss");
    const Variable y = variable_of(ctx, {1}, {1});
    set_grad(y, {1});
    EXPECT_EQ(message_of([&] { nn::Sgd(ctx, {{"y", y}}, 0.5).step(ctx, scale); }),
              name + "the parameters are of f64, with a scale of the loss, which is for 16-bit types");
    EXPECT_EQ(message_of([&] { scale.loss_grad(ctx, y); }),
              "portops::nn::LossScale::loss_grad: the loss is of f64, expected f32, f16 or bf16");
    EXPECT_EQ(
        message_of([&] { nn::LossScale(ctx, {.initial = 65536}); }).find("portops::nn::LossScale: initial is 65536"),
        0U);
  }
  if (has_type<bf16>()) {
    const Variable table = leaf_of<bf16>({1}, ag::Gradient::sparse);
    EXPECT_EQ(message_of([&] { nn::Sgd(ctx, {{"table", table}}, 0.5); }),
              name +
                  "table is of bf16 and wants a sparse gradient, expected f32 or f64, or has_masters = false: the "
                  "sparse steps have no masters");
  }
}

TEST_P(OptimizerTest, LossScale) {
  need_type<f16>();
  need_type<float>();
  const Variable x = leaf_of<f16>({1}), y = leaf_of<float>({1});
  nn::Adam optimizer(ctx, {{"x", x}, {"y", y}}, 0.5), plain(ctx, {{"y", y}}, 0.5);
  nn::LossScale scale(ctx, {.initial = 1024, .growth_interval = 2, .largest = 2048});
  EXPECT_THAT(names_of(scale.state()), ElementsAre("scale", "good_steps"));
  const Variable loss = ag::multiply(ctx, x, 0x1p-20);
  const Variable loss_grad = scale.loss_grad(ctx, loss);
  EXPECT_EQ(loss_grad.tensor().type(), ElementType::f16);
  EXPECT_EQ(static_cast<float>(elements_of<f16>(ctx, loss_grad)[0]), 1024);

  // A gradient of 2^-30, which f16 does not have.
  const auto give = [&](double factor) {
    optimizer.clear_grads();
    const double by = scale.value(ctx);
    set_grad_of<f16>(x, {factor * by});
    set_grad_of<float>(y, {0x1p-30 * by});
  };
  const auto powers = [&] { return elements_of(ctx, part(optimizer.state(), "beta1_pow.f16")); };
  const auto moment = [&] { return elements_of<float>(ctx, part(optimizer.state(), "moment1.x"))[0]; };
  give(0x1p-30);
  optimizer.step(ctx, scale);
  EXPECT_EQ(scale.value(ctx), 1024);
  EXPECT_EQ(powers(), Elements{0.9 * 0.9});
  EXPECT_FLOAT_EQ(moment(), 0.1F * 0x1p-30F);
  const std::vector<float> after = elements_of<float>(ctx, y);
  EXPECT_NEAR(after[0], 1 - 0.5 * 0x1p-30 / (0x1p-30 + 1e-8), 1e-6);

  // An Inf in one list skips all lists, and halves the scale.
  give(std::numeric_limits<double>::infinity());
  optimizer.step(ctx, scale);
  EXPECT_EQ(scale.value(ctx), 512);
  EXPECT_EQ(powers(), Elements{0.9 * 0.9});
  EXPECT_FLOAT_EQ(moment(), 0.1F * 0x1p-30F);
  EXPECT_EQ(elements_of<float>(ctx, y), after);
  give(0x1p-20);
  set_grad_of<float>(y, {std::numeric_limits<double>::quiet_NaN()});
  optimizer.step(ctx, scale);
  EXPECT_EQ(scale.value(ctx), 256);
  EXPECT_EQ(elements_of<float>(ctx, y), after);
  // Two good steps in a row double it, up to the largest.
  for (const double expected : {256, 512, 512, 1024, 1024, 2048, 2048, 2048}) {
    give(0x1p-20);
    optimizer.step(ctx, scale);
    EXPECT_EQ(scale.value(ctx), expected);
  }
  // Without a gradient nothing happens, and no step is counted as a good one.
  optimizer.clear_grads();
  optimizer.step(ctx, scale);
  EXPECT_EQ(elements_of<std::int64_t>(ctx, part(scale.state(), "good_steps")), std::vector<std::int64_t>{0});
  // It does not become 0.
  nn::LossScale least(ctx, {.initial = 0x1p-23});
  for (int step = 0; step < 3; ++step) {
    give(std::numeric_limits<double>::infinity());
    optimizer.step(ctx, least);
  }
  EXPECT_EQ(least.value(ctx), 0x1p-24);
}

PORTOPS_ON_EVERY_BACKEND(OptimizerTest);

}  // namespace
}  // namespace portops::test
