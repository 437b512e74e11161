// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/graph_support.hpp"
#include "graph/planner.hpp"
#include "graph/verifier.hpp"
#include "support/sanitized.hpp"

#include <portops/graph/differentiate.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/layer_norm.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/matmul.hpp>
#include <portops/ops/mean.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/sigmoid.hpp>
#include <portops/ops/softmax.hpp>
#include <portops/ops/transpose.hpp>

// Plans of networks as they are in use: how much memory they take, beside the least that any plan could. Nothing is
// computed.

namespace portops::test {
namespace {

using graph::Program;
using graph::ValueId;

/// Builds networks; weights are inputs.
class Builder {
 public:
  explicit Builder(bool is_training) : is_training_(is_training) {}

  Program program;
  std::vector<ValueId> parameters;

  const Extents& extents(ValueId x) const { return program.value(x).extents; }
  ValueId image(std::int64_t batch, std::int64_t channels, std::int64_t size) {
    return program.add_input("x", ElementType::f32, {batch, channels, size, size});
  }
  ValueId parameter(const Extents& its) {
    const ValueId value = buffer(its);
    parameters.push_back(value);
    return value;
  }
  ValueId buffer(const Extents& its) {
    return program.add_input("w" + std::to_string(count_++), ElementType::f32, its);
  }
  ValueId conv(ValueId x, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1) {
    const ValueId weight = parameter({out, extents(x)[1] / groups, kernel, kernel});
    return program.call(
        "conv2d", {{"x", x}, {"weight", weight}},
        {{"stride", Integers{stride, stride}}, {"padding", Integers{kernel / 2, kernel / 2}}, {"groups", groups}});
  }
  ValueId norm(ValueId x) {
    const Extents channels = {extents(x)[1]};
    return program
        .add_call({.op = "batch_norm",
                   .inputs = {{"x", x},
                              {"mean", buffer(channels)},
                              {"variance", buffer(channels)},
                              {"scale", parameter(channels)},
                              {"bias", parameter(channels)}},
                   .attributes = {{"is_test", !is_training_}}})
        .result("out");
  }
  ValueId relu(ValueId x) { return program.call("relu", {{"x", x}}); }
  ValueId add(ValueId x, ValueId y) { return program.call("add", {{"x", x}, {"y", y}}); }
  ValueId block(ValueId x, std::int64_t out, std::int64_t kernel = 3, std::int64_t stride = 1,
                std::int64_t groups = 1) {
    return relu(norm(conv(x, out, kernel, stride, groups)));
  }
  ValueId linear(ValueId x, std::int64_t out) {
    const ValueId weight = parameter({extents(x)[extents(x).rank() - 1], out});
    return program.call("linear", {{"x", x}, {"weight", weight}, {"bias", parameter({out})}});
  }
  ValueId pool(ValueId x, std::int64_t kernel, std::int64_t stride) {
    return program.call("pool2d", {{"x", x}},
                        {{"kernel_size", Integers{kernel, kernel}}, {"stride", Integers{stride, stride}}});
  }
  ValueId global_pool(ValueId x) {
    const ValueId mean = program.call("pool2d", {{"x", x}}, {{"pooltype", "avg"}, {"global_pooling", true}});
    return program.call("reshape", {{"x", mean}}, {{"shape", Integers{0, -1}}});
  }
  /// Ends the network: of an inference with its result, of a training with the gradients of all parameters.
  Program finish(ValueId scores) {
    if (!is_training_) {
      program.add_output("scores", scores);
      return std::move(program);
    }
    const ValueId label = program.add_input("label", ElementType::i64, {extents(scores)[0], 1});
    const ValueId loss =
        program.add_call({.op = "cross_entropy_with_softmax", .inputs = {{"logits", scores}, {"label", label}}})
            .result("loss");
    program.add_output("loss", loss);
    const std::vector<ValueId> gradients = graph::differentiate(program, loss, parameters);
    for (std::size_t i = 0; i < gradients.size(); ++i) program.add_output("grad" + std::to_string(i), gradients[i]);
    return std::move(program);
  }

 private:
  bool is_training_;
  int count_ = 0;
};

Program resnet(bool is_training, bool has_bottlenecks, std::int64_t batch) {
  Builder net(is_training);
  ValueId x = net.pool(net.block(net.image(batch, 3, 224), 64, 7, 2), 3, 2);
  const std::vector<int> depths = has_bottlenecks ? std::vector<int>{3, 4, 6, 3} : std::vector<int>{2, 2, 2, 2};
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const std::int64_t width = std::int64_t{64} << stage;
    for (int depth = 0; depth < depths[stage]; ++depth) {
      const std::int64_t stride = depth == 0 && stage > 0 ? 2 : 1;
      const std::int64_t out = has_bottlenecks ? 4 * width : width;
      const ValueId way = has_bottlenecks
                              ? net.norm(net.conv(net.block(net.block(x, width, 1), width, 3, stride), out, 1))
                              : net.norm(net.conv(net.block(x, width, 3, stride), out, 3));
      const ValueId around = depth == 0 ? net.norm(net.conv(x, out, 1, stride)) : x;
      x = net.relu(net.add(way, around));
    }
  }
  return net.finish(net.linear(net.global_pool(x), 1000));
}

Program mobile(bool is_training, std::int64_t batch) {
  Builder net(is_training);
  ValueId x = net.block(net.image(batch, 3, 224), 32, 3, 2);
  for (const auto& [out, stride, repeats] :
       {std::tuple{16, 1, 1}, {24, 2, 2}, {32, 2, 3}, {64, 2, 4}, {96, 1, 3}, {160, 2, 3}, {320, 1, 1}}) {
    for (int i = 0; i < repeats; ++i) {
      const std::int64_t inner = net.extents(x)[1] * 6;
      const std::int64_t step = i == 0 ? stride : 1;
      const ValueId way = net.norm(net.conv(net.block(net.block(x, inner, 1), inner, 3, step, inner), out, 1));
      x = net.extents(way) == net.extents(x) ? net.add(way, x) : way;
    }
  }
  return net.finish(net.linear(net.global_pool(net.block(x, 1280, 1)), 1000));
}

/// With long connections from the way down to the way up; upwards every pixel becomes four.
Program unet(bool is_training, std::int64_t batch) {
  Builder net(is_training);
  ValueId x = net.image(batch, 3, 256);
  std::vector<ValueId> kept;
  for (std::int64_t width = 32; width <= 256; width *= 2) {
    x = net.block(net.block(x, width), width);
    kept.push_back(x);
    x = net.pool(x, 2, 2);
  }
  x = net.block(net.block(x, 512), 512);
  while (!kept.empty()) {
    const ValueId wide = net.conv(x, 4 * net.extents(kept.back())[1], 1);
    const Extents e = net.extents(wide);
    const ValueId split =
        net.program.call("reshape", {{"x", wide}}, {{"shape", Integers{e[0], e[1] / 4, 2, 2, e[2], e[3]}}});
    const ValueId turned = net.program.call("transpose", {{"x", split}}, {{"perm", Integers{0, 1, 4, 2, 5, 3}}});
    const ValueId up =
        net.program.call("reshape", {{"x", turned}}, {{"shape", Integers{e[0], e[1] / 4, 2 * e[2], 2 * e[3]}}});
    x = net.program.call("concat", {{"x", {kept.back(), up}}}, {{"axis", 1}});
    x = net.block(net.block(x, net.extents(kept.back())[1]), net.extents(kept.back())[1]);
    kept.pop_back();
  }
  return net.finish(net.global_pool(net.conv(x, 10, 1)));
}

Program transformer(bool is_training, std::int64_t batch) {
  constexpr std::int64_t length = 128, width = 256, heads = 8;
  Builder net(is_training);
  ValueId x = net.program.add_input("x", ElementType::f32, {batch, length, width});
  const auto norm = [&](ValueId of) {
    return net.program
        .add_call({.op = "layer_norm",
                   .inputs = {{"x", of}, {"scale", net.parameter({width})}, {"bias", net.parameter({width})}},
                   .attributes = {{"begin_norm_axis", 2}}})
        .result("out");
  };
  const auto by_heads = [&](ValueId of) {
    const ValueId split =
        net.program.call("reshape", {{"x", of}}, {{"shape", Integers{batch, length, heads, width / heads}}});
    return net.program.call("transpose", {{"x", split}}, {{"perm", Integers{0, 2, 1, 3}}});
  };
  for (int layer = 0; layer < 6; ++layer) {
    const ValueId y = norm(x);
    const ValueId q = by_heads(net.linear(y, width)), k = by_heads(net.linear(y, width)),
                  v = by_heads(net.linear(y, width));
    const ValueId scores = net.program.call("matmul", {{"x", q}, {"y", k}}, {{"transpose_y", true}});
    const ValueId weights =
        net.program.call("softmax", {{"x", net.program.call("multiply", {{"x", scores}, {"y", 0.1768}})}});
    const ValueId mixed = net.program.call("transpose", {{"x", net.program.call("matmul", {{"x", weights}, {"y", v}})}},
                                           {{"perm", Integers{0, 2, 1, 3}}});
    x = net.add(
        x, net.linear(net.program.call("reshape", {{"x", mixed}}, {{"shape", Integers{batch, length, width}}}), width));
    x = net.add(x, net.linear(net.program.call("gelu", {{"x", net.linear(norm(x), 4 * width)}}), width));
  }
  const ValueId mean = net.program.call("mean", {{"x", norm(x)}}, {{"axis", Integers{1}}});
  return net.finish(net.linear(mean, 10));
}

Program deformable(bool is_training, std::int64_t batch) {
  Builder net(is_training);
  const auto deform = [&](ValueId x, std::int64_t out) {
    const ValueId offset = net.conv(x, 18, 3);
    const ValueId mask = net.program.call("sigmoid", {{"x", net.conv(x, 9, 3)}});
    const ValueId weight = net.parameter({out, net.extents(x)[1], 3, 3});
    return net.relu(
        net.norm(net.program.call("deform_conv2d", {{"x", x}, {"offset", offset}, {"weight", weight}, {"mask", mask}},
                                  {{"padding", Integers{1, 1}}})));
  };
  ValueId x = net.pool(net.block(net.block(net.image(batch, 1, 28), 32), 64), 2, 2);
  x = net.pool(deform(deform(x, 128), 128), 2, 2);
  return net.finish(net.linear(net.global_pool(deform(x, 256)), 10));
}

TEST(GraphNetworksTest, TheArenaIsHardlyLargerThanWhatLives) {
  need_type<float>();
  const std::vector<std::pair<std::string, Program>> networks = [] {
    std::vector<std::pair<std::string, Program>> all;
    for (const bool is_training : {false, true}) {
      const std::string suffix = is_training ? ", training" : "";
      if (is_sanitized() && is_training) continue;
      all.emplace_back("resnet-18" + suffix, resnet(is_training, false, 32));
      all.emplace_back("resnet-50" + suffix, resnet(is_training, true, 8));
      all.emplace_back("mobilenet" + suffix, mobile(is_training, 16));
      all.emplace_back("u-net" + suffix, unet(is_training, 4));
      all.emplace_back("transformer" + suffix, transformer(is_training, 8));
      all.emplace_back("deformable" + suffix, deformable(is_training, 256));
    }
    return all;
  }();
  for (const auto& [name, program] : networks) {
    const std::vector<std::uint8_t> constants = constants_of(program);
    for (const auto& [instances, channels_last] : {std::pair{1, false}, {3, false}, {1, true}}) {
      graph::PlanParams params;
      params.instances = instances;
      params.channels_last = channels_last;
      const graph::Plan plan = graph::make_plan(program, constants, params);
      EXPECT_EQ(message_of([&] { graph::verify(program, plan, constants); }), "") << name;
      if (instances > 1) continue;  // what then lives at one time depends on their speed
      const auto least = static_cast<double>(plan.live_bytes);
      EXPECT_LE(static_cast<double>(plan.arena_bytes), 1.1 * least) << name;
      RecordProperty(name + (channels_last ? ", channels last" : ""),
                     std::to_string(static_cast<double>(plan.arena_bytes) / least));
      if (name.find("training") != std::string::npos) continue;
      // That places are shared at all: in place, by views, and by what lives at other times.
      graph::PlanParams apart;
      apart.reuse = apart.in_place = false;
      EXPECT_LT(2 * plan.arena_bytes, graph::make_plan(program, constants, apart).arena_bytes) << name;
    }
  }
}

}  // namespace
}  // namespace portops::test
