// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/graph_support.hpp"

#include <portops/ops/conv2d.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/softmax.hpp>
#include <portops/ops/split.hpp>

// Programs that are built by hand: what is inferred, what is refused, how they print.

namespace portops::test {
namespace {

class GraphProgramTest : public testing::Test {
 protected:
  GraphProgramTest() {
    need_type<float>();
    x = program.add_input("x", ElementType::f32, {8, 4});
  }

  graph::Program program;
  graph::ValueId x;
};

TEST_F(GraphProgramTest, TypesAndExtentsAreInferred) {
  const graph::ValueId weight = program.add_constant("weight", Tensor(ElementType::f32, {4, 3}));
  const graph::ValueId out = program.call("linear", {{"x", x}, {"weight", weight}});
  EXPECT_EQ(program.value(out).name, "linear_0");
  EXPECT_EQ(program.value(out).extents, (Extents{8, 3}));
  EXPECT_EQ(program.value(out).origin, graph::Origin::call);
  program.rename(out, "scores");
  EXPECT_EQ(program.find("scores"), out);
  EXPECT_FALSE(program.find("linear_0"));
  const graph::Call parts = program.add_call(
      {.op = "split", .inputs = {{"x", x}}, .attributes = {{"sections", Integers{1, 3}}, {"axis", 1}}});
  ASSERT_EQ(parts.results("out").size(), 2);
  EXPECT_EQ(program.value(parts.results("out")[1]).extents, (Extents{8, 3}));
  EXPECT_EQ(program.value(parts.results("out")[1]).name, "split_1.out.1");
  EXPECT_EQ(std::get<std::int64_t>(parts.attributes.at("axis")), 1);
}

TEST_F(GraphProgramTest, OptionalOutputsAreComputedWhereTheyAreWanted) {
  const graph::ValueId image = program.add_input("image", ElementType::f32, {2, 3, 8, 8});
  const std::map<std::string, Attribute, std::less<>> attributes = {{"kernel_size", Integers{2, 2}}};
  const graph::Call without = program.add_call({.op = "pool2d", .inputs = {{"x", image}}, .attributes = attributes});
  EXPECT_EQ(without.output("index"), nullptr);
  const graph::Call with =
      program.add_call({.op = "pool2d", .inputs = {{"x", image}}, .attributes = attributes, .wanted = {"index"}});
  EXPECT_EQ(program.value(with.result("index")).type, ElementType::i64);
  EXPECT_EQ(program.value(with.result("index")).extents, (Extents{2, 3, 4, 4}));
}

TEST_F(GraphProgramTest, LevelsTravelWithValues) {
  const graph::ValueId ragged = program.add_input("ragged", ElementType::f32, {5, 2}, Levels::from_lengths({2, 0, 3}));
  const graph::ValueId positive = program.call("relu", {{"x", ragged}});
  EXPECT_EQ(program.value(positive).levels, program.value(ragged).levels);
  const graph::ValueId pooled = program.call("sequence_pool", {{"x", positive}});
  EXPECT_EQ(program.value(pooled).extents, (Extents{3, 2}));
  EXPECT_FALSE(program.value(pooled).levels);
}

TEST_F(GraphProgramTest, WhatCouldNotBeCalledIsRefusedAndLeavesNothing) {
  const graph::ValueId weight = program.add_input("weight", ElementType::f32, {5, 3});
  const std::string before = program.to_string();
  EXPECT_EQ(message_of([&] {
              program.add_call({.op = "linear", .inputs = {{"x", x}, {"weight", weight}}, .place = "node 'head'"});
            }).substr(0, 61),
            "portops::graph::Program: call 0 (node 'head'): portops::linea");
  const auto refused = [&](const std::function<void()>& call, const std::string& message) {
    EXPECT_EQ(message_of(call), "portops::graph::Program: " + message);
  };
  refused([&] { program.add_call({.op = "relu", .inputs = {{"y", x}}}); },
          "call 0: portops::relu: no input is named 'y'");
  refused([&] { program.add_call({.op = "relu", .inputs = {{"x", x}}, .attributes = {{"slope", 1.0}}}); },
          "call 0: portops::relu: no attribute is named 'slope'");
  refused([&] { program.add_call({.op = "relu", .inputs = {{"x", x}}, .wanted = {"mask"}}); },
          "call 0: portops::relu: no output is named 'mask'");
  refused([&] { program.add_call({.op = "relu", .inputs = {{"x", graph::ValueId{7}}}}); },
          "call 0: portops::graph::Program: there is no value 7");
  refused([&] { program.add_input("x", ElementType::f32, {}); }, "two values are named 'x'");
  refused([&] { program.add_input("", ElementType::f32, {}); }, "a value's name is empty");
  refused([&] { program.add_input("y", ElementType::f32, {-1}); }, "y has extents [-1]");
  refused([&] { program.add_output("out", graph::ValueId()); }, "there is no value -1");
  refused([&] { program.rename(weight, "x"); }, "two values are named 'x'");
  refused([&] { program.add_output("out", x, weight); },
          "out is f32 [8, 4], but weight, in which it is left, f32 [5, 3]");
  EXPECT_EQ(program.to_string(), before);
  program.add_output("out", x, x);
  refused([&] { program.add_output("again", x, x); }, "the results out and again are both left in x");
  refused([&] { program.add_output("out", x); }, "two results are named 'out'");
}

TEST_F(GraphProgramTest, ProgramsPrint) {
  const graph::ValueId weight = program.add_constant("weight", Tensor(ElementType::f32, {4, 3}));
  const graph::ValueId scores = program.call("linear", {{"x", x}, {"weight", weight}});
  const graph::ValueId axis = program.call("softmax", {{"x", scores}}, {{"axis", 0}});
  program.add_output("y", program.call("multiply", {{"x", axis}, {"y", 2.0}}));
  program.add_output("kept", x, x);
  EXPECT_EQ(program.to_string(),
            "input x: f32 [8, 4]\n"
            "constant weight: f32 [4, 3]\n"
            "linear_0: f32 [8, 3] = linear(x = x, weight = weight)\n"
            "softmax_1: f32 [8, 3] = softmax(x = linear_0, axis = 0)\n"
            "multiply_2: f32 [8, 3] = multiply(x = softmax_1, y = 2)\n"
            "output y = multiply_2\n"
            "output kept = x over x\n");
  const std::string dot = program.to_dot();
  EXPECT_EQ(dot.substr(0, 16), "digraph program ");
  for (const char* part : {"value0 [label=\"x\\nf32 [8, 4]\"", "call1 [label=\"softmax\\naxis = 0\"]",
                           "call0 -> call1 [label=\"x\\nf32 [8, 3]\"]", "call2 -> output0", "value0 -> call0"}) {
    EXPECT_NE(dot.find(part), std::string::npos) << part << " in\n" << dot;
  }
}

}  // namespace
}  // namespace portops::test
