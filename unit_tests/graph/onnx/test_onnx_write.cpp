// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/graph_support.hpp"
#include "graph/onnx/onnx_support.hpp"
#include "graph/random_program.hpp"
#include "support/sanitized.hpp"

#include <portops/ops/adam.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/clip.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/hard_sigmoid.hpp>
#include <portops/ops/hard_swish.hpp>
#include <portops/ops/layer_norm.hpp>
#include <portops/ops/lerp.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/matmul.hpp>
#include <portops/ops/momentum.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/p_norm.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/silu.hpp>
#include <portops/ops/slice.hpp>
#include <portops/ops/softmax.hpp>
#include <portops/ops/split.hpp>
#include <portops/ops/sum.hpp>

#include <unistd.h>

#include <cmath>
#include <filesystem>

// Programs that are written and read again: they compute the same bits, and ONNX' own checker and shape inference find
// nothing.

namespace portops::test {
namespace {

class OnnxWriteTest : public testing::Test {
 protected:
  void SetUp() override { need_type<float>(); }

  Context ctx{enabled_backends().back()};
};

/// Writes and reads a program; what comes back computes the same bits.
graph::Program there_and_back(const Context& ctx, const graph::Program& program, const std::string& what = "") {
  const std::string bytes = graph::onnx_model(program);
  EXPECT_EQ(opinion_of_onnx(bytes), "") << what << program.to_string();
  graph::Program read = graph::parse_onnx(bytes);
  const auto inputs = random_inputs(ctx, program, 5);
  EXPECT_EQ(plain_results(ctx, read, inputs), plain_results(ctx, program, inputs))
      << what << program.to_string() << read.to_string();
  return read;
}

/// The operators of a model's nodes, in their order.
std::vector<std::string> nodes_of(const graph::Program& program) {
  onnx::ModelProto model;
  model.ParseFromString(graph::onnx_model(program));
  std::vector<std::string> nodes;
  for (const onnx::NodeProto& each : model.graph().node()) {
    nodes.push_back(each.domain().empty() ? each.op_type() : each.domain() + "." + each.op_type());
  }
  return nodes;
}

TEST_F(OnnxWriteTest, RandomProgramsComputeTheSameBits) {
  const std::uint64_t step = unless_sanitized<std::uint64_t>(1, 5);
  for (std::uint64_t seed = 0; seed < 300 && !HasFailure(); seed += step) {
    const RandomProgram random(seed, 8 + static_cast<int>(seed % 24));
    there_and_back(ctx, random.program(), "seed " + std::to_string(seed) + "\n");
  }
}

graph::Program network() {
  graph::Program program;
  const Context host(enabled_backends().back());
  const auto constant = [&](const std::string& name, const Extents& extents, unsigned seed) {
    return program.add_constant(name, random_tensor<float>(host, extents, seed, 0.25, 1.0));
  };
  const graph::ValueId x = program.add_input("x", ElementType::f32, {2, 3, 8, 8});
  graph::ValueId y =
      program.call("conv2d", {{"x", x}, {"weight", constant("w", {4, 3, 3, 3}, 1)}, {"bias", constant("b", {4}, 2)}},
                   {{"padding", Integers{1, 0, 1, 2}}, {"stride", Integers{1, 1}}});
  y = program
          .add_call(
              {.op = "batch_norm",
               .inputs = {{"x", y}, {"mean", constant("mean", {4}, 3)}, {"variance", constant("variance", {4}, 4)}},
               .attributes = {{"is_test", true}}})
          .result("out");
  const graph::ValueId offset =
      program.call("conv2d", {{"x", y}, {"weight", constant("o", {18, 4, 3, 3}, 5)}}, {{"padding", Integers{1, 1}}});
  const graph::ValueId mask =
      program.call("conv2d", {{"x", y}, {"weight", constant("m", {9, 4, 3, 3}, 6)}}, {{"padding", Integers{1, 1}}});
  y = program.call("deform_conv2d",
                   {{"x", y}, {"offset", offset}, {"mask", mask}, {"weight", constant("v", {4, 2, 3, 3}, 7)}},
                   {{"padding", Integers{1, 1}}, {"groups", std::int64_t{2}}});
  y = program.call("pool2d", {{"x", y}},
                   {{"kernel_size", Integers{3}},
                    {"stride", Integers{2}},
                    {"padding", Integers{1}},
                    {"pooltype", std::string("avg")}});
  y = program.call("pool2d", {{"x", y}}, {{"pooltype", std::string("avg")}, {"global_pooling", true}});
  y = program.call("reshape", {{"x", y}}, {{"shape", Integers{0, -1}}});
  y = program.call("linear", {{"x", y}, {"weight", constant("h", {4, 6}, 8)}, {"bias", constant("c", {6}, 9)}});
  y = program.add_call({.op = "layer_norm", .inputs = {{"x", y}}}).result("out");
  y = program.call("softmax", {{"x", program.call("gelu", {{"x", y}})}});
  program.add_output("scores", y);
  return program;
}

TEST_F(OnnxWriteTest, ANetworkIsWrittenWithOperatorsOfOnnxAlone) {
  const graph::Program program = network();
  there_and_back(ctx, program);
  for (const std::string& node : nodes_of(program)) EXPECT_FALSE(node.starts_with("portops.")) << node;
}

TEST_F(OnnxWriteTest, WhatOnnxSaysOtherwiseIsOurs) {
  graph::Program program;
  const graph::ValueId x = program.add_input("x", ElementType::f32, {2, 3, 4});
  const graph::ValueId w = program.add_input("w", ElementType::f32, {4, 5});
  const graph::ValueId b = program.add_input("b", ElementType::f32, {5});
  program.add_output("a", program.call("linear", {{"x", x}, {"weight", w}, {"bias", b}}));
  program.add_output("b1", program.call("silu", {{"x", x}}));
  program.add_output("c", program.call("lerp", {{"x", x}, {"y", x}, {"weight", 0.1}}));
  program.add_output("d", program.call("p_norm", {{"x", x}}, {{"porder", 3.0}}));
  program.add_output("e", program.call("p_norm", {{"x", x}}, {{"porder", INFINITY}, {"asvector", true}}));
  program.add_output("f", program.call("p_norm", {{"x", x}}, {{"porder", 2.0}, {"axis", Integers{0, -1}}}));
  const graph::Call norm =
      program.add_call({.op = "layer_norm", .inputs = {{"x", x}}, .attributes = {{"epsilon", 1e-7}}});
  program.add_output("g", norm.result("inv_std"));
  there_and_back(ctx, program);
  EXPECT_EQ(nodes_of(program),
            (std::vector<std::string>{"portops.linear", "portops.silu", "portops.lerp", "portops.p_norm",
                                      "portops.p_norm", "ReduceL2", "portops.layer_norm"}));
}

TEST_F(OnnxWriteTest, BoundsOfEveryElementType) {
  for (const ElementType type : enabled_element_types()) {
    graph::Program program;
    const graph::ValueId x = program.add_input("x", type, {3, 4});
    program.add_output("within", program.call("clip", {{"x", x}}, {{"min", 0.1}, {"max", 0.7}}));
    program.add_output("above", program.call("clip", {{"x", x}}, {{"min", 0.1}}));
    program.add_output("below", program.call("clip", {{"x", x}}, {{"max", 1e6}}));
    program.add_output("all", program.call("clip", {{"x", x}}));
    program.add_output("infinite", program.call("clip", {{"x", x}}, {{"min", INFINITY}, {"max", -INFINITY}}));
    const graph::Program read = there_and_back(ctx, program);
    EXPECT_EQ(nodes_of(program), std::vector<std::string>(5, "Clip"));
    EXPECT_EQ(read.calls().back().attributes, program.calls().back().attributes);
    onnx::ModelProto model;
    model.ParseFromString(graph::onnx_model(program));
    std::vector<int> inputs;
    for (const onnx::NodeProto& each : model.graph().node()) inputs.push_back(each.input_size());
    EXPECT_EQ(inputs, (std::vector<int>{3, 2, 3, 1, 3}));
    EXPECT_EQ(model.graph().node(2).input(1), "");
  }
}

TEST_F(OnnxWriteTest, HardActivationsOfEveryElementType) {
  for (const ElementType type : enabled_element_types()) {
    graph::Program program;
    const graph::ValueId x = program.add_input("x", type, {3, 4});
    program.add_output("a", program.call("hard_sigmoid", {{"x", x}}));
    program.add_output("b", program.call("hard_sigmoid", {{"x", x}}, {{"slope", 0.25}, {"offset", -0.5}}));
    program.add_output("c", program.call("hard_swish", {{"x", x}}));
    there_and_back(ctx, program);
    // An attribute of ONNX is a float: of f64 the sixth is none.
    const std::string sixth = type == ElementType::f64 ? "portops.hard_sigmoid" : "HardSigmoid";
    EXPECT_EQ(nodes_of(program), (std::vector<std::string>{sixth, "HardSigmoid", "HardSwish"}));
  }
}

TEST_F(OnnxWriteTest, LinearLayersWhoseWeightIsTransposed) {
  graph::Program program;
  const graph::ValueId rows = program.add_input("rows", ElementType::f32, {3, 4});
  const graph::ValueId more = program.add_input("more", ElementType::f32, {2, 3, 4});
  const graph::ValueId w = program.add_input("w", ElementType::f32, {5, 4});
  const graph::ValueId b = program.add_input("b", ElementType::f32, {5});
  for (const auto& [name, x] : {std::pair{"rows", rows}, {"more", more}}) {
    const std::string its = name;
    program.add_output("biased_" + its,
                       program.call("linear", {{"x", x}, {"weight", w}, {"bias", b}}, {{"transpose_weight", true}}));
    program.add_output("plain_" + its, program.call("linear", {{"x", x}, {"weight", w}}, {{"transpose_weight", true}}));
  }
  there_and_back(ctx, program);
  EXPECT_EQ(nodes_of(program),
            (std::vector<std::string>{"Gemm", "Gemm", "Transpose", "portops.linear", "Transpose", "MatMul"}));
}

TEST_F(OnnxWriteTest, ListsLevelsAndWhatIsLeftInInputs) {
  graph::Program program;
  const graph::ValueId ragged =
      program.add_input("ragged", ElementType::f32, {6, 2}, Levels({{0, 2, 3}, {0, 4, 4, 6}}));
  program.add_output("pooled", program.call("sequence_pool", {{"x", program.call("relu", {{"x", ragged}})}}));
  std::vector<graph::ValueId> params, grads, states;
  for (int i = 0; i < 2; ++i) {
    const std::string number = std::to_string(i);
    params.push_back(program.add_input("param" + number, ElementType::f32, {3}));
    grads.push_back(program.add_input("grad" + number, ElementType::f32, {3}));
    states.push_back(program.add_input("velocity" + number, ElementType::f32, {3}));
  }
  const graph::Call step =
      program.add_call({.op = "momentum",
                        .inputs = {{"param", params}, {"grad", grads}, {"velocity", states}, {"learning_rate", 0.1}},
                        .attributes = {{"mu", 0.875}}});
  program.add_output("param0", step.results("param_out")[0], params[0]);
  program.add_output("param1", step.results("param_out")[1], params[1]);
  program.add_output("velocity0", step.results("velocity_out")[0], states[0]);
  const graph::Program read = there_and_back(ctx, program);
  EXPECT_EQ(read.value(read.find("ragged")).levels, Levels({{0, 2, 3}, {0, 4, 4, 6}}));
  ASSERT_EQ(read.outputs().size(), 4);
  EXPECT_EQ(read.outputs()[1].name, "param0");
  EXPECT_EQ(read.outputs()[1].over, read.find("param0"));
}

TEST_F(OnnxWriteTest, NamesThatMeet) {
  graph::Program program;
  const graph::ValueId x = program.add_input("x", ElementType::f32, {2});
  const graph::ValueId w = program.add_constant("w", random_tensor<float>(ctx, {2}, 1));
  const graph::ValueId y = program.call("add", {{"x", x}, {"y", w}});
  program.add_output("x", y);
  program.add_output("again", y);
  program.add_output("w", w);
  program.add_output("input", x);
  const graph::Program read = there_and_back(ctx, program);
  EXPECT_EQ(read.outputs()[0].name, "x");
}

TEST_F(OnnxWriteTest, ReshapesOfNothing) {
  graph::Program program;
  const graph::ValueId x = program.add_input("x", ElementType::f32, {2, 0});
  const graph::ValueId z = program.add_input("z", ElementType::f32, {0, 0, 3});
  program.add_output("flat", program.call("reshape", {{"x", x}}, {{"shape", Integers{-1}}}));
  program.add_output("wide", program.call("reshape", {{"x", x}}, {{"shape", Integers{-1, 5, 7}}}));
  program.add_output("turned", program.call("reshape", {{"x", z}}, {{"shape", Integers{4, 0}}}));
  program.add_output("none", program.call("reshape", {{"x", z}}, {{"shape", Integers{0, 0}}}));
  there_and_back(ctx, program);
  EXPECT_EQ(nodes_of(program), (std::vector<std::string>{"Reshape", "Reshape", "Reshape", "portops.reshape"}));
}

TEST_F(OnnxWriteTest, EveryElementType) {
  for (const ElementType type : enabled_element_types()) {
    graph::Program program;
    const graph::ValueId x = program.add_input("x", type, {2, 3});
    const graph::ValueId ids = program.add_input("ids", ElementType::i64, {4});
    program.add_output("rows", program.call("embedding", {{"weight", program.call("multiply", {{"x", x}, {"y", 0.1}})},
                                                          {"ids", ids}}));
    const std::string bytes = graph::onnx_model(program);
    EXPECT_EQ(opinion_of_onnx(bytes), "") << name_of(type);
    EXPECT_EQ(graph::parse_onnx(bytes).to_string().find("0.1") != std::string::npos || type == ElementType::f32, true);
  }
}

TEST_F(OnnxWriteTest, FilesReplaceTheirTargets) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("portops_" + std::to_string(::getpid()) + ".onnx");
  graph::write_onnx(network(), path);
  EXPECT_EQ(graph::read_onnx(path).calls().size(), network().calls().size());
  EXPECT_EQ(graph::onnx_inputs(path), std::vector<std::string>{"x"});
  std::filesystem::remove(path);
}

TEST_F(OnnxWriteTest, ConstantsThatNodesNeedAreNoLargerThanTheyMayBe) {
  for (const std::int64_t channels : {std::int64_t{3}, std::int64_t{1} << 40}) {
    graph::Program program;
    const graph::ValueId x = program.add_input("x", ElementType::f32, {0, channels});
    const graph::ValueId statistics = program.add_input("statistics", ElementType::f32, {channels});
    const graph::Call normal = program.add_call(
        {.op = "layer_norm", .inputs = {{"x", x}}, .attributes = {{"begin_norm_axis", std::int64_t{1}}}});
    const graph::Call given = program.add_call({.op = "batch_norm",
                                                .inputs = {{"x", x}, {"mean", statistics}, {"variance", statistics}},
                                                .attributes = {{"is_test", true}}});
    program.add_output("normal", normal.result("out"));
    program.add_output("given", given.result("out"));
    const std::string model = graph::onnx_model(program);
    EXPECT_EQ(model.find("LayerNormalization") != std::string::npos, channels == 3);
    EXPECT_EQ(model.find("BatchNormalization") != std::string::npos, channels == 3);
    EXPECT_EQ(graph::parse_onnx(model).outputs().size(), 2U);
  }
}

}  // namespace
}  // namespace portops::test
