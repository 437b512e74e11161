// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/check_gradients.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/graph/record.hpp>
#include <portops/nn/batch_norm2d.hpp>
#include <portops/nn/conv2d.hpp>
#include <portops/nn/deform_conv2d.hpp>
#include <portops/nn/embedding.hpp>
#include <portops/nn/generator.hpp>
#include <portops/nn/layer_norm.hpp>
#include <portops/nn/linear.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/layer_norm.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/sigmoid.hpp>
#include <portops/ops/split.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace portops::test {
namespace {

using Elements = std::vector<double>;
using nn::Variable;
using testing::ElementsAre;

std::vector<std::string> names_of(const nn::State& state) {
  std::vector<std::string> names;
  for (const nn::NamedVariable& each : state) names.push_back(each.name);
  return names;
}

class ModulesTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<double>(); }

  /// Checks the gradients of x and of all parameters of a module that computes out = call(x).
  template <class Call>
  void check(const Variable& x, nn::Module& module, const std::vector<Variable*>& members, Call&& call) {
    std::vector<Variable> variables{x};
    for (const Variable* each : members) variables.push_back(*each);
    ASSERT_EQ(members.size(), module.parameters().size());
    const std::vector<Variable> before(variables.begin() + 1, variables.end());
    ag::check_gradients(
        ctx,
        [&](const std::vector<Variable>& copies) {
          for (std::size_t i = 0; i < members.size(); ++i) *members[i] = copies[i + 1];
          return call(copies[0]);
        },
        variables);
    for (std::size_t i = 0; i < members.size(); ++i) *members[i] = before[i];
  }

  nn::Generator random{7};
  static constexpr ElementType f64 = ElementType::f64;
};

struct Block : nn::Module {
  Block(const Context& ctx, nn::Generator& random)
      : conv(ctx, random, 1, 2, {3, 3}, {.bias = false, .type = ElementType::f64}),
        norm(ctx, 2, {.type = ElementType::f64}) {}
  void describe(nn::Members& members) override { members.module("conv", conv).module("norm", norm); }

  nn::Conv2d conv;
  nn::BatchNorm2d norm;
};

struct Network : nn::Module {
  Network(const Context& ctx, nn::Generator& random) : head(ctx, random, 2, 3, {.type = ElementType::f64}) {
    for (int i = 0; i < 2; ++i) layers.emplace_back(ctx, random);
  }
  void describe(nn::Members& members) override {
    members.modules("layers", layers).module(twice ? "layers.0.conv" : "head", head);
  }

  std::vector<Block> layers;
  nn::Linear head;
  bool twice = false;
};

TEST_P(ModulesTest, Names) {
  Network network(ctx, random);
  EXPECT_THAT(names_of(network.parameters()),
              ElementsAre("layers.0.conv.weight", "layers.0.norm.weight", "layers.0.norm.bias", "layers.1.conv.weight",
                          "layers.1.norm.weight", "layers.1.norm.bias", "head.weight", "head.bias"));
  EXPECT_THAT(
      names_of(network.state()),
      ElementsAre("layers.0.conv.weight", "layers.0.norm.weight", "layers.0.norm.bias", "layers.0.norm.running_mean",
                  "layers.0.norm.running_var", "layers.1.conv.weight", "layers.1.norm.weight", "layers.1.norm.bias",
                  "layers.1.norm.running_mean", "layers.1.norm.running_var", "head.weight", "head.bias"));
  EXPECT_THAT(network.unused(), ElementsAre("layers.0.norm.num_batches_tracked", "layers.1.norm.num_batches_tracked"));
  network.twice = true;
  EXPECT_EQ(message_of([&] { network.parameters(); }), "portops::nn: two tensors are named layers.0.conv.weight");
  nn::State all;
  append(all, "a.", {{"x", network.head.weight}});
  append(all, "b.", {{"x", network.head.weight}});
  EXPECT_THAT(names_of(all), ElementsAre("a.x", "b.x"));
  EXPECT_EQ(message_of([&] { append(all, "a.", {{"x", network.head.weight}}); }),
            "portops::nn: two tensors are named a.x");
}

TEST_P(ModulesTest, TrainingAndGradients) {
  Network network(ctx, random);
  EXPECT_TRUE(network.layers[1].norm.is_training());
  network.train(false);
  EXPECT_FALSE(network.is_training() || network.layers[0].is_training() || network.layers[1].norm.is_training());
  network.train();
  EXPECT_TRUE(network.is_training() && network.layers[0].is_training() && network.layers[1].norm.is_training());
  const Variable x = random_variable(ctx, {2, 2}, 1);
  ag::backward(ctx, network.head(ctx, x), {.loss_grads = {random_variable(ctx, {2, 3}, 2, ag::Gradient::none)}});
  EXPECT_TRUE(network.head.weight.grad());
  network.clear_grads();
  EXPECT_FALSE(network.head.weight.grad() || network.head.bias.grad());
}

TEST_P(ModulesTest, Linear) {
  nn::Linear linear(ctx, random, 3, 4, {.type = f64});
  EXPECT_EQ(linear.weight.tensor().extents(), Extents({4, 3}));
  const Variable x = random_variable(ctx, {2, 2, 3}, 1);
  const Variable out = linear(ctx, x);
  ASSERT_EQ(out.tensor().extents(), Extents({2, 2, 4}));
  const Elements values = elements_of(ctx, x), weight = elements_of(ctx, linear.weight),
                 bias = elements_of(ctx, linear.bias), found = elements_of(ctx, out);
  for (std::size_t i = 0; i < found.size(); ++i) {
    double sum = bias[i % 4];
    for (std::size_t k = 0; k < 3; ++k) sum += values[i / 4 * 3 + k] * weight[i % 4 * 3 + k];
    EXPECT_NEAR(found[i], sum, 1e-13) << i;
  }
  check(x, linear, {&linear.weight, &linear.bias}, [&](const Variable& copy) { return linear(ctx, copy); });
  nn::Linear no_bias(ctx, random, 3, 4, {.bias = false, .type = f64});
  check(x, no_bias, {&no_bias.weight}, [&](const Variable& copy) { return no_bias(ctx, copy); });
  // A gradient lies as the weight does.
  ag::backward(ctx, linear(ctx, x), {.loss_grads = {random_variable(ctx, {2, 2, 4}, 2, ag::Gradient::none)}});
  EXPECT_EQ(linear.weight.grad().tensor().strides(), linear.weight.tensor().strides());
  EXPECT_NE(message_of([&] { linear(ctx, random_variable(ctx, {2, 4}, 1)); }).find("portops::linear: "),
            std::string::npos);
  no_bias.weight = random_variable(ctx, {3}, 1);
  EXPECT_NE(message_of([&] { no_bias(ctx, x); }).find("portops::linear: "), std::string::npos);
  no_bias.weight = {};
  EXPECT_EQ(message_of([&] { no_bias(ctx, x); }), "portops::linear: weight is empty, expected a tensor");
  EXPECT_EQ(message_of([&] { nn::Linear(ctx, random, -1, 4); }),
            "portops::nn::Linear: in_features is -1, expected 0 or more");
}

TEST_P(ModulesTest, Conv2d) {
  nn::Conv2d conv(ctx, random, 4, 6, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .groups = 2, .type = f64});
  EXPECT_EQ(conv.weight.tensor().extents(), Extents({6, 2, 3, 2}));
  const Variable x = random_variable(ctx, {2, 4, 4, 3}, 1);
  const Variable out = conv(ctx, x);
  ASSERT_EQ(out.tensor().extents(), Extents({2, 6, 2, 2}));
  const Elements values = elements_of(ctx, x), weight = elements_of(ctx, conv.weight),
                 bias = elements_of(ctx, conv.bias), found = elements_of(ctx, out);
  for (int i = 0; i < 48; ++i) {
    const int n = i / 24, m = i / 4 % 6, row = i / 2 % 2, column = i % 2;
    double sum = bias[static_cast<std::size_t>(m)];
    for (int c = 0; c < 2; ++c) {
      for (int k = 0; k < 3; ++k) {
        for (int l = 0; l < 2; ++l) {
          const int v = 2 * row - 1 + k, u = column + l;
          if (v < 0 || v >= 4) continue;
          sum += weight[static_cast<std::size_t>(((m * 2 + c) * 3 + k) * 2 + l)] *
                 values[static_cast<std::size_t>(((n * 4 + m / 3 * 2 + c) * 4 + v) * 3 + u)];
        }
      }
    }
    EXPECT_NEAR(found[static_cast<std::size_t>(i)], sum, 1e-13) << i;
  }
  check(x, conv, {&conv.weight, &conv.bias}, [&](const Variable& copy) { return conv(ctx, copy); });
  EXPECT_EQ(message_of([&] { nn::Conv2d(ctx, random, 4, 6, {3, 3}, {.groups = 3}); }),
            "portops::nn::Conv2d: groups is 3, expected a divisor of in_channels, 4");
}

TEST_P(ModulesTest, DeformConv2d) {
  nn::DeformConv2d conv(ctx, random, 2, 3, {2, 2}, {.type = f64});
  const Variable x = random_variable(ctx, {1, 2, 3, 4}, 1);
  const Variable offset = random_variable(ctx, {1, 8, 2, 3}, 2), mask = random_variable(ctx, {1, 4, 2, 3}, 3);
  // As the operator itself, bit for bit.
  TestTensor<double> expected(ctx, {1, 3, 2, 3});
  portops::deform_conv2d(ctx, x.tensor(), offset.tensor(), conv.weight.tensor(), expected,
                         {.mask = mask.tensor(), .bias = conv.bias.tensor()});
  EXPECT_EQ(elements_of(ctx, conv(ctx, x, offset, mask)), elements_of<double>(ctx, expected.ref()));
  check(x, conv, {&conv.weight, &conv.bias}, [&](const Variable& copy) { return conv(ctx, copy, offset, mask); });
  check(offset, conv, {&conv.weight, &conv.bias}, [&](const Variable& copy) { return conv(ctx, x, copy); });
}

TEST_P(ModulesTest, DeformConv2dTakesManyImagesAtOnce) {
  const auto step_of = [&](std::int64_t images, std::int64_t kernel, std::int64_t im2col_step) {
    nn::DeformConv2d conv(ctx, random, 4, 1, {kernel, kernel}, {.im2col_step = im2col_step, .type = f64});
    const std::int64_t extent = 24 + kernel;
    graph::Recorder recorder(ctx);
    const Variable x = random_variable(ctx, {images, 4, extent, extent}, 1),
                   offset = random_variable(ctx, {images, 2 * kernel * kernel, 25, 25}, 2);
    recorder.input("x", x);
    recorder.input("offset", offset);
    recorder.output("out", conv(ctx, x, offset, {}));
    const graph::Program program = recorder.finish();
    return std::get<std::int64_t>(program.calls().front().attributes.at("im2col_step"));
  };
  EXPECT_EQ(step_of(3, 1, 0), 64);
  EXPECT_EQ(step_of(130, 1, 0), 130);
  EXPECT_EQ(step_of(130, 1, 7), 7);
  // Windows of 1.28 MB: 104 images are 128 MiB, so there are two steps; of 2.88 MB there are 64 at least.
  EXPECT_EQ(step_of(130, 8, 0), 65);
  EXPECT_EQ(step_of(130, 12, 0), 44);
  nn::DeformConv2d conv(ctx, random, 4, 1, {1, 1}, {.im2col_step = -1, .type = f64});
  const Variable x = random_variable(ctx, {1, 4, 2, 2}, 1), offset = random_variable(ctx, {1, 2, 2, 2}, 2);
  EXPECT_EQ(message_of([&] { conv(ctx, x, offset, {}); }),
            "portops::deform_conv2d: im2col_step is -1, expected a positive number");
  // The operator says what is wrong with what it is given.
  EXPECT_THAT(message_of([&] { conv(ctx, {}, offset, {}); }),
              testing::StartsWith("portops::deform_conv2d: x is empty"));
}

TEST_P(ModulesTest, DeformConv2dPack) {
  nn::DeformConv2dPack pack(ctx, random, 4, 3, {3, 3}, {.padding = {1, 1}, .deformable_groups = 2, .type = f64});
  EXPECT_THAT(names_of(pack.state()), ElementsAre("weight", "bias", "conv_offset.weight", "conv_offset.bias"));
  EXPECT_EQ(pack.conv_offset.weight.tensor().extents(), Extents({54, 4, 3, 3}));
  const Variable x = random_variable(ctx, {2, 4, 3, 4}, 1);
  // At first no tap is moved, and every mask is 1/2.
  const Elements plain = elements_of(ctx, ag::conv2d(ctx, x, pack.weight, {.padding = {1, 1}})),
                 bias = elements_of(ctx, pack.bias);
  const Elements found = elements_of(ctx, pack(ctx, x));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], plain[i] / 2 + bias[i / 12 % 3], 1e-13) << i;
  // Later they come of the convolution beside it: offsets first, then masks.
  pack.conv_offset.weight = uniform(ctx, random, f64, {54, 4, 3, 3}, 0.1);
  pack.conv_offset.bias = uniform(ctx, random, f64, {54}, 0.3);
  const auto parts = ag::split(ctx, pack.conv_offset(ctx, x), {.sections = {36, 18}, .axis = 1});
  const Variable expected = ag::deform_conv2d(
      ctx, x, parts[0], pack.weight,
      {.mask = ag::sigmoid(ctx, parts[1]), .bias = pack.bias, .padding = {1, 1}, .deformable_groups = 2});
  EXPECT_EQ(elements_of(ctx, pack(ctx, x)), elements_of(ctx, expected));
  check(random_variable(ctx, {1, 4, 2, 2}, 4), pack,
        {&pack.weight, &pack.bias, &pack.conv_offset.weight, &pack.conv_offset.bias},
        [&](const Variable& copy) { return pack(ctx, copy); });
}

TEST_P(ModulesTest, BatchNorm2d) {
  nn::BatchNorm2d norm(ctx, 2, {.momentum = 0.75, .type = f64});
  norm.weight = variable_of(ctx, {2}, {2, -1});
  norm.bias = variable_of(ctx, {2}, {0.5, 3});
  const Variable x = random_variable(ctx, {2, 2, 1, 2}, 1);
  const Elements values = elements_of(ctx, x), factor = {2, -1}, shift = {0.5, 3};
  Elements mean = {0, 0}, variance = {1, 1};
  for (int step = 0; step < 2; ++step) {
    const Elements found = elements_of(ctx, norm(ctx, x));
    for (std::size_t c = 0; c < 2; ++c) {
      const Elements of = {values[2 * c], values[2 * c + 1], values[2 * c + 4], values[2 * c + 5]};
      const double m = (of[0] + of[1] + of[2] + of[3]) / 4;
      double sum = 0;
      for (const double each : of) sum += (each - m) * (each - m);
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t at = i / 2 * 4 + 2 * c + i % 2;
        EXPECT_NEAR(found[at], (of[i] - m) / std::sqrt(sum / 4 + 1e-5) * factor[c] + shift[c], 1e-12);
      }
      mean[c] = 0.75 * mean[c] + 0.25 * m;
      variance[c] = 0.75 * variance[c] + 0.25 * sum / 3;
      EXPECT_NEAR(elements_of(ctx, norm.running_mean)[c], mean[c], 1e-14);
      EXPECT_NEAR(elements_of(ctx, norm.running_var)[c], variance[c], 1e-14);
    }
  }
  check(x, norm, {&norm.weight, &norm.bias}, [&](const Variable& copy) { return norm(ctx, copy); });
  // Several calls before a pass do not disturb each other.
  const Variable both = ag::add(ctx, norm(ctx, x), norm(ctx, x));
  ag::backward(ctx, both, {.loss_grads = {random_variable(ctx, {2, 2, 1, 2}, 3, ag::Gradient::none)}});

  norm.train(false);
  mean = elements_of(ctx, norm.running_mean), variance = elements_of(ctx, norm.running_var);
  const Elements found = elements_of(ctx, norm(ctx, x));
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t c = i / 2 % 2;
    EXPECT_NEAR(found[i], (values[i] - mean[c]) / std::sqrt(variance[c] + 1e-5) * factor[c] + shift[c], 1e-12);
  }
  EXPECT_EQ(elements_of(ctx, norm.running_mean), mean);
  check(x, norm, {&norm.weight, &norm.bias}, [&](const Variable& copy) { return norm(ctx, copy); });
}

TEST_P(ModulesTest, LayerNorm) {
  nn::LayerNorm norm(ctx, {2, 3}, {.epsilon = 0.01, .type = f64});
  EXPECT_EQ(elements_of(ctx, norm.weight), Elements(6, 1));
  norm.weight = random_variable(ctx, {2, 3}, 2);
  norm.bias = random_variable(ctx, {2, 3}, 3);
  const Variable x = random_variable(ctx, {2, 2, 2, 3}, 1);
  const Elements values = elements_of(ctx, x), factor = elements_of(ctx, norm.weight),
                 shift = elements_of(ctx, norm.bias), found = elements_of(ctx, norm(ctx, x));
  for (std::size_t row = 0; row < 4; ++row) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < 6; ++i) mean += values[6 * row + i] / 6;
    for (std::size_t i = 0; i < 6; ++i) square += std::pow(values[6 * row + i] - mean, 2) / 6;
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(found[6 * row + i], (values[6 * row + i] - mean) / std::sqrt(square + 0.01) * factor[i] + shift[i],
                  1e-12);
    }
  }
  check(x, norm, {&norm.weight, &norm.bias}, [&](const Variable& copy) { return norm(ctx, copy); });
}

TEST_P(ModulesTest, Embedding) {
  nn::Embedding table(ctx, random, 5, 3, {.padding_idx = 1, .type = f64});
  const Elements weight = elements_of(ctx, table.weight);
  EXPECT_EQ(Elements(weight.begin() + 3, weight.begin() + 6), Elements(3, 0));
  EXPECT_NE(weight[0], 0);
  EXPECT_NE(weight[6], 0);
  const Variable ids = tensor_of<std::int64_t>(ctx, {2, 2}, {4, 1, 0, 4});
  const Variable out = table(ctx, ids);
  ASSERT_EQ(out.tensor().extents(), Extents({2, 2, 3}));
  const Elements found = elements_of(ctx, out);
  const std::size_t rows[] = {4, 1, 0, 4};
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(found[i], weight[rows[i / 3] * 3 + i % 3]);
  ag::backward(ctx, out, {.loss_grads = {variable_of(ctx, {2, 2, 3}, Elements(12, 1), ag::Gradient::none)}});
  EXPECT_EQ(elements_of(ctx, table.weight.grad()), (Elements{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2}));
  EXPECT_EQ(message_of([&] { nn::Embedding(ctx, random, 5, 3, {.padding_idx = 5}); }),
            "portops::nn::Embedding: padding_idx is 5, expected -1 or a row of 5");
}

// The bounds are PyTorch's, reached nearly and never passed, and numbers do not depend on the backend.
TEST_P(ModulesTest, Initialisation) {
  const auto extremes = [&](const Variable& variable, double bound, double least) {
    const Elements elements = elements_of(ctx, variable);
    const auto [low, high] = std::minmax_element(elements.begin(), elements.end());
    EXPECT_GE(*low, -bound);
    EXPECT_LT(*high, bound);
    EXPECT_LT(*low, -least * bound);
    EXPECT_GT(*high, least * bound);
  };
  nn::Linear linear(ctx, random, 100, 200, {.type = f64});
  extremes(linear.weight, 0.1, 0.999);
  extremes(linear.bias, 0.1, 0.9);
  nn::Conv2d conv(ctx, random, 8, 100, {5, 5}, {.groups = 2, .type = f64});
  extremes(conv.weight, 0.1, 0.999);
  extremes(conv.bias, 0.1, 0.9);
  nn::Embedding table(ctx, random, 1000, 11, {.type = f64});
  double sum = 0, square = 0;
  for (const double each : elements_of(ctx, table.weight)) sum += each, square += each * each;
  EXPECT_NEAR(sum / 11000, 0, 0.03);
  EXPECT_NEAR(square / 11000, 1, 0.04);

  // The words of the generator that published Philox, of the key 0 and the counter 0: 6627e8d5 e169c58d bc57ac4c
  // 9b00dbd8.
  nn::Generator zero(0);
  EXPECT_EQ(elements_of(ctx, uniform(ctx, zero, f64, {3}, 1)),
            (Elements{2 * (0x6627e8d5 * 0x1p-32) - 1, 2 * (0xe169c58d * 0x1p-32) - 1, 2 * (0xbc57ac4c * 0x1p-32) - 1}));
  EXPECT_EQ(zero.next_offset(), 1);
  nn::Generator other(1);
  EXPECT_NE(elements_of(ctx, uniform(ctx, zero, f64, {3}, 1)), elements_of(ctx, uniform(ctx, other, f64, {3}, 1)));
  EXPECT_EQ(elements_of<std::int64_t>(ctx, other.state()[1].variable), std::vector<std::int64_t>{1});
}

TEST_P(ModulesTest, SixteenBits) {
  need_type<f16>();
  need_type<float>();
  nn::Conv2d conv(ctx, random, 2, 4, {3, 3}, {.padding = {1, 1}, .type = ElementType::f16});
  nn::BatchNorm2d norm(ctx, 4);
  nn::Linear linear(ctx, random, 5, 2, {.type = ElementType::f16});
  const Variable x = uniform(ctx, random, ElementType::f16, {2, 2, 5, 5}, 1);
  const Variable out = linear(ctx, ag::relu(ctx, norm(ctx, conv(ctx, x))));
  ASSERT_EQ(out.tensor().extents(), Extents({2, 4, 5, 2}));
  ag::backward(ctx, out, {.loss_grads = {uniform(ctx, random, ElementType::f16, {2, 4, 5, 2}, 1, ag::Gradient::none)}});
  EXPECT_EQ(conv.weight.grad().tensor().type(), ElementType::f16);
  EXPECT_EQ(norm.weight.grad().tensor().type(), ElementType::f32);
  EXPECT_EQ(linear.bias.grad().tensor().type(), ElementType::f16);
}

PORTOPS_ON_EVERY_BACKEND(ModulesTest);

}  // namespace
}  // namespace portops::test
