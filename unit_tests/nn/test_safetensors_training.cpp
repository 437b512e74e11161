// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/nn/adam.hpp>
#include <portops/nn/batch_norm2d.hpp>
#include <portops/nn/conv2d.hpp>
#include <portops/nn/deform_conv2d.hpp>
#include <portops/nn/generator.hpp>
#include <portops/nn/linear.hpp>
#include <portops/nn/loss_scale.hpp>
#include <portops/nn/safetensors.hpp>
#include <portops/nn/schedule.hpp>
#include <portops/ops/adam.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/count_nonfinite.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/dropout.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/mean.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/sigmoid.hpp>
#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/split.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

// Training that is taken up again from a file: the same bits, on every backend.

namespace portops::test {
namespace {

using nn::Variable;

struct Network : nn::Module {
  Network(const Context& ctx, nn::Generator& its_random, ElementType type)
      : random(its_random),
        conv(ctx, random, 1, 4, {3, 3}, {.padding = {1, 1}, .bias = false, .type = type}),
        norm(ctx, 4),
        deform(ctx, random, 4, 6, {3, 3}, {.padding = {1, 1}, .type = type}),
        head(ctx, random, 6, 3, {.type = type}) {}

  Variable operator()(const Context& ctx, const Variable& x) {
    Variable y = ag::relu(ctx, norm(ctx, conv(ctx, x)));
    y = ag::mean(ctx, ag::relu(ctx, deform(ctx, y)), {.axis = {2, 3}});
    if (is_training()) {
      y = ag::dropout(ctx, y, {.p = 0.2, .seed = random.seed(), .offset = random.next_offset()});
    }
    return head(ctx, y);
  }
  void describe(nn::Members& members) override {
    members.module("conv", conv).module("norm", norm).module("deform", deform).module("head", head);
  }

  nn::Generator& random;
  nn::Conv2d conv;
  nn::BatchNorm2d norm;
  nn::DeformConv2dPack deform;
  nn::Linear head;
};

class TrainingTest : public OnEveryBackend {
 protected:
  void SetUp() override {
    for_each_type([&]<class T>() { types.push_back(ElementTypeOf<T>::value); });
    need_type<float>();
    need_type<f16>();
    ctx.deterministic(true);
    folder = std::filesystem::temp_directory_path() / ("portops_training_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// All that changes while a network is trained.
  struct Run {
    Run(const Context& its_ctx, ElementType its_type, std::int64_t seed)
        : ctx(its_ctx),
          type(its_type),
          random(seed),
          network(ctx, random, type),
          optimizer(ctx, network.parameters(), 0.01),
          scale(ctx, {.growth_interval = 2}) {}

    /// Classes by the mean of an image.
    double step() {
      nn::Generator data(100 + steps);
      const Variable x = uniform(ctx, data, type, {6, 1, 5, 5}, 1, ag::Gradient::none);
      const Variable label = tensor_of<std::int64_t>(ctx, {6, 1}, {0, 1, 2, 0, 1, 2});
      const Variable loss = ag::cross_entropy_with_softmax(ctx, network(ctx, x), label);
      ag::backward(ctx, loss, {.loss_grads = {scale.loss_grad(ctx, loss)}});
      optimizer.set_learning_rate(ctx, schedule(steps++));
      optimizer.step(ctx, scale);
      network.clear_grads();
      return scale.value(ctx);
    }
    nn::State state() {
      nn::State all{{"step", Variable(TensorRef(&steps, {}))}};
      append(all, "model.", network.state());
      append(all, "optimizer.", optimizer.state());
      append(all, "loss_scale.", scale.state());
      append(all, "random.", random.state());
      return all;
    }

    Context ctx;
    ElementType type;
    nn::Generator random;
    Network network;
    nn::Adam optimizer;
    nn::LossScale scale;
    nn::Schedule schedule = nn::warm_up(2, nn::cosine_schedule(0.02, 6));
    std::int64_t steps = 0;
  };
  std::string bytes(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  std::vector<ElementType> types;
  std::filesystem::path folder;
};

TEST_P(TrainingTest, TakenUpAgain) {
  for (const ElementType type : types) {
    if (type == ElementType::f64) continue;  // no loss of f64 has a scale
    SCOPED_TRACE(name_of(type));
    Run whole(ctx, type, 3);
    for (int step = 0; step < 3; ++step) whole.step();
    nn::save(ctx, folder / "half", whole.state(), {{"epoch", "1"}});
    for (int step = 0; step < 3; ++step) whole.step();
    nn::save(ctx, folder / "whole", whole.state());

    Run again(ctx, type, 99);
    EXPECT_EQ(nn::load(ctx, folder / "half", again.state()), (nn::Metadata{{"epoch", "1"}}));
    EXPECT_EQ(again.steps, 3);
    EXPECT_EQ(again.random.seed(), 3);
    for (int step = 0; step < 3; ++step) again.step();
    nn::save(ctx, folder / "again", again.state());
    EXPECT_EQ(bytes(folder / "again"), bytes(folder / "whole"));

    // For evaluation the network alone.
    nn::Generator random(5);
    Network network(ctx, random, type);
    nn::load(ctx, folder / "whole", network.state(), {.prefix = "model.", .unused = network.unused()});
    network.train(false);
    whole.network.train(false);
    const Variable x = uniform(ctx, random, type, {2, 1, 5, 5}, 1, ag::Gradient::none);
    const auto bits = [&](const Variable& out) {
      std::vector<std::byte> all(static_cast<std::size_t>(out.tensor().size()) * size_of(type));
      copy(ctx, out.tensor(),
           TensorRef(all.data(), type, out.tensor().extents(), out.tensor().extents().row_major_strides(),
                     MemorySpace::host));
      ctx.fence();
      return all;
    };
    EXPECT_EQ(bits(network(ctx, x)), bits(whole.network(ctx, x)));
  }
}

// Weights that are loaded into the network alone are what the next step begins with, whatever was learnt before.
TEST_P(TrainingTest, TheNetworkAloneIsLoaded) {
  for (const ElementType type : types) {
    if (type == ElementType::f64) continue;
    SCOPED_TRACE(name_of(type));
    Run source(ctx, type, 3), run(ctx, type, 99);
    nn::save(ctx, folder / "loaded", source.network.parameters());
    for (const int steps : {0, 2}) {
      for (int step = 0; step < steps; ++step) run.step();
      nn::load(ctx, folder / "loaded", run.network.parameters());
      run.schedule = nn::constant_schedule(0);
      run.step();
      run.schedule = nn::constant_schedule(0.02);
      nn::save(ctx, folder / "after", run.network.parameters());
      EXPECT_EQ(bytes(folder / "after"), bytes(folder / "loaded")) << "after " << steps << " steps";
    }
  }
}

// What is learnt: the loss falls.
TEST_P(TrainingTest, Learns) {
  nn::Generator random(1);
  Network network(ctx, random, ElementType::f32);
  nn::Adam optimizer(ctx, network.parameters(), 0.02);
  std::vector<float> images(12 * 25);
  std::vector<std::int64_t> labels(12);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::size_t label = i / 25 % 3;
    labels[i / 25] = static_cast<std::int64_t>(label);
    images[i] = i % 25 / 5 == label + 1 ? 1.0F : 0.0F;  // a line across, in one of three rows
  }
  const Variable x = tensor_of(ctx, {12, 1, 5, 5}, images), label = tensor_of(ctx, {12, 1}, labels);
  std::vector<float> losses;
  for (int step = 0; step < 60; ++step) {
    const Variable loss = ag::cross_entropy_with_softmax(ctx, network(ctx, x), label);
    ag::backward(ctx, loss);
    optimizer.step(ctx);
    optimizer.clear_grads();
    losses.push_back(elements_of<float>(ctx, loss)[0]);
  }
  EXPECT_LT(losses.back(), 0.5 * losses.front());
}

PORTOPS_ON_EVERY_BACKEND(TrainingTest);

}  // namespace
}  // namespace portops::test
