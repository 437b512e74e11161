// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/graph_support.hpp"

#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/matmul.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/sequence_expand.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/slice.hpp>
#include <portops/ops/softmax.hpp>
#include <portops/ops/sum.hpp>
#include <portops/ops/transpose.hpp>

#include <thread>

// What the plan makes of programs: what is in place, a view, folded or dropped; and what executions do with tensors.

namespace portops::test {
namespace {

class GraphExecutionTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<float>(); }

  Tensor tensor(const Extents& extents, unsigned seed) { return random_tensor<float>(ctx, extents, seed); }
  Tensor constant(const Extents& extents, unsigned seed, double low = -1.0) {
    return random_tensor<float>(ctx, extents, seed, low, 1.0);
  }
  std::vector<float> elements(const TensorRef& of) { return elements_of<float>(ctx, of); }
  /// Compares with plain calls, also where dead memory is NaN.
  void check(const Program& program, const CompileParams& params = CompileParams::same_bits()) {
    const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, 5);
    const Results expected = plain_results(ctx, program, inputs);
    const CompiledProgram compiled(ctx, program, params);
    for (const bool poison : {false, true}) {
      Execution execution(ctx, compiled, {.poison = poison});
      EXPECT_EQ(run_results(ctx, execution, program, inputs), expected) << program.to_string() << compiled.to_string();
    }
  }
  std::string plan_of(const Program& program, const CompileParams& params = CompileParams::same_bits()) {
    return CompiledProgram(ctx, program, params).to_string();
  }
};

TEST_P(GraphExecutionTest, AChainLiesInOnePlaceAndEndsInTheOutput) {
  Program program;
  const ValueId x = program.add_input("x", ElementType::f32, {4, 16});
  ValueId y = program.call("gelu", {{"x", x}});
  for (int i = 0; i < 3; ++i) y = program.call("relu", {{"x", program.call("add", {{"x", y}, {"y", 1.0}})}});
  program.add_output("y", y);
  EXPECT_EQ(plan_of(program),
            "gelu_0: output y = gelu\nadd_1: output y = add\nrelu_2: output y = relu\nadd_3: output y = add\n"
            "relu_4: output y = relu\nadd_5: output y = add\nrelu_6: output y = relu\n");
  check(program);
  CompileParams apart;
  apart.in_place = apart.reuse_memory = false;
  EXPECT_EQ(CompiledProgram(ctx, program, apart).arena_bytes(), 6 * 256);
  check(program, apart);
}

TEST_P(GraphExecutionTest, WhatIsStillReadIsNotWrittenOver) {
  Program program;
  const ValueId x = program.add_input("x", ElementType::f32, {4, 16});
  const ValueId a = program.call("gelu", {{"x", x}});
  const ValueId b = program.call("relu", {{"x", a}});                // a is read below
  const ValueId c = program.call("multiply", {{"x", a}, {"y", a}});  // both operands are a: not in place
  const ValueId d = program.call("add", {{"x", x}, {"y", b}});       // x is the caller's
  program.add_output("sum", program.call("sum", {{"x", program.call("add", {{"x", c}, {"y", d}})}}));
  EXPECT_EQ(plan_of(program),
            "gelu_0: arena 0..256 = gelu\nrelu_1: arena 256..512 = relu\nmultiply_2: arena 512..768 = multiply\n"
            "add_3: arena 0..256 = add\nadd_4: arena 512..768 = add\nsum_5: output sum = sum\n");
  check(program);
}

TEST_P(GraphExecutionTest, ReshapesAndTranspositionsMoveNothing) {
  Program program;
  const ValueId x = program.add_input("x", ElementType::f32, {4, 16});
  const ValueId turned =
      program.call("transpose", {{"x", program.call("gelu", {{"x", x}})}}, {{"perm", Integers{1, 0}}});
  const ValueId flat =
      program.call("reshape", {{"x", program.call("relu", {{"x", turned}})}}, {{"shape", Integers{-1}}});
  program.add_output("y", program.call("softmax", {{"x", flat}}));
  const CompiledProgram all(ctx, program), contiguous(ctx, program, CompileParams::same_bits());
  EXPECT_EQ(all.calls(), 3);
  EXPECT_EQ(contiguous.calls(), 4);
  EXPECT_EQ(CompiledProgram(ctx, program, {.views = graph::Views::none}).calls(), 5);
  check(program);
  check(program, {});  // nothing here adds up in another order
  // A result is in memory of its own, with rows one after the other.
  program.add_output("turned", turned);
  check(program, {});
}

TEST_P(GraphExecutionTest, ViewsThatKeepTheBitsBeginWhereCopiesDo) {
  for (const std::int64_t columns : {4, 64}) {
    Program program;
    const ValueId x = program.call("gelu", {{"x", program.add_input("x", ElementType::f32, {8, columns})}});
    const ValueId rows =
        program.call("slice", {{"x", x}}, {{"axes", Integers{0}}, {"starts", Integers{1}}, {"ends", Integers{7}}});
    program.add_output("y", program.call("softmax", {{"x", rows}}));
    // 16 bytes behind x, or 256.
    EXPECT_EQ(CompiledProgram(ctx, program, CompileParams::same_bits()).calls(), columns == 4 ? 3 : 2);
    EXPECT_EQ(CompiledProgram(ctx, program).calls(), 2);
    check(program);
  }
}

TEST_P(GraphExecutionTest, SplitsMoveNothing) {
  const auto parts_of = [](Program& program, ValueId x, const Integers& sections, std::int64_t axis) {
    return program
        .add_call({.op = "split", .inputs = {{"x", x}}, .attributes = {{"sections", sections}, {"axis", axis}}})
        .results("out");
  };
  for (const std::int64_t axis : {0, 1, -1, -2}) {
    Program program;
    const ValueId x = program.call("gelu", {{"x", program.add_input("x", ElementType::f32, {8, 8})}});
    const std::vector<ValueId> parts = parts_of(program, x, {3, 1, 4}, axis);
    // Of a part, which is a part of a part.
    const std::vector<ValueId> halves = parts_of(program, parts[2], {2, 2}, axis);
    program.add_output("y", program.call("relu", {{"x", parts[0]}}));
    program.add_output("z", program.call("add", {{"x", halves[1]}, {"y", halves[0]}}));
    EXPECT_EQ(CompiledProgram(ctx, program).calls(), 3);
    EXPECT_EQ(CompiledProgram(ctx, program, CompileParams::same_bits()).calls(), 5);
    EXPECT_EQ(CompiledProgram(ctx, program, {.views = graph::Views::none}).calls(), 5);
    check(program);
    check(program, {});
    // A result is in memory of its own, and so are all parts then.
    program.add_output("part", parts[1]);
    EXPECT_EQ(CompiledProgram(ctx, program).calls(), 4);
    check(program, {});
  }
  // Parts that begin where copies do, 256 bytes apart; and one without elements.
  for (const std::int64_t empty : {0, 1}) {
    Program program;
    const ValueId x = program.call("gelu", {{"x", program.add_input("x", ElementType::f32, {4 + empty, 64})}});
    const std::vector<ValueId> parts = parts_of(program, x, {1, empty, 3}, 0);
    program.add_output("y", program.call("softmax", {{"x", parts[0]}}));
    program.add_output("z", program.call("softmax", {{"x", parts[2]}}));
    EXPECT_EQ(CompiledProgram(ctx, program, CompileParams::same_bits()).calls(), empty == 0 ? 4 : 3);
    check(program);
  }
}

TEST_P(GraphExecutionTest, ResultsMayBeInputsConstantsAndTwice) {
  Program program;
  const ValueId x = program.add_input("x", ElementType::f32, {4});
  const ValueId y = program.add_input("y", ElementType::f32, {4});
  const ValueId c = program.add_constant("c", constant({4}, 1));
  const ValueId sum = program.call("add", {{"x", x}, {"y", y}});
  program.add_output("x again", x);
  program.add_output("c", c);
  program.add_output("sum", sum);
  program.add_output("sum again", sum);
  // They change places.
  program.add_output("new x", y, x);
  program.add_output("new y", x, y);
  check(program);
  Program unchanged;
  const ValueId z = unchanged.add_input("z", ElementType::f32, {4});
  unchanged.add_output("z", z, z);
  EXPECT_EQ(plan_of(unchanged), "");
  check(unchanged);
}

TEST_P(GraphExecutionTest, AStateGoesFromRunToRun) {
  Program program;
  const ValueId x = program.add_input("x", ElementType::f32, {2});
  const ValueId state = program.add_input("state", ElementType::f32, {2});
  const ValueId next = program.call("add", {{"x", state}, {"y", x}});
  program.add_output("state", next, state);
  program.add_output("twice", program.call("multiply", {{"x", next}, {"y", 2.0}}));
  EXPECT_EQ(plan_of(program), "add_0: input state = add\nmultiply_1: output twice = multiply\n");
  Execution execution(ctx, CompiledProgram(ctx, program));
  copy(ctx, tensor_of<float>(ctx, {2}, {1, 2}), execution.input("x"));
  copy(ctx, tensor_of<float>(ctx, {2}, {10, 20}), execution.input("state"));
  for (int i = 0; i < 3; ++i) execution.run();
  EXPECT_EQ(elements(execution.output("state")), (std::vector<float>{13, 26}));
  EXPECT_EQ(elements(execution.output("twice")), (std::vector<float>{26, 52}));
}

TEST_P(GraphExecutionTest, CallsThatNothingNeedsAreDroppedAndConstantsFolded) {
  Program program;
  const ValueId x = program.add_input("x", ElementType::f32, {4});
  const ValueId c = program.add_constant("c", constant({4}, 1));
  program.call("gelu", {{"x", x}});  // nobody reads it
  const ValueId folded = program.call("gelu", {{"x", program.call("add", {{"x", c}, {"y", 1.0}})}});
  program.add_output("y", program.call("multiply", {{"x", x}, {"y", folded}}));
  EXPECT_EQ(plan_of(program), "multiply_3: output y = multiply\n");
  check(program);
  EXPECT_EQ(CompiledProgram(ctx, program, {.fold_constants = false}).calls(), 3);
  check(program, {.fold_constants = false});
}

TEST_P(GraphExecutionTest, WhatMakesMuchOfLittleIsNotFolded) {
  for (const std::int64_t extent : {512, 1024}) {
    Program program;
    const ValueId x = program.add_input("x", ElementType::f32, {extent, extent});
    const ValueId column = program.add_constant("column", constant({extent, 1}, 1));
    const ValueId row = program.add_constant("row", constant({1, extent}, 2));
    const ValueId table = program.call("add", {{"x", column}, {"y", row}});  // 1 MiB, or 4
    program.add_output("y", program.call("multiply", {{"x", x}, {"y", table}}));
    EXPECT_EQ(CompiledProgram(ctx, program).calls(), extent == 512 ? 1 : 2);
    check(program);
  }
  // Of 16 MiB: 256 MiB, and once more what the constants take.
  Program program;
  ValueId y = program.add_constant("c", constant({4, 1 << 20}, 1));
  for (int i = 0; i < 18; ++i) y = program.call("relu", {{"x", y}});
  program.add_output("y", program.call("sum", {{"x", y}}));
  EXPECT_EQ(CompiledProgram(ctx, program).calls(), 2);
}

TEST_P(GraphExecutionTest, BatchNormsAreFoldedIntoConvolutions) {
  for (const bool has_bias : {false, true}) {
    Program program;
    const ValueId x = program.add_input("x", ElementType::f32, {2, 3, 8, 8});
    const ValueId weight = program.add_constant("weight", constant({4, 3, 3, 3}, 1));
    const ValueId bias = has_bias ? program.add_constant("bias", constant({4}, 2)) : ValueId();
    const ValueId conv = program.call("conv2d", {{"x", x}, {"weight", weight}, {"bias", bias}});
    const graph::Call norm =
        program.add_call({.op = "batch_norm",
                          .inputs = {{"x", conv},
                                     {"mean", program.add_constant("mean", constant({4}, 3))},
                                     {"variance", program.add_constant("var", constant({4}, 4, 0.5))},
                                     {"scale", program.add_constant("scale", constant({4}, 5))},
                                     {"bias", program.add_constant("shift", constant({4}, 6))}},
                          .attributes = {{"is_test", true}}});
    program.add_output("y", program.call("relu", {{"x", norm.result("out")}}));
    const CompiledProgram folded(ctx, program);
    EXPECT_EQ(folded.calls(), 2) << folded.to_string();
    const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, 7);
    Execution execution(ctx, folded, {.poison = true});
    expect_near(run_results(ctx, execution, program, inputs), plain_results(ctx, program, inputs), 2e-6f);
    check(program);
    // Somebody else reads what the convolution gives.
    program.add_output("conv", conv);
    EXPECT_EQ(CompiledProgram(ctx, program).calls(), 3);
  }
}

TEST_P(GraphExecutionTest, WhatIsAddedToAProductIsItsBias) {
  Program program;
  const ValueId x = program.add_input("x", ElementType::f32, {5, 4});
  const ValueId weight = program.add_input("weight", ElementType::f32, {4, 3});
  const ValueId bias = program.add_input("bias", ElementType::f32, {1, 3});
  const ValueId image = program.add_input("image", ElementType::f32, {2, 3, 8, 8});
  const ValueId filter = program.add_input("filter", ElementType::f32, {4, 3, 3, 3});
  const ValueId channels = program.add_input("channels", ElementType::f32, {4, 1, 1});
  const ValueId full = program.add_input("full", ElementType::f32, {2, 4, 6, 6});
  program.add_output("linear",
                     program.call("add", {{"x", program.call("linear", {{"x", x}, {"weight", weight}})}, {"y", bias}}));
  const ValueId conv = program.call("conv2d", {{"x", image}, {"weight", filter}});
  program.add_output("conv", program.call("add", {{"x", conv}, {"y", channels}}));
  const ValueId other = program.call("conv2d", {{"x", image}, {"weight", filter}});
  program.add_output("full", program.call("add", {{"x", other}, {"y", full}}));  // no bias
  const CompiledProgram folded(ctx, program);
  EXPECT_EQ(folded.calls(), 4) << folded.to_string();
  const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, 7);
  Execution execution(ctx, folded, {.poison = true});
  expect_near(run_results(ctx, execution, program, inputs), plain_results(ctx, program, inputs), 2e-6f);
  check(program);
}

TEST_P(GraphExecutionTest, FoldedBiasesHaveNamesOfTheirOwn) {
  for (const bool is_convolution : {false, true}) {
    Program program;
    const auto input = [&](const char* name, const Extents& image, const Extents& matrix) {
      return program.add_input(name, ElementType::f32, is_convolution ? image : matrix);
    };
    const ValueId x = input("x", {2, 4, 8, 8}, {5, 4});
    const ValueId weight = input("weight", {3, 4, 3, 3}, {4, 3});
    const ValueId biases[] = {input("b1", {3, 1, 1}, {1, 3}), input("b2", {3, 1, 1}, {1, 3})};
    ValueId products[2];
    for (ValueId& product : products) {
      product = program.call(is_convolution ? "conv2d" : "linear", {{"x", x}, {"weight", weight}});
    }
    // It is call 2, as the reshape of the second bias is in the program that is made.
    program.add_output("flat", program.call("reshape", {{"x", x}}, {{"shape", Integers{-1}}}));
    program.add_output("y1", program.call("add", {{"x", products[0]}, {"y", biases[0]}}));
    program.add_output("y2", program.call("add", {{"x", products[1]}, {"y", biases[1]}}));
    const CompiledProgram folded(ctx, program);
    EXPECT_EQ(folded.to_string().find(" = add"), std::string::npos) << folded.to_string();
    const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, 7);
    Execution execution(ctx, folded, {.poison = true});
    expect_near(run_results(ctx, execution, program, inputs), plain_results(ctx, program, inputs), 1e-5f);
  }
}

TEST_P(GraphExecutionTest, RaggedValues) {
  Program program;
  const Levels levels = Levels::from_lengths({2, 0, 3});
  const ValueId x = program.add_input("x", ElementType::f32, {5, 3}, levels);
  const ValueId y = program.call("sequence_pool", {{"x", program.call("gelu", {{"x", x}})}}, {{"pooltype", "max"}});
  program.add_output("y", program.call("sequence_expand", {{"x", y}, {"y", levels}}));
  check(program);
}

TEST_P(GraphExecutionTest, TensorsOfTheCaller) {
  Program program;
  const ValueId x = program.add_input("x", ElementType::f32, {2, 3});
  const ValueId w = program.add_input("w", ElementType::f32, {2, 3});
  const ValueId y = program.call("add", {{"x", x}, {"y", w}});
  program.add_output("y", y);
  program.add_output("w", program.call("gelu", {{"x", y}}), w);
  Execution execution(ctx, CompiledProgram(ctx, program));
  const Tensor mine = tensor({2, 3}, 1), weight = tensor({2, 3}, 2), out = tensor({2, 3}, 3);
  execution.bind_input("x", mine);
  execution.bind_input("w", weight);
  execution.bind_output("y", out);
  const std::vector<float> before = elements(weight);
  execution.run();
  EXPECT_EQ(execution.output("w").data(), weight.ref().data());
  EXPECT_EQ(execution.output("y").data(), out.ref().data());
  EXPECT_NE(elements(weight), before);
  EXPECT_FLOAT_EQ(elements(out)[1], elements(mine)[1] + before[1]);

  const auto refused = [&](const std::function<void()>& call, const std::string& message) {
    EXPECT_EQ(message_of(call), "portops::graph::Execution::" + message);
  };
  refused([&] { execution.bind_input("z", mine); }, "bind_input: no input is named 'z'");
  refused([&] { execution.bind_output("x", mine); }, "bind_output: no output is named 'x'");
  refused([&] { execution.bind_output("w", mine); }, "bind_output: w is left in the input w");
  refused([&] { execution.bind_input("x", TensorRef()); }, "bind_input: x is empty, expected a tensor");
  refused([&] { execution.bind_input("x", tensor({3, 2}, 1)); }, "bind_input: x is f32 [3, 2], expected f32 [2, 3]");
  const TensorRef turned(mine.data<float>(), {2, 3}, {1, 2}, mine.ref().space());
  refused([&] { execution.bind_input("x", turned); }, "bind_input: x has strides [1, 2], expected a contiguous tensor");
  const TensorRef constant(static_cast<const float*>(mine.data<float>()), {2, 3}, mine.ref().space());
  execution.bind_input("x", constant);
  refused([&] { execution.bind_input("w", constant); }, "bind_input: w is read-only, but is written");
  execution.bind_input("w", mine);
  refused([&] { execution.run(); }, "run: w, which is written, overlaps x");
}

TEST_P(GraphExecutionTest, OneProgramOnSeveralThreads) {
  if (GetParam() == Backend::serial) GTEST_SKIP() << "one thread at a time calls on an instance of Serial";
  Program program;
  ValueId y = program.add_input("x", ElementType::f32, {16, 16});
  for (int i = 0; i < 8; ++i) {
    y = program.call("softmax", {{"x", program.call("add", {{"x", program.call("gelu", {{"x", y}})}, {"y", y}})}});
  }
  program.add_output("y", y);
  const CompiledProgram compiled(ctx, program);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, -1);
  for (unsigned number = 0; number < 4; ++number) {
    const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, number);
    const Results expected = plain_results(ctx, program, inputs);
    threads.emplace_back([this, &compiled, &program, &wrong, number, inputs, expected] {
      Execution execution(ctx, compiled);
      wrong[number] = 0;
      for (int run = 0; run < 20; ++run) {
        wrong[number] += run_results(ctx, execution, program, inputs) == expected ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0, 0}));
}

TEST_P(GraphExecutionTest, AFenceWaitsForAllThatAFailedRunHasEnqueued) {
  Program program;
  const ValueId x =
      program.add_input("x", ElementType::f32, GetParam() == Backend::cuda ? Extents{512, 1024} : Extents{8, 16});
  const ValueId matrix = program.add_input("matrix", ElementType::f32, {4, 4});
  const ValueId first = program.call("relu", {{"x", matrix}});
  ValueId y = x;  // on the second instance
  for (int i = 0; i < 64; ++i) y = program.call("softmax", {{"x", program.call("gelu", {{"x", y}})}});
  program.add_output("y", y);
  program.add_output("product", program.call("matmul", {{"x", first}, {"y", matrix}}));  // on the first one
  const CompiledProgram compiled(ctx, program, {.instances = 2});
  const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, 1);
  ctx.deterministic(true);
  Context refusing = ctx;
  refusing.products(Products::kokkos_kernels);  // which promise no order of additions
  Execution execution(refusing, compiled);
  for (const auto& [name, tensor] : inputs) copy(ctx, tensor, execution.input(name));
  EXPECT_EQ(message_of([&] { execution.run(); }).substr(0, 51), "portops::graph::Execution::run: call 129: portops::");
  const std::vector<unsigned char> result = bytes_of(ctx, execution.output("y"));
  Execution other(ctx, compiled);
  EXPECT_EQ(result, run_results(ctx, other, program, inputs).at("y"));
}

TEST_P(GraphExecutionTest, ErrorsSayWhere) {
  Program program;
  program.add_output("y", program.call("gelu", {{"x", program.add_input("x", ElementType::f32, {2})}}));
  const CompiledProgram compiled(ctx, program);
  EXPECT_EQ(message_of([&] { CompiledProgram(ctx, program, {.instances = 0}); }),
            "portops::graph::CompiledProgram: instances is 0, expected 1 to 64");
  Execution execution(ctx, compiled);
  if (GetParam() == Backend::cuda) return;
  EXPECT_EQ(message_of([&] { execution.capture(); }), "portops::graph::Execution::capture: the backend is " +
                                                          std::string(name_of(GetParam())) + ", expected cuda");
}

PORTOPS_ON_EVERY_BACKEND(GraphExecutionTest);

}  // namespace
}  // namespace portops::test
