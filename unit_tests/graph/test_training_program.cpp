// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/graph_support.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/graph/differentiate.hpp>
#include <portops/graph/record.hpp>
#include <portops/nn/adam.hpp>
#include <portops/nn/batch_norm2d.hpp>
#include <portops/nn/conv2d.hpp>
#include <portops/nn/generator.hpp>
#include <portops/nn/linear.hpp>
#include <portops/ops/adam.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/layer_norm.hpp>
#include <portops/ops/lerp.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/matmul.hpp>
#include <portops/ops/mean.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/p_norm.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/slice.hpp>
#include <portops/ops/softmax.hpp>
#include <portops/ops/sparse_sgd.hpp>
#include <portops/ops/split.hpp>
#include <portops/ops/sum.hpp>
#include <portops/ops/transpose.hpp>

// A step of training as one program: recorded, differentiated, with the optimizer's step, bit for bit what the tape and
// nn::Adam give.

namespace portops::test {
namespace {

using ag::Variable;

struct Network : nn::Module {
  Network(const Context& ctx, nn::Generator& random)
      : first(ctx, random, 2, 6, {3, 3}, {.padding = {1, 1}}),
        norm(ctx, 6),
        second(ctx, random, 6, 6, {3, 3}, {.padding = {1, 1}}),
        weight(uniform(ctx, random, {6 * 4 * 4, 3})),
        bias(uniform(ctx, random, {3})) {}

  static Variable uniform(const Context& ctx, nn::Generator& random, const Extents& extents) {
    return nn::uniform(ctx, random, ElementType::f32, extents, 0.1);
  }

  Variable operator()(const Context& ctx, const Variable& x) {
    const Variable y = ag::relu(ctx, norm(ctx, first(ctx, x)));
    const Variable z = ag::add(ctx, ag::gelu(ctx, second(ctx, y)), y);  // y has two gradients
    const Variable pooled = ag::pool2d(ctx, z, {.kernel_size = {2, 2}, .pooltype = "max"});
    return ag::linear(ctx, ag::reshape(ctx, pooled, {.shape = {0, -1}}), weight, {.bias = bias});
  }
  Variable loss(const Context& ctx, const Variable& x, const Variable& label) {
    return ag::cross_entropy_with_softmax(ctx, (*this)(ctx, x), label);
  }
  void describe(nn::Members& members) override {
    members.module("first", first).module("norm", norm).module("second", second);
    members.parameter("weight", weight).parameter("bias", bias);
  }

  nn::Conv2d first;
  nn::BatchNorm2d norm;
  nn::Conv2d second;
  Variable weight, bias;
};

class TrainingProgramTest : public OnEveryBackend {
 protected:
  void SetUp() override {
    need_type<float>();
    ctx.deterministic(true);
  }

  Tensor zeros(ElementType type, const Extents& extents, double number = 0.0) {
    if (type == ElementType::f64) {
      return tensor_of(ctx, extents, std::vector<double>(static_cast<std::size_t>(extents.product()), number));
    }
    return tensor_of(ctx, extents,
                     std::vector<float>(static_cast<std::size_t>(extents.product()), static_cast<float>(number)));
  }
  /// Of a step.
  Tensor images(unsigned step) { return random_tensor<float>(ctx, {5, 2, 8, 8}, 100 + step); }
  Tensor labels(unsigned step) {
    std::vector<std::int64_t> all;
    for (unsigned i = 0; i < 5; ++i) all.push_back((i + step) % 3);
    return tensor_of(ctx, {5, 1}, all);
  }
};

/// The step of Adam for these parameters and gradients; what it keeps are inputs, and results left in them.
void add_adam(graph::Program& program, const std::vector<graph::ValueId>& parameters,
              const std::vector<graph::ValueId>& gradients) {
  std::vector<graph::ValueId> moment1, moment2;
  for (const graph::ValueId parameter : parameters) {
    const graph::ValueInfo info = program.value(parameter);
    moment1.push_back(program.add_input(info.name + ".moment1", info.type, info.extents));
    moment2.push_back(program.add_input(info.name + ".moment2", info.type, info.extents));
  }
  const graph::ValueId rate = program.add_input("learning_rate", ElementType::f32, {});
  const graph::ValueId beta1 = program.add_input("beta1_pow", ElementType::f64, {});
  const graph::ValueId beta2 = program.add_input("beta2_pow", ElementType::f64, {});
  const graph::Call step = program.add_call({.op = "adam",
                                             .inputs = {{"param", parameters},
                                                        {"grad", gradients},
                                                        {"moment1", moment1},
                                                        {"moment2", moment2},
                                                        {"learning_rate", rate},
                                                        {"beta1_pow", beta1},
                                                        {"beta2_pow", beta2}},
                                             .wanted = {"beta1_pow_out", "beta2_pow_out"}});
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string name = program.value(parameters[i]).name;
    program.add_output(name, step.results("param_out")[i], parameters[i]);
    program.add_output(name + ".moment1", step.results("moment1_out")[i], moment1[i]);
    program.add_output(name + ".moment2", step.results("moment2_out")[i], moment2[i]);
  }
  program.add_output("beta1_pow", step.result("beta1_pow_out"), beta1);
  program.add_output("beta2_pow", step.result("beta2_pow_out"), beta2);
}

TEST_P(TrainingProgramTest, AStepIsOneProgramWithTheBitsOfTheTape) {
  nn::Generator random(3), same(3);
  Network taped(ctx, random), recorded(ctx, same);

  graph::Program program;
  std::vector<graph::ValueId> parameters;
  {
    graph::Recorder recorder(ctx);
    const Variable x(images(0)), label(labels(0));
    recorder.input("x", x);
    recorder.input("label", label);
    recorder.inputs(recorded.state());
    const Variable loss = recorded.loss(ctx, x, label);
    const graph::ValueId value = recorder.output("loss", loss);
    program = recorder.finish();
    for (const nn::NamedVariable& each : recorded.parameters()) parameters.push_back(program.find(each.name));
    add_adam(program, parameters, graph::differentiate(program, value, parameters));
  }
  // The recording was a forward pass: the statistics begin anew.
  nn::Generator again(3);
  Network fresh(ctx, again);

  for (const bool poison : {false, true}) {
    const graph::CompiledProgram compiled(ctx, program, graph::CompileParams::same_bits());
    EXPECT_LE(static_cast<double>(compiled.arena_bytes()), 1.1 * static_cast<double>(compiled.live_bytes()))
        << compiled.to_string();
    // Every parameter's step is in place: nothing is copied.
    EXPECT_EQ(compiled.to_string().find("copy"), std::string::npos) << compiled.to_string();
    graph::Execution execution(ctx, compiled, {.poison = poison});
    nn::Generator begin(3);
    Network network(ctx, begin);
    nn::Adam adam(ctx, network.parameters(), 0.01);
    for (const nn::NamedVariable& each : fresh.state()) {
      copy(ctx, each.variable.tensor(), execution.input(each.name));
    }
    for (const nn::NamedVariable& each : fresh.parameters()) {
      for (const char* moment : {".moment1", ".moment2"}) {
        copy(ctx, zeros(ElementType::f32, each.variable.tensor().extents()), execution.input(each.name + moment));
        ctx.fence();
      }
    }
    const Tensor rate = zeros(ElementType::f32, {}, 0.01), beta1 = zeros(ElementType::f64, {}, 0.9),
                 beta2 = zeros(ElementType::f64, {}, 0.999);
    copy(ctx, rate, execution.input("learning_rate"));
    copy(ctx, beta1, execution.input("beta1_pow"));
    copy(ctx, beta2, execution.input("beta2_pow"));
    for (unsigned step = 0; step < 4; ++step) {
      const Tensor x = images(step), label = labels(step);
      const Variable loss = network.loss(ctx, x, label);
      ag::backward(ctx, loss);
      adam.step(ctx);
      network.clear_grads();

      copy(ctx, x, execution.input("x"));
      copy(ctx, label, execution.input("label"));
      execution.run();
      ASSERT_EQ(bytes_of(ctx, execution.output("loss")), bytes_of(ctx, loss.tensor())) << "step " << step;
      for (const nn::NamedVariable& each : network.state()) {
        ASSERT_EQ(bytes_of(ctx, execution.input(each.name)), bytes_of(ctx, each.variable.tensor()))
            << each.name << " after step " << step;
      }
    }
  }
}

TEST_P(TrainingProgramTest, GradientsHaveTheBitsOfTheTape) {
  // What the program above does not have: lists, layouts, reductions, operands of one value, a table, ragged tensors.
  const Variable x(random_tensor<float>(ctx, {4, 6}, 1), ag::Gradient::wanted);
  const Variable table(random_tensor<float>(ctx, {7, 3}, 2), ag::Gradient::wanted);
  const Variable ids(tensor_of<std::int64_t>(ctx, {5}, {1, 6, 1, 0, 3}));
  const Variable ragged(random_tensor<float>(ctx, {5, 3}, 3), Levels::from_lengths({2, 0, 3}), ag::Gradient::wanted);
  graph::Recorder recorder(ctx);
  const std::vector<std::pair<std::string, Variable>> leaves = {{"x", x}, {"table", table}, {"ragged", ragged}};
  for (const auto& [name, leaf] : leaves) recorder.input(name, leaf);
  const std::vector<Variable> parts = ag::split(ctx, ag::transpose(ctx, x, {.perm = {1, 0}}), {.sections = {2, 4}});
  const Variable joined = ag::concat(ctx, {parts[1], parts[1]}, {.axis = 1});  // parts[0] has no gradient
  const Variable square = ag::multiply(ctx, joined, joined);
  const Variable product = ag::matmul(ctx, square, square, {.transpose_y = true});
  const Variable norm = ag::p_norm(ctx, ag::softmax(ctx, product), {.axis = {0}});
  const Variable rows = ag::multiply(ctx, ag::embedding(ctx, table, ids), ragged);
  const Variable looked_up = ag::layer_norm(ctx, ag::add(ctx, rows, 0.5)).out;
  const Variable pooled = ag::sequence_pool(ctx, ag::relu(ctx, ragged), {.pooltype = "max"});
  const Variable loss = ag::add(
      ctx, ag::add(ctx, ag::sum(ctx, ag::lerp(ctx, norm, ag::mean(ctx, looked_up), 0.25)), ag::sum(ctx, pooled)),
      ag::sum(ctx, ag::slice(ctx, x, {.axes = {0}, .starts = {1}, .ends = {3}})));
  const graph::ValueId value = recorder.output("loss", loss);
  graph::Program program = recorder.finish();
  std::vector<graph::ValueId> variables;
  for (const auto& [name, leaf] : leaves) variables.push_back(program.find(name));
  const std::vector<graph::ValueId> gradients = graph::differentiate(program, value, variables);
  for (std::size_t i = 0; i < leaves.size(); ++i) program.add_output(leaves[i].first + "_grad", gradients[i]);

  ag::backward(ctx, loss);
  graph::Execution execution(ctx, graph::CompiledProgram(ctx, program, graph::CompileParams::same_bits()),
                             {.poison = true});
  for (const auto& [name, leaf] : leaves) execution.bind_input(name, leaf.tensor());
  execution.run();
  EXPECT_EQ(bytes_of(ctx, execution.output("loss")), bytes_of(ctx, loss.tensor()));
  for (const auto& [name, leaf] : leaves) {
    EXPECT_EQ(bytes_of(ctx, execution.output(name + "_grad")), bytes_of(ctx, leaf.grad().tensor())) << name;
  }
}

TEST_P(TrainingProgramTest, TheModuleLinear) {
  nn::Generator random(7);
  nn::Linear linear(ctx, random, 24, 5);
  const Variable x(random_tensor<float>(ctx, {9, 24}, 1), ag::Gradient::wanted);
  graph::Recorder recorder(ctx);
  recorder.input("x", x);
  recorder.inputs(linear.state());
  const Variable loss = ag::sum(ctx, ag::multiply(ctx, linear(ctx, x), linear(ctx, x)));
  const graph::ValueId value = recorder.output("loss", loss);
  graph::Program program = recorder.finish();
  const std::vector<graph::ValueId> gradients =
      graph::differentiate(program, value, {program.find("x"), program.find("weight"), program.find("bias")});
  const std::vector<Variable> leaves{x, linear.weight, linear.bias};
  for (std::size_t i = 0; i < leaves.size(); ++i) program.add_output("gradient" + std::to_string(i), gradients[i]);
  graph::Execution execution(ctx, graph::CompiledProgram(ctx, program, graph::CompileParams::same_bits()));
  execution.bind_input("x", x.tensor());
  for (const nn::NamedVariable& each : linear.state()) execution.bind_input(each.name, each.variable.tensor());
  execution.run();
  ag::backward(ctx, loss);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const TensorRef found = execution.output("gradient" + std::to_string(i));
    EXPECT_EQ(bytes_of(ctx, found), bytes_of(ctx, leaves[i].grad().tensor())) << i;
  }
}

TEST_P(TrainingProgramTest, WhatHasNoGradientIsRefused) {
  graph::Program program;
  const graph::ValueId x = program.add_input("x", ElementType::f32, {4, 2});
  const graph::ValueId ids = program.add_input("ids", ElementType::i64, {4});
  const graph::ValueId grad = program.add_input("grad", ElementType::f32, {4, 2});
  const graph::ValueId step =
      program.call("sparse_sgd", {{"param", x}, {"rows", ids}, {"values", grad}}, {{"learning_rate", 1.0}});
  const graph::ValueId loss = program.call("sum", {{"x", step}});
  const std::string before = program.to_string();
  const auto message = [&](graph::ValueId of, graph::ValueId variable, graph::ValueId loss_grad = {}) {
    return message_of([&] { graph::differentiate(program, of, {variable}, loss_grad); });
  };
  EXPECT_EQ(message(loss, x),
            "portops::graph::differentiate: call 0: sparse_sgd has no gradient, but the loss depends on its param");
  EXPECT_EQ(message(loss, ids),
            "portops::graph::differentiate: ids holds indices, expected a variable with a gradient");
  EXPECT_EQ(message(x, x),
            "portops::graph::differentiate: the loss x has extents [4, 2], expected one element or a loss_grad");
  EXPECT_EQ(message(x, x, loss), "portops::graph::differentiate: loss_grad is f32 [], but the loss x f32 [4, 2]");
  EXPECT_EQ(program.to_string(), before);
  // The gradient of itself is what is given; of what the loss was not made from there is none.
  EXPECT_EQ(graph::differentiate(program, x, {x, grad}, grad), (std::vector<graph::ValueId>{grad, {}}));
}

PORTOPS_ON_EVERY_BACKEND(TrainingProgramTest);

}  // namespace
}  // namespace portops::test
