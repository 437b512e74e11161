// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/graph_support.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/graph/record.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/relu.hpp>

// Which value a variable is for a recorder: by its memory, by where its elements lie, and by who has changed them.

namespace portops::test {
namespace {

using ag::Variable;
using graph::Program;

class GraphRecordTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<float>(); }

  Tensor tensor(const Extents& extents, const std::vector<float>& elements) {
    return tensor_of<float>(ctx, extents, elements);
  }
  static int constants_in(const Program& program) {
    return static_cast<int>(
        std::count_if(program.values().begin(), program.values().end(),
                      [](const graph::ValueInfo& value) { return value.origin == graph::Origin::constant; }));
  }
  std::vector<float> run(const Program& program, const Tensor& x, const char* output) {
    graph::Execution execution(ctx, graph::CompiledProgram(ctx, program));
    execution.bind_input("x", x);
    execution.run();
    return elements_of<float>(ctx, execution.output(output));
  }
};

TEST_P(GraphRecordTest, AVariableOfTheSameElementsIsTheSameValue) {
  const Variable x(tensor({2, 2}, {1, 2, 3, 4}));
  graph::Recorder recorder(ctx);
  recorder.input("x", x);
  const Variable h = ag::relu(ctx, x);
  recorder.output("a", ag::gelu(ctx, Variable(h.tensor())));
  recorder.output("b", ag::gelu(ctx, h.detach()));
  recorder.output("c", Variable(x.tensor()));
  EXPECT_EQ(recorder.finish().to_string(),
            "input x: f32 [2, 2]\n"
            "relu_0: f32 [2, 2] = relu(x = x)\n"
            "gelu_1: f32 [2, 2] = gelu(x = relu_0)\n"
            "gelu_2: f32 [2, 2] = gelu(x = relu_0)\n"
            "output a = gelu_1\n"
            "output b = gelu_2\n"
            "output c = x\n");
}

TEST_P(GraphRecordTest, ViewsOfValuesAreRefused) {
  const Variable x(tensor({2, 2}, {1, 2, 3, 4}));
  graph::Recorder recorder(ctx);
  recorder.input("x", x);
  const Variable h = ag::relu(ctx, x);
  const auto* const begin = static_cast<const float*>(h.tensor().data());
  const MemorySpace space = h.tensor().space();
  const auto refused = [&](const TensorRef& view, const std::string& extents) {
    EXPECT_EQ(message_of([&] { ag::gelu(ctx, Variable(view)); }),
              "portops::graph::Recorder: a tensor of extents " + extents +
                  " shares memory with relu_0, of extents [2, 2]: views of variables are not recorded");
  };
  refused(TensorRef(begin, {4}, space), "[4]");                // another shape
  refused(TensorRef(begin, {2}, space), "[2]");                // the first row
  refused(TensorRef(begin + 2, {2}, space), "[2]");            // the second one
  refused(TensorRef(begin, {2, 2}, {1, 2}, space), "[2, 2]");  // turned
  // What reads a view of an input has no chance to say so later.
  const Variable row(TensorRef(static_cast<const float*>(x.tensor().data()), {2}, space));
  EXPECT_EQ(message_of([&] { recorder.input("row", row); }),
            "portops::graph::Recorder::input: row has been read or made already");
  EXPECT_EQ(message_of([&] { recorder.output("row", row); }),
            "portops::graph::Recorder: a tensor of extents [2] shares memory with x, of extents [2, 2]: views of "
            "variables are not recorded");
  EXPECT_EQ(message_of([&] { recorder.output("nothing", Variable()); }),
            "portops::graph::Recorder::output: nothing was not made by a recorded call, and is no input");
}

TEST_P(GraphRecordTest, LevelsAreThoseOfTheCalls) {
  const Variable x(tensor({3, 1}, {1, 2, 3}), Levels::from_lengths({1, 2}));
  graph::Recorder recorder(ctx);
  recorder.input("x", x);
  const Variable h = ag::relu(ctx, x);
  EXPECT_EQ(
      message_of([&] { ag::gelu(ctx, Variable(h.tensor(), Levels::from_lengths({2, 1}))); }),
      "portops::graph::Recorder: a tensor of extents [3, 1] shares memory with relu_0, but has other levels: values "
      "have those of the calls that make them");
  recorder.output("y", ag::gelu(ctx, Variable(h.tensor(), h.levels())));
  // A call in place may give levels to what had none.
  Variable plain(tensor({3, 1}, {1, 2, 3}));
  recorder.input("plain", plain);
  ag::in_place::add(ctx, plain, x);
  recorder.output("z", ag::gelu(ctx, plain));
  const Program program = recorder.finish();
  EXPECT_EQ(program.value(program.outputs()[1].value).levels, x.levels());
}

TEST_P(GraphRecordTest, AConstantIsWhatItIsWhenItIsRead) {
  const Variable x(tensor({2}, {0, 0}));
  const Tensor buffer = tensor({2}, {0, 0});
  graph::Recorder recorder(ctx);
  recorder.input("x", x);
  Variable y = x;
  // Memory of the caller's, which holds other elements each time.
  for (const float number : {1.0f, 2.0f}) {
    copy(ctx, tensor({2}, {number, 10 * number}), buffer);
    y = ag::add(ctx, y, Variable(buffer.ref()));
  }
  // A variable that is changed by others, and says so.
  const Variable told(tensor({2}, {100, 200}));
  y = ag::add(ctx, ag::add(ctx, y, told), told);
  copy(ctx, tensor({2}, {1000, 2000}), told.tensor());
  told.mark_changed("the test");
  recorder.output("y", ag::add(ctx, y, told));
  ctx.fence();
  const Program program = recorder.finish();
  EXPECT_EQ(constants_in(program), 4) << program.to_string();
  EXPECT_EQ(run(program, tensor({2}, {0, 0}), "y"), (std::vector<float>{1203, 2430}));
}

TEST_P(GraphRecordTest, WhatOthersHaveChangedIsNoValueAnyMore) {
  const Variable x(tensor({2}, {1, 2}));
  graph::Recorder recorder(ctx);
  recorder.input("x", x);
  const Variable h = ag::relu(ctx, x);
  x.mark_changed("the test");
  EXPECT_EQ(message_of([&] { ag::gelu(ctx, x); }),
            "portops::graph::Recorder: x was changed by the test, and not by a recorded call");
  h.mark_changed("the test");
  EXPECT_EQ(message_of([&] { recorder.output("h", h); }),
            "portops::graph::Recorder: relu_0 was changed by the test, and not by a recorded call");
}

TEST_P(GraphRecordTest, CallsInPlaceMakeAnotherValueOfAllThatShareTheElements) {
  const Tensor memory = tensor({2}, {-1, 2});
  const Variable x(memory);
  Variable same(memory);
  graph::Recorder recorder(ctx);
  recorder.input("x", x);
  ag::in_place::relu(ctx, same);
  ag::in_place::add(ctx, same, 1.0);
  recorder.output("y", ag::gelu(ctx, x));
  EXPECT_EQ(recorder.finish().to_string(),
            "input x: f32 [2]\n"
            "relu_0: f32 [2] = relu(x = x)\n"
            "add_1: f32 [2] = add(x = relu_0, y = 1)\n"
            "gelu_2: f32 [2] = gelu(x = add_1)\n"
            "output y = gelu_2\n"
            "output x = add_1 over x\n");
  // A program does not remember what became of a constant, through whatever variable it was changed.
  graph::Recorder other(ctx);
  const Variable z = ag::relu(ctx, Variable(memory));
  ag::in_place::add(ctx, same, z);
  EXPECT_EQ(message_of([&] { other.finish(); }),
            "portops::graph::Recorder::finish: a tensor of extents [2] that is no input, constant_1, was changed in "
            "place: a program does not remember that, expected an input");
}

TEST_P(GraphRecordTest, InputsThatAreChangedAreOutputsInTheirOrder) {
  std::vector<Variable> buffers;
  for (int i = 0; i < 8; ++i) buffers.emplace_back(tensor({2}, {1, 2}));
  // Neither in the order of their addresses nor in that in which they are changed.
  std::swap(buffers[0], buffers[5]);
  std::swap(buffers[2], buffers[6]);
  graph::Recorder recorder(ctx);
  for (int i = 0; i < 8; ++i) recorder.input("buffer" + std::to_string(i), buffers[static_cast<std::size_t>(i)]);
  for (std::size_t i = 8; i-- > 0;) ag::in_place::relu(ctx, buffers[i]);
  const Program program = recorder.finish();
  ASSERT_EQ(program.outputs().size(), 8);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(program.outputs()[i].name, "buffer" + std::to_string(i));
}

PORTOPS_ON_EVERY_BACKEND(GraphRecordTest);

}  // namespace
}  // namespace portops::test
