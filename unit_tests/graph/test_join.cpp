// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/compiled_data.hpp"
#include "graph/graph_support.hpp"

#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/clip.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/slice.hpp>

#include <limits>
#include <thread>

// Programs: weights that are packed once, additions and bounds that are joined to convolutions, relus to batch norms.

namespace portops::test {
namespace {

struct Shape {
  std::int64_t channels, out_channels, groups, height, width, kernel;
};

/// One for each path of hosts: vectors of output channels, of which some are filled up; of positions; depthwise;
/// strips.
const std::vector<Shape> shapes{{24, 70, 1, 9, 7, 3},  {5, 64, 1, 8, 30, 1}, {6, 20, 1, 12, 16, 3},
                                {16, 16, 16, 9, 8, 3}, {2, 3, 1, 16, 20, 3}, {300, 4, 1, 3, 3, 3}};

class GraphJoinTest : public OnEveryBackend {
 protected:
  template <class T>
  Tensor constant(const Extents& extents, unsigned seed) {
    return random_tensor<T>(ctx, extents, seed);
  }

  /// A convolution of x with constant weights.
  template <class T>
  ValueId convolve(Program& program, ValueId x, const Shape& s, unsigned seed) {
    const std::string number = std::to_string(seed);
    const ValueId weight = program.add_constant(
        "weight_" + number, constant<T>({s.out_channels, s.channels / s.groups, s.kernel, s.kernel}, seed));
    const ValueId bias = program.add_constant("bias_" + number, constant<T>({s.out_channels}, seed + 1));
    return program.call("conv2d", {{"x", x}, {"weight", weight}, {"bias", bias}},
                        {{"padding", Integers{s.kernel / 2, s.kernel / 2}}, {"groups", s.groups}});
  }

  /// Compares with plain calls, run after run, and gives what ran.
  std::shared_ptr<const graph::CompiledData> compare(const Program& program, const CompileParams& params) {
    const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, 5);
    const Results expected = plain_results(ctx, program, inputs);
    const CompiledProgram compiled(ctx, program, params);
    for (const bool poison : {false, true}) {
      Execution execution(ctx, compiled, {.poison = poison});
      for (int run = 0; run < 2; ++run) {
        EXPECT_EQ(run_results(ctx, execution, program, inputs), expected)
            << program.to_string() << compiled.to_string();
      }
    }
    return compiled.data();
  }
  /// The same, and says how many calls make what follows.
  std::size_t joined_of(const Program& program, const CompileParams& params = CompileParams::same_bits()) {
    return compare(program, params)->joins.steps.size();
  }
  static ValueId relu_grad(Program& program, ValueId out, ValueId out_grad) {
    return program.add_call({.op = "relu_grad", .inputs = {{"out", out}, {"out_grad", out_grad}}, .wanted = {"x_grad"}})
        .result("x_grad");
  }
  std::size_t on_hosts(std::size_t count) const { return ctx.backend() == Backend::cuda ? 0 : count; }
};

PORTOPS_ON_EVERY_BACKEND(GraphJoinTest);

TEST_P(GraphJoinTest, bounds_and_additions_keep_their_bits) {
  for_each_type([&]<class T>() {
    for (const Shape& s : shapes) {
      for (const int bounds : {0, 1, 2, 3}) {
        for (const int addition : {0, 1, 2}) {  // none, and the convolution as either operand
          Program program;
          const ValueId x = program.add_constant("x", constant<T>({2, s.channels, s.height, s.width}, 7));
          const ValueId other = program.add_constant("other", constant<T>({2, s.out_channels, s.height, s.width}, 8));
          // What is added may be written over.
          const ValueId addend = program.call("add", {{"x", other}, {"y", 0.5}});
          ValueId y = convolve<T>(program, x, s, 1);
          if (addition == 1) y = program.call("add", {{"x", y}, {"y", addend}});
          if (addition == 2) y = program.call("add", {{"x", addend}, {"y", y}});
          if (bounds == 1) y = program.call("relu", {{"x", y}});
          // Numbers that 16-bit types do not have.
          if (bounds == 2) y = program.call("clip", {{"x", y}}, {{"min", -0.1}, {"max", 0.3}});
          if (bounds == 3) y = program.call("clip", {{"x", y}}, {{"max", 0.3}});
          program.add_output("y", y);
          CompileParams params = CompileParams::same_bits();
          params.fold_constants = false;
          EXPECT_EQ(joined_of(program, params), on_hosts(bounds > 0 || addition > 0 ? 1 : 0)) << program.to_string();
        }
      }
    }
  });
}

TEST_P(GraphJoinTest, a_block_of_a_residual_network) {
  need_type<float>();
  const Shape s{16, 16, 1, 12, 14, 3};
  Program program;
  const ValueId x = program.add_input("x", ElementType::f32, {2, 16, 12, 14});
  const ValueId a = program.call("relu", {{"x", convolve<float>(program, x, s, 1)}});
  const ValueId b = convolve<float>(program, a, s, 3);
  const ValueId shorter = convolve<float>(program, x, {16, 16, 1, 12, 14, 1}, 5);
  const ValueId sum = program.call("relu", {{"x", program.call("add", {{"x", b}, {"y", shorter}})}});
  program.add_output("y", program.call("gelu", {{"x", sum}}));
  EXPECT_EQ(joined_of(program), on_hosts(2));
  CompileParams apart = CompileParams::same_bits();
  apart.in_place = apart.reuse_memory = false;
  EXPECT_EQ(joined_of(program, apart), on_hosts(2));
}

// On GPUs too; of rows, planes, images with their channels last, and 16-bit numbers that are rounded to −0.
TEST_P(GraphJoinTest, batch_norms_with_relu) {
  for_each_type([&]<class T>() {
    for (const Extents& extents : {Extents{40, 24}, Extents{3, 16, 9, 7}, Extents{5, 17, 4, 8}}) {
      for (const char* layout : {"NCHW", "NHWC"}) {
        for (const bool is_test : {false, true}) {
          const bool is_last = std::string(layout) == "NHWC";
          Program program;
          const ValueId x = program.add_constant("x", constant<T>(extents, 7));
          const auto parameter = [&](const char* name, unsigned seed, double least) {
            using Parameter = std::conditional_t<sizeof(T) == 8, double, float>;
            const Extents channels{extents[is_last ? extents.rank() - 1 : 1]};
            return program.add_constant(name, random_tensor<Parameter>(ctx, channels, seed, least, 1.5));
          };
          const ValueId norm = program
                                   .add_call({.op = "batch_norm",
                                              .inputs = {{"x", x},
                                                         {"mean", parameter("mean", 1, -1.5)},
                                                         {"variance", parameter("variance", 2, 0.5)},
                                                         {"scale", parameter("scale", 3, 1e-7)}},
                                              .attributes = {{"is_test", is_test}, {"data_layout", layout}}})
                                   .result("out");
          program.add_output("y", program.call("relu", {{"x", norm}}));
          CompileParams params = CompileParams::same_bits();
          params.fold_constants = false;
          EXPECT_EQ(joined_of(program, params), 1U) << program.to_string();
        }
      }
    }
  });
}

// Of rows, planes and images with their channels last; where results lie where out_grad did, and where they do not.
TEST_P(GraphJoinTest, gradients_of_batch_norms_with_that_of_relu) {
  for_each_type([&]<class T>() {
    using Parameter = std::conditional_t<sizeof(T) == 8, double, float>;
    for (const Extents& extents : {Extents{40, 24}, Extents{3, 16, 9, 7}, Extents{5, 17, 4, 8}}) {
      for (const char* layout : {"NCHW", "NHWC"}) {
        for (const char* without : {"nothing", "scale", "bias"}) {
          const Extents channels{extents[layout == std::string("NHWC") ? extents.rank() - 1 : 1]};
          Program program;
          const ValueId x = program.add_input("x", ElementTypeOf<T>::value, extents);
          const auto parameter = [&](const char* name, unsigned seed, double least) {
            return name == std::string(without)
                       ? ValueId()
                       : program.add_constant(name, random_tensor<Parameter>(ctx, channels, seed, least, 1.5));
          };
          graph::CallRequest forward{
              .op = "batch_norm",
              .inputs = {{"x", x}, {"scale", parameter("scale", 3, -1.0)}, {"bias", parameter("bias", 4, -1.0)}},
              .attributes = {{"data_layout", layout}}};
          graph::CallRequest backward = forward;
          forward.inputs.insert_or_assign("mean", parameter("mean", 1, -1.5));
          forward.inputs.insert_or_assign("variance", parameter("variance", 2, 0.5));
          const graph::Call norm = program.add_call(forward);
          const ValueId out = program.call("relu", {{"x", norm.result("out")}});
          program.add_output("out", out);
          const ValueId out_grad = program.call("multiply", {{"x", out}, {"y", -0.75}});
          backward.op = "batch_norm_grad";
          backward.inputs.insert_or_assign("saved_mean", norm.result("saved_mean"));
          backward.inputs.insert_or_assign("saved_inv_std", norm.result("saved_inv_std"));
          backward.inputs.insert_or_assign("out_grad", relu_grad(program, out, out_grad));
          backward.wanted = {"x_grad"};
          for (const char* name : {"scale", "bias"}) {
            if (name != std::string(without)) backward.wanted.push_back(name + std::string("_grad"));
          }
          const graph::Call grad = program.add_call(backward);
          for (const std::string& name : backward.wanted) {
            program.add_output(name, program.call("gelu", {{"x", grad.result(name)}}));
          }
          for (const bool in_place : {false, true}) {
            CompileParams params = CompileParams::same_bits();
            params.in_place = params.reuse_memory = in_place;
            EXPECT_EQ(compare(program, params)->joins.relu_gradients.size(), ctx.backend() == Backend::cuda ? 1U : 0U)
                << program.to_string();
          }
        }
      }
    }
  });
}

TEST_P(GraphJoinTest, gradients_of_relu_that_others_read_are_not_joined) {
  need_type<float>();
  for (const int kind : {0, 1, 2}) {
    Program program;
    const ValueId x = program.add_input("x", ElementType::f32, {12, 8});
    const auto parameter = [&](const char* name, unsigned seed) {
      return program.add_constant(name, random_tensor<float>(ctx, {8}, seed, 0.5, 1.5));
    };
    const ValueId mean = parameter("mean", 1), variance = parameter("variance", 2), bias = parameter("bias", 3);
    const graph::Call norm = program.add_call(
        {.op = "batch_norm", .inputs = {{"x", x}, {"mean", mean}, {"variance", variance}, {"bias", bias}}});
    // Relu of something else.
    const ValueId out = program.call("relu", {{"x", kind == 0 ? x : norm.result("out")}});
    const ValueId passed = relu_grad(program, out, program.call("gelu", {{"x", out}}));
    if (kind == 1) program.add_output("passed", passed);
    // Another bias.
    const ValueId its_bias = kind == 2 ? parameter("other", 4) : bias;
    const graph::Call grad = program.add_call({.op = "batch_norm_grad",
                                               .inputs = {{"x", x},
                                                          {"bias", its_bias},
                                                          {"saved_mean", norm.result("saved_mean")},
                                                          {"saved_inv_std", norm.result("saved_inv_std")},
                                                          {"out_grad", passed}},
                                               .wanted = {"x_grad"}});
    program.add_output("x_grad", grad.result("x_grad"));
    EXPECT_EQ(compare(program, CompileParams::same_bits())->joins.relu_gradients.size(), 0U) << kind;
  }
}

// The bias is what tells what relu passed.
TEST_P(GraphJoinTest, gradients_that_are_left_in_the_bias_are_not_joined) {
  need_type<float>();
  for (const bool is_left : {false, true}) {
    Program program;
    const ValueId x = program.add_input("x", ElementType::f32, {12, 8});
    const ValueId bias = program.add_input("bias", ElementType::f32, {8});
    const ValueId mean = program.add_constant("mean", constant<float>({8}, 1));
    const ValueId variance = program.add_constant("variance", random_tensor<float>(ctx, {8}, 2, 0.5, 1.5));
    graph::CallRequest request{.op = "batch_norm", .inputs = {{"x", x}, {"bias", bias}}};
    graph::CallRequest forward = request;
    forward.inputs.insert_or_assign("mean", mean);
    forward.inputs.insert_or_assign("variance", variance);
    const graph::Call norm = program.add_call(forward);
    const ValueId out = program.call("relu", {{"x", norm.result("out")}});
    request.op = "batch_norm_grad";
    request.inputs.insert_or_assign("saved_mean", norm.result("saved_mean"));
    request.inputs.insert_or_assign("saved_inv_std", norm.result("saved_inv_std"));
    request.inputs.insert_or_assign("out_grad", relu_grad(program, out, program.call("gelu", {{"x", out}})));
    request.wanted = {"x_grad", "bias_grad"};
    const graph::Call grad = program.add_call(request);
    program.add_output("x_grad", grad.result("x_grad"));
    program.add_output("bias_grad", grad.result("bias_grad"), is_left ? bias : ValueId());
    const CompiledProgram compiled(ctx, program, CompileParams::same_bits());
    EXPECT_EQ(compiled.data()->joins.relu_gradients.size(), ctx.backend() == Backend::cuda && !is_left ? 1U : 0U);
  }
}

// Statistics that nobody reads die with the batch norm: relu's result, which comes next, could lie on them.
TEST_P(GraphJoinTest, no_result_lies_where_statistics_do) {
  need_type<float>();
  for (const std::int64_t channels : {1, 16, 64, 256}) {
    Program program;
    const ValueId x = program.add_input("x", ElementType::f32, {channels == 1 ? 64 : 2, channels});
    const auto parameter = [&](const char* name, unsigned seed) {
      return program.add_constant(name, random_tensor<float>(ctx, {channels}, seed, 0.5, 1.5));
    };
    const ValueId norm =
        program
            .add_call({.op = "batch_norm",
                       .inputs = {{"x", x}, {"mean", parameter("mean", 1)}, {"variance", parameter("variance", 2)}},
                       .attributes = {{"is_test", true}}})
            .result("out");
    program.add_output("y", program.call("gelu", {{"x", program.call("relu", {{"x", norm}})}}));
    for (const bool in_place : {false, true}) {
      CompileParams params = CompileParams::same_bits();
      params.in_place = in_place;
      joined_of(program, params);
    }
  }
}

TEST_P(GraphJoinTest, what_others_read_or_see_is_not_joined) {
  need_type<float>();
  const Shape s{8, 16, 1, 12, 14, 3};
  const auto program_of = [&](int kind) {
    Program program;
    const ValueId x = program.add_input("x", ElementType::f32, {1, 8, 12, 14});
    const ValueId y = convolve<float>(program, x, s, 1);
    if (kind == 0) program.add_output("first", y);  // a result
    if (kind == 1) program.add_output("again", program.call("gelu", {{"x", y}}));
    if (kind == 2) program.add_output("y", program.call("add", {{"x", y}, {"y", y}}));
    if (kind == 3) program.add_output("y", program.call("add", {{"x", y}, {"y", 1.0}}));
    if (kind < 2) program.add_output("y", program.call("relu", {{"x", y}}));
    if (kind == 4) {  // broadcast
      const ValueId row = program.add_constant("row", constant<float>({1, 16, 12, 1}, 9));
      program.add_output("y", program.call("add", {{"x", y}, {"y", row}}));
    }
    if (kind == 5) {  // something between
      const ValueId between = program.call("gelu", {{"x", x}});
      program.add_output("between", between);
      program.add_output("y", program.call("relu", {{"x", y}}));
    }
    return program;
  };
  for (int kind = 0; kind < 6; ++kind) EXPECT_EQ(joined_of(program_of(kind)), 0) << kind;
}

TEST_P(GraphJoinTest, deformable_convolutions) {
  for_each_type([&]<class T>() {
    for (const std::int64_t out_channels : {5, 48}) {
      for (const std::int64_t channels : {4, 24}) {  // in strips, and not
        Program program;
        const ValueId x = program.add_constant("x", constant<T>({2, channels, 7, 7}, 1));
        const ValueId offset = program.add_constant("offset", constant<T>({2, 18, 7, 7}, 2));
        const ValueId weight = program.add_constant("weight", constant<T>({out_channels, channels, 3, 3}, 3));
        const ValueId y = program.call("deform_conv2d", {{"x", x}, {"offset", offset}, {"weight", weight}},
                                       {{"padding", Integers{1, 1}}});
        program.add_output("y", program.call("relu", {{"x", y}}));
        CompileParams params = CompileParams::same_bits();
        params.fold_constants = false;
        EXPECT_EQ(joined_of(program, params), on_hosts(1));
      }
    }
  });
}

TEST_P(GraphJoinTest, linear_layers_keep_their_bits) {
  for_each_type([&]<class T>() {
    for (const auto& [rows, inner, columns] : {std::tuple{1, 700, 130}, {5, 3, 70}, {70, 260, 33}}) {
      for (const bool transposed : {false, true}) {
        Program program;
        const ValueId x = program.add_constant("x", constant<T>({rows, inner}, 1));
        const Extents extents = transposed ? Extents{columns, inner} : Extents{inner, columns};
        const ValueId weight = program.add_constant("weight", constant<T>(extents, 2));
        const ValueId bias = program.add_constant("bias", constant<T>({columns}, 3));
        program.add_output("y", program.call("linear", {{"x", x}, {"weight", weight}, {"bias", bias}},
                                             {{"transpose_weight", transposed}}));
        CompileParams params = CompileParams::same_bits();
        params.fold_constants = false;
        EXPECT_EQ(joined_of(program, params), 0);
      }
    }
  });
}

// A view reaches from its first element to its last one, in front of which it may begin.
TEST_P(GraphJoinTest, what_a_view_shows_is_not_written_over) {
  need_type<float>();
  struct View {
    std::int64_t start, end, step;
  };
  for (const View& view : {View{-1, -33, -1}, {0, 32, 2}, {1, 32, 3}}) {
    for (const bool in_place : {true, false}) {
      Program program;
      const ValueId x = program.add_input("x", ElementType::f32, {1, 32, 40, 40});
      const ValueId other = program.add_input("other", ElementType::f32, {1, 16, 40, 40});
      const ValueId shown = program.call("slice", {{"x", program.call("relu", {{"x", x}})}},
                                         {{"axes", Integers{1}},
                                          {"starts", Integers{view.start}},
                                          {"ends", Integers{view.end}},
                                          {"strides", Integers{view.step}}});
      const ValueId y = convolve<float>(program, shown, {program.value(shown).extents[1], 16, 1, 40, 40, 3}, 1);
      const ValueId sum = program.call("add", {{"x", other}, {"y", y}});
      program.add_output("y", program.call("mean", {{"x", sum}}, {{"axis", Integers{1}}}));
      CompileParams params;
      params.channels_last = false;
      params.in_place = in_place;
      joined_of(program, params);
    }
  }
}

TEST_P(GraphJoinTest, bounds_that_are_none) {
  need_type<float>();
  const auto program_of = [&](double min) {
    Program program;
    const ValueId x = program.add_input("x", ElementType::f32, {1, 8, 6, 5});
    const ValueId y = convolve<float>(program, x, {8, 16, 1, 6, 5, 3}, 1);
    program.add_output("y", program.call("clip", {{"x", y}}, {{"min", min}}));
    return program;
  };
  EXPECT_EQ(joined_of(program_of(-std::numeric_limits<double>::infinity())), 0);
  // The call refuses it.
  Execution execution(ctx, CompiledProgram(ctx, program_of(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_NE(message_of([&] { execution.run(); }).find("min is nan"), std::string::npos);
}

// Executions on several threads share a weight that the first of them packs.
TEST_P(GraphJoinTest, threads_share_what_is_made_of_weights) {
  need_type<float>();
  if (ctx.backend() != Backend::openmp) GTEST_SKIP() << "one thread at a time calls on an instance of Serial";
  Program program;
  ValueId y = program.add_input("x", ElementType::f32, {1, 64, 7, 7});
  for (unsigned layer = 0; layer < 4; ++layer) y = convolve<float>(program, y, {64, 64, 1, 7, 7, 3}, 2 * layer + 1);
  program.add_output("y", y);
  const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, 5);
  const Results expected = plain_results(ctx, program, inputs);
  const CompiledProgram compiled(ctx, program, CompileParams::same_bits());
  std::vector<Results> found(4);
  std::vector<std::thread> threads;
  for (Results& each : found) {
    threads.emplace_back([&] {
      Execution execution(ctx, compiled);
      each = run_results(ctx, execution, program, inputs);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Results& each : found) EXPECT_EQ(each, expected);
}

}  // namespace
}  // namespace portops::test
