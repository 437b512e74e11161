// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/graph_support.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/graph/record.hpp>
#include <portops/graph/training_step.hpp>
#include <portops/nn/adam.hpp>
#include <portops/nn/batch_norm2d.hpp>
#include <portops/nn/conv2d.hpp>
#include <portops/nn/generator.hpp>
#include <portops/nn/linear.hpp>
#include <portops/nn/loss_scale.hpp>
#include <portops/nn/sgd.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/sum.hpp>

#include <functional>
#include <memory>
#include <optional>

// Programs that train: the step that add_training_step makes of an optimizer, beside what the tape and the optimizer
// do.

namespace portops::test {
namespace {

using ag::Variable;

struct Network : nn::Module {
  explicit Network(const Context& ctx, nn::Generator random = nn::Generator(3))
      : conv(ctx, random, 2, 6, {3, 3}, {.padding = {1, 1}}), norm(ctx, 6), linear(ctx, random, 6 * 6 * 6, 3) {}

  Variable loss(const Context& ctx, const Variable& x, const Variable& label) {
    const Variable y = ag::relu(ctx, norm(ctx, conv(ctx, x)));
    return ag::cross_entropy_with_softmax(ctx, linear(ctx, ag::reshape(ctx, y, {.shape = {0, -1}})), label);
  }
  void describe(nn::Members& members) override {
    members.module("conv", conv).module("norm", norm).module("linear", linear);
  }

  nn::Conv2d conv;
  nn::BatchNorm2d norm;
  nn::Linear linear;
};

class TrainingStepTest : public OnEveryBackend {
 protected:
  void SetUp() override {
    need_type<float>();
    ctx.deterministic(true);
  }

  /// Of a step.
  Tensor images(unsigned step) { return random_tensor<float>(ctx, {5, 2, 6, 6}, 100 + step); }
  Tensor labels(unsigned step) {
    std::vector<std::int64_t> all;
    for (unsigned i = 0; i < 5; ++i) all.push_back((i + step) % 3);
    return tensor_of(ctx, {5, 1}, all);
  }
};
PORTOPS_ON_EVERY_BACKEND(TrainingStepTest);

using MakeOptimizer = std::function<std::unique_ptr<nn::Optimizer>(const Context&, const nn::State&)>;

/// A network that learns by calls, and its like that learns by a program that add_training_step has made.
class Learners {
 public:
  Learners(const Context& ctx, const MakeOptimizer& make, const Tensor& x, const Tensor& label)
      : taped_(ctx),
        network_(ctx),
        taped_optimizer_(make(ctx, taped_.parameters())),
        optimizer_(make(ctx, network_.parameters())) {
    Network recorded(ctx);
    graph::Recorder recorder(ctx);
    const Variable images(x), labels(label);
    recorder.input("x", images);
    recorder.input("label", labels);
    recorder.inputs(recorded.state());
    const graph::ValueId loss = recorder.output("loss", recorded.loss(ctx, images, labels));
    graph::Program program = recorder.finish();
    graph::add_training_step(program, loss, *optimizer_);
    compiled_.emplace(ctx, program, graph::CompileParams::same_bits());
    execution_.emplace(ctx, *compiled_);
    for (const nn::NamedVariable& each : network_.state()) execution_->bind_input(each.name, each.variable.tensor());
    graph::bind_training_step(*execution_, *optimizer_);
  }

  const graph::CompiledProgram& compiled() const { return *compiled_; }
  graph::Execution& execution() { return *execution_; }

  void set_learning_rate(const Context& ctx, double rate) {
    taped_optimizer_->set_learning_rate(ctx, rate);
    optimizer_->set_learning_rate(ctx, rate);
  }
  void learn_by_tape(const Context& ctx, const Tensor& x, const Tensor& label) {
    learn(ctx, taped_, *taped_optimizer_, x, label);
  }
  void learn_by_program(const Context& ctx, const Tensor& x, const Tensor& label) {
    copy(ctx, x, execution_->input("x"));
    copy(ctx, label, execution_->input("label"));
    optimizer_->prepare_step(ctx);
    execution_->run();
    optimizer_->count_step();
  }
  /// Calls go on where the program has stopped, and the other way round.
  void learn_by_calls(const Context& ctx, const Tensor& x, const Tensor& label) {
    learn(ctx, network_, *optimizer_, x, label);
  }
  void expect_equal(const Context& ctx) {
    expect_equal(ctx, network_.state(), taped_.state());
    expect_equal(ctx, optimizer_->state(), taped_optimizer_->state());
  }

 private:
  static void learn(const Context& ctx, Network& network, nn::Optimizer& optimizer, const Tensor& x,
                    const Tensor& label) {
    ag::backward(ctx, network.loss(ctx, x, label));
    optimizer.step(ctx);
    optimizer.clear_grads();
  }
  static void expect_equal(const Context& ctx, const nn::State& found, const nn::State& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].name, expected[i].name);
      EXPECT_EQ(bytes_of(ctx, found[i].variable.tensor()), bytes_of(ctx, expected[i].variable.tensor()))
          << found[i].name;
    }
  }

  Network taped_, network_;
  std::unique_ptr<nn::Optimizer> taped_optimizer_, optimizer_;
  std::optional<graph::CompiledProgram> compiled_;
  std::optional<graph::Execution> execution_;
};

TEST_P(TrainingStepTest, AnAddedStepHasTheBitsOfItsOptimizer) {
  const auto sgd = [](const nn::SgdParams& params) -> MakeOptimizer {
    return [=](const Context& ctx, const nn::State& all) { return std::make_unique<nn::Sgd>(ctx, all, 0.1, params); };
  };
  const auto adam = [](const nn::AdamParams& params) -> MakeOptimizer {
    return [=](const Context& ctx, const nn::State& all) { return std::make_unique<nn::Adam>(ctx, all, 0.1, params); };
  };
  const std::vector<MakeOptimizer> optimizers{
      sgd({}), sgd({.momentum = 0.5, .use_nesterov = true, .weight_decay = 0.1}), adam({.beta1 = 0.8, .epsilon = 1e-3}),
      adam({.beta2 = 0.9, .weight_decay = 0.1, .decoupled_weight_decay = true, .maximize = true})};
  for (const MakeOptimizer& make : optimizers) {
    Learners learners(ctx, make, images(0), labels(0));
    EXPECT_EQ(learners.compiled().to_string().find("copy"), std::string::npos) << learners.compiled().to_string();
    for (unsigned step = 0; step < 6; ++step) {
      const Tensor x = images(step), label = labels(step);
      learners.set_learning_rate(ctx, 0.1 / (step + 1));
      learners.learn_by_tape(ctx, x, label);
      if (step == 2) {
        learners.learn_by_calls(ctx, x, label);
      } else {
        if (step == 3 && ctx.backend() == Backend::cuda) learners.execution().capture();
        learners.learn_by_program(ctx, x, label);
      }
      learners.expect_equal(ctx);
    }
  }
}

TEST_P(TrainingStepTest, AnAddedStepFollowsTheScaleOfItsLoss) {
  need_type<f16>();
  // Two element types; x is too large for f16 in some steps.
  struct Model {
    explicit Model(const Context& ctx)
        : half(tensor_of<f16>(ctx, {4}, {f16(1.0F), f16(-2.0F), f16(0.5F), f16(0.25F)}), ag::Gradient::wanted),
          scale(tensor_of<float>(ctx, {4}, {1.0F, 2.0F, 3.0F, 4.0F}), ag::Gradient::wanted),
          idle(tensor_of<float>(ctx, {2}, {7.0F, 8.0F}), ag::Gradient::wanted) {}
    Variable loss(const Context& ctx, const Variable& x) const {
      const auto norm =
          ag::batch_norm(ctx, ag::multiply(ctx, x, half), statistics(ctx), statistics(ctx), {.scale = scale});
      return ag::sum(ctx, ag::multiply(ctx, norm.out, x));
    }
    static Variable statistics(const Context& ctx) { return tensor_of<float>(ctx, {4}, {1, 1, 1, 1}); }
    nn::State parameters() const { return {{"half", half}, {"idle", idle}, {"scale", scale}}; }

    Variable half, scale, idle;
  };
  const auto images = [&](unsigned step) {
    std::vector<f16> all;
    for (unsigned i = 0; i < 12; ++i)
      all.push_back(f16(static_cast<float>((i * 7 + step) % 5) * (step == 2 ? 9000.0F : 1.0F)));
    return tensor_of<f16>(ctx, {3, 4}, all);
  };
  const Model taped(ctx), model(ctx);
  nn::Adam taped_optimizer(ctx, taped.parameters(), 0.01), optimizer(ctx, model.parameters(), 0.01);
  const nn::LossScaleParams params{.initial = 16, .growth_interval = 2};
  nn::LossScale taped_scale(ctx, params), scale(ctx, params);

  graph::Recorder recorder(ctx);
  const Variable x(images(0));
  recorder.input("x", x);
  recorder.inputs(model.parameters());
  const graph::ValueId loss = recorder.output("loss", model.loss(ctx, x));
  graph::Program program = recorder.finish();
  graph::add_training_step(program, loss, optimizer, &scale);
  graph::Execution execution(ctx, graph::CompiledProgram(ctx, program, graph::CompileParams::same_bits()));
  for (const nn::NamedVariable& each : model.parameters()) execution.bind_input(each.name, each.variable.tensor());
  graph::bind_training_step(execution, optimizer, &scale);
  std::vector<double> scales;
  for (unsigned step = 0; step < 7; ++step) {
    const Tensor given = images(step);
    const Variable taped_loss = taped.loss(ctx, given);
    ag::backward(ctx, taped_loss, {.loss_grads = {taped_scale.loss_grad(ctx, taped_loss)}});
    taped_optimizer.step(ctx, taped_scale);
    taped_optimizer.clear_grads();
    copy(ctx, given, execution.input("x"));
    optimizer.prepare_step(ctx);
    execution.run();
    optimizer.count_step();
    ASSERT_EQ(bytes_of(ctx, execution.output("loss")), bytes_of(ctx, taped_loss.tensor())) << step;
    const nn::State found = optimizer.state(), expected = taped_optimizer.state();
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(bytes_of(ctx, found[i].variable.tensor()), bytes_of(ctx, expected[i].variable.tensor()))
          << found[i].name << " after step " << step;
    }
    ASSERT_EQ(bytes_of(ctx, model.half.tensor()), bytes_of(ctx, taped.half.tensor())) << step;
    ASSERT_EQ(bytes_of(ctx, model.scale.tensor()), bytes_of(ctx, taped.scale.tensor())) << step;
    ASSERT_EQ(bytes_of(ctx, scale.state()[1].variable.tensor()),
              bytes_of(ctx, taped_scale.state()[1].variable.tensor()));
    scales.push_back(scale.value(ctx));
    ASSERT_EQ(scales.back(), taped_scale.value(ctx)) << step;
  }
  EXPECT_EQ(scales, (std::vector<double>{16, 32, 16, 16, 32, 32, 64}));
  EXPECT_EQ(elements_of<float>(ctx, model.idle), (std::vector<float>{7, 8}));
}

// A checkpoint that is loaded changes parameters, and the masters of a step must see it.
TEST_P(TrainingStepTest, MastersFollowWhatChangesParameters) {
  need_type<f16>();
  const Variable param(tensor_of<f16>(ctx, {2}, {f16(1.0F), f16(2.0F)}), ag::Gradient::wanted);
  nn::Sgd optimizer(ctx, {{"param", param}}, 0.5);
  graph::Program program;
  const graph::ValueId value = program.add_input("param", ElementType::f16, {2});
  const graph::ValueId loss = program.call("sum", {{"x", value}});
  graph::add_training_step(program, loss, optimizer);
  graph::Execution execution(ctx, graph::CompiledProgram(ctx, program));
  execution.bind_input("param", param.tensor());
  copy(ctx, tensor_of<f16>(ctx, {2}, {f16(8.0F), f16(2.0F)}), param.tensor());
  param.mark_changed("a checkpoint");
  graph::bind_training_step(execution, optimizer);
  const auto run = [&] {
    optimizer.prepare_step(ctx);
    execution.run();
    optimizer.count_step();
    return elements_of<f16>(ctx, param);
  };
  EXPECT_EQ(run(), (std::vector<f16>{f16(7.5F), f16(1.5F)}));
  copy(ctx, tensor_of<f16>(ctx, {2}, {f16(7.5F), f16(-4.0F)}), param.tensor());
  param.mark_changed("another one");
  EXPECT_EQ(run(), (std::vector<f16>{f16(7.0F), f16(-4.5F)}));
}

TEST_P(TrainingStepTest, StepsThatCannotBeAddedAreRefused) {
  const std::string who = "portops::graph::add_training_step: ";
  const Variable x(random_tensor<float>(ctx, {3}, 1), ag::Gradient::wanted);
  const nn::Sgd optimizer(ctx, {{"x", x}}, 0.5);
  const nn::LossScale scale(ctx);
  graph::Program program;
  const graph::ValueId other = program.add_input("other", ElementType::f32, {3});
  const graph::ValueId loss = program.call("sum", {{"x", other}});
  const auto message = [&](const graph::Program& from, graph::ValueId of, const nn::Optimizer& by,
                           const nn::LossScale* with = nullptr) {
    graph::Program changed = from;
    const std::string text = message_of([&] { graph::add_training_step(changed, of, by, with); });
    EXPECT_EQ(changed.to_string() == from.to_string(), !text.empty());
    return text;
  };
  EXPECT_EQ(message(program, loss, optimizer), who + "the program has no input x, a parameter of the optimizer");
  const graph::ValueId input = program.add_input("x", ElementType::f32, {3});
  EXPECT_EQ(message(program, loss, optimizer), who + "the loss sum_0 was made from none of the optimizer's parameters");
  const graph::ValueId own = program.call("sum", {{"x", input}});
  EXPECT_EQ(message(program, own, optimizer), "");
  EXPECT_EQ(message(program, own, optimizer, &scale), "");
  program.add_output("x", program.call("relu", {{"x", input}}), input);
  EXPECT_NE(message(program, own, optimizer).find("portops::graph::Program"), std::string::npos);

  graph::Program taken;
  taken.add_input("optimizer.learning_rate.f32", ElementType::f32, {});
  const graph::ValueId its = taken.call("sum", {{"x", taken.add_input("x", ElementType::f32, {3})}});
  EXPECT_NE(message(taken, its, optimizer).find("optimizer.learning_rate.f32"), std::string::npos);

  const Variable table(random_tensor<float>(ctx, {3, 2}, 1), ag::Gradient::sparse);
  const nn::Sgd sparse(ctx, {{"table", table}}, 0.5);
  EXPECT_EQ(message(program, own, sparse),
            "portops::nn::Optimizer::step_calls: table wants a sparse gradient, expected dense ones");

  graph::Program of_other_extents;
  const graph::ValueId wrong =
      of_other_extents.call("sum", {{"x", of_other_extents.add_input("x", ElementType::f32, {2})}});
  EXPECT_EQ(message(of_other_extents, wrong, optimizer),
            who + "the input x is f32 [2], but the optimizer's parameter f32 [3]");
  graph::Program of_scale;
  of_scale.add_input("loss_scale.scale", ElementType::f32, {});
  const graph::ValueId scaled = of_scale.call("sum", {{"x", of_scale.add_input("x", ElementType::f32, {3})}});
  EXPECT_NE(message(of_scale, scaled, optimizer, &scale).find("loss_scale.scale"), std::string::npos);

  need_type<double>();
  const Variable wide(random_tensor<double>(ctx, {3}, 1), ag::Gradient::wanted);
  const nn::Sgd of_wide(ctx, {{"wide", wide}}, 0.5);
  graph::Program widened;
  const graph::ValueId wide_loss = widened.call("sum", {{"x", widened.add_input("wide", ElementType::f64, {3})}});
  EXPECT_EQ(message(widened, wide_loss, of_wide, &scale),
            who + "the loss sum_0 is of f64, with a scale of the loss, which is for 16-bit types");
}

TEST_P(TrainingStepTest, ProgramsOfOthersAreNotBound) {
  const Variable x(random_tensor<float>(ctx, {3}, 1), ag::Gradient::wanted);
  nn::Sgd sgd(ctx, {{"x", x}}, 0.5);
  nn::Adam adam(ctx, {{"x", x}}, 0.5);
  const nn::LossScale scale(ctx);
  const auto made_for = [&](const nn::Optimizer& optimizer, const nn::LossScale* with) {
    graph::Program program;
    const graph::ValueId loss = program.call("sum", {{"x", program.add_input("x", ElementType::f32, {3})}});
    graph::add_training_step(program, loss, optimizer, with);
    return graph::Execution(ctx, graph::CompiledProgram(ctx, program));
  };
  const auto message = [&](graph::Execution execution, const nn::Optimizer& optimizer, const nn::LossScale* with) {
    return message_of([&] { graph::bind_training_step(execution, optimizer, with); });
  };
  const std::string who = "portops::graph::bind_training_step: ";
  EXPECT_EQ(message(made_for(adam, &scale), adam, &scale), "");
  EXPECT_EQ(message(made_for(sgd, nullptr), sgd, nullptr), "");
  EXPECT_EQ(message(made_for(sgd, nullptr), adam, nullptr),
            who + "the program has no input optimizer.moment1.x: it is another optimizer's");
  EXPECT_EQ(message(made_for(sgd, &scale), sgd, nullptr),
            who +
                "the program has 3 inputs for the numbers of an optimizer and a scale of the loss, but the optimizer, "
                "without a scale, has 1");
}

}  // namespace
}  // namespace portops::test
