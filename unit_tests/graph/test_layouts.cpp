// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/compiled_data.hpp"
#include "graph/differentiate.hpp"
#include "graph/graph_support.hpp"
#include "graph/layouts.hpp"
#include "graph/planner.hpp"
#include "graph/verifier.hpp"

#include <portops/ops/add.hpp>
#include <portops/ops/clip.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/mean.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/reshape.hpp>
#include <portops/ops/softmax.hpp>
#include <portops/ops/transpose.hpp>

#include <array>

// Images between convolutions, which lie with their channels last.

namespace portops::test {
namespace {

/// A program of convolutions, whose weights are constants of element type T.
template <class T>
class Network {
 public:
  explicit Network(const Context& ctx) : ctx_(ctx) {}

  Program program;

  const Extents& extents(ValueId x) const { return program.value(x).extents; }
  ValueId constant(const Extents& its) {
    const std::string name = "constant_" + std::to_string(++constants_);
    return program.add_constant(name, random_tensor<T>(ctx_, its, constants_, -0.25, 0.25));
  }
  ValueId image(const Extents& its) { return program.add_input("x", ElementTypeOf<T>::value, its); }
  ValueId conv(ValueId x, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1) {
    const ValueId weight = constant({out, extents(x)[1] / groups, kernel, kernel}), bias = constant({out});
    return program.call(
        "conv2d", {{"x", x}, {"weight", weight}, {"bias", bias}},
        {{"stride", Integers{stride, stride}}, {"padding", Integers{kernel / 2, kernel / 2}}, {"groups", groups}});
  }
  ValueId relu(ValueId x) { return program.call("relu", {{"x", x}}); }
  ValueId add(ValueId x, ValueId y) { return program.call("add", {{"x", x}, {"y", y}}); }
  ValueId concat(ValueId x, ValueId y, std::int64_t axis = 1) {
    return program.call("concat", {{"x", {x, y}}}, {{"axis", axis}});
  }
  ValueId pool(ValueId x, const char* kind = "max") {
    return program.call(
        "pool2d", {{"x", x}},
        {{"kernel_size", Integers{3, 3}}, {"stride", Integers{2, 2}}, {"padding", Integers{1, 1}}, {"pooltype", kind}});
  }

 private:
  const Context& ctx_;
  unsigned constants_ = 0;
};

class GraphLayoutsTest : public OnEveryBackend {
 protected:
  static CompileParams in_rows() {
    CompileParams params;
    params.channels_last = false;
    return params;
  }

  /// How many values of a program lie with their channels last.
  std::int64_t channels_last_of(const Program& program, CompileParams params = {}) const {
    params.fold_constants = false;
    const CompiledProgram compiled(ctx, program, params);
    std::int64_t count = 0;
    for (std::size_t i = 0; i < compiled.program().values().size(); ++i) {
      const Extents& extents = compiled.program().values()[i].extents;
      const graph::Place& place = compiled.data()->plan.places[i];
      if (place.memory != graph::MemoryKind::arena || extents.rank() != 4) continue;
      const bool is_last = graph::lie_alike(extents, place.strides, graph::channels_last_strides(extents));
      if (is_last && !graph::is_row_major(extents, place.strides)) ++count;
    }
    return count;
  }

  /// That it gives what it gives with all values in rows, where dead memory is NaN too: on hosts the same bits.
  template <class T = float>
  void expect_results_of_rows(const Program& program) const {
    const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, 5);
    Execution plain(ctx, CompiledProgram(ctx, program, in_rows()));
    const Results expected = run_results(ctx, plain, program, inputs);
    for (const bool poison : {false, true}) {
      Execution execution(ctx, CompiledProgram(ctx, program), {.poison = poison});
      for (int run = 0; run < 2; ++run) {
        const Results results = run_results(ctx, execution, program, inputs);
        if (ctx.backend() == Backend::cuda) {
          expect_near<T>(results, expected, sizeof(T) == 8 ? 1e-13 : sizeof(T) == 4 ? 4e-6 : 0.03);
        } else {
          EXPECT_EQ(results, expected) << program.to_string();
        }
      }
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(GraphLayoutsTest);

TEST_P(GraphLayoutsTest, blocks_of_networks) {
  for_each_type([&]<class T>() {
    for (const std::int64_t channels : {16, 20, 35}) {
      for (const std::int64_t kernel : {1, 3, 5}) {
        Network<T> net(ctx);
        const ValueId first = net.relu(net.conv(net.image({2, 3, 19, 13}), channels, 3, 2));
        const ValueId x = net.pool(first);
        const ValueId a = net.relu(net.conv(x, channels, kernel));
        const ValueId b = net.relu(net.add(net.conv(a, channels, 3), x));
        const ValueId c = net.relu(net.add(x, net.conv(b, channels, 1)));
        const ValueId d =
            net.concat(net.relu(net.conv(c, 24, 1)), net.program.call("gelu", {{"x", net.conv(c, 17, 3)}}));
        net.program.add_output("y", net.conv(d, 5, 3));
        expect_results_of_rows<T>(net.program);
        // conv, relu, pool; conv, relu; conv, add, relu; conv, add, relu; conv, relu, conv, gelu, concat
        EXPECT_EQ(channels_last_of(net.program), 16) << net.program.to_string();
      }
    }
  });
}

TEST_P(GraphLayoutsTest, averages_and_means_are_those_of_rows) {
  need_type<float>();
  Network<float> net(ctx);
  const ValueId x = net.pool(net.relu(net.conv(net.image({2, 3, 21, 22}), 33, 3)), "avg");
  const ValueId y = net.relu(net.conv(x, 40, 3));
  net.program.add_output("mean", net.program.call("mean", {{"x", y}}, {{"axis", Integers{2, -1}}}));
  const ValueId z = net.conv(y, 18, 3);
  const ValueId whole = net.program.call("pool2d", {{"x", z}}, {{"pooltype", "avg"}, {"global_pooling", true}});
  net.program.add_output("pooled", net.program.call("reshape", {{"x", whole}}, {{"shape", Integers{0, -1}}}));
  EXPECT_EQ(channels_last_of(net.program), 6);
  const std::map<std::string, Tensor> inputs = random_inputs(ctx, net.program, 5);
  Execution rows(ctx, CompiledProgram(ctx, net.program, in_rows()));
  Execution execution(ctx, CompiledProgram(ctx, net.program), {.poison = true});
  expect_near(run_results(ctx, execution, net.program, inputs), run_results(ctx, rows, net.program, inputs), 2e-6f);
}

// Whatever a value goes through element by element lies as it does.
TEST_P(GraphLayoutsTest, what_must_lie_in_rows_keeps_others_there) {
  need_type<float>();
  struct Case {
    const char* what;
    void (*end)(Network<float>&, ValueId);
    std::int64_t channels_last;
  };
  const Extents inner = {2, 16, 8, 6};
  constexpr std::array<Case, 11> cases{{
      {"a result", [](Network<float>& net, ValueId y) { net.program.add_output("y", y); }, 0},
      {"beside a result",
       [](Network<float>& net, ValueId y) {
         net.program.add_output("y", net.relu(y));
         net.program.add_output("z", net.conv(y, 4, 1));
       },
       0},
      {"added to an input",
       [](Network<float>& net, ValueId y) {
         const ValueId other = net.program.add_input("other", ElementType::f32, net.extents(y));
         net.program.add_output("y", net.conv(net.add(y, other), 4, 1));
       },
       0},
      {"added to rows of a constant",
       [](Network<float>& net, ValueId y) {
         net.program.add_output("y", net.conv(net.add(net.relu(y), net.constant({1, 16, 1, 6})), 4, 1));
       },
       3},
      {"by an operator that knows rows alone",
       [](Network<float>& net, ValueId y) {
         net.program.add_output("y", net.conv(net.program.call("softmax", {{"x", y}}), 4, 1));
       },
       0},
      {"transposed",
       [](Network<float>& net, ValueId y) {
         net.program.add_output(
             "y", net.conv(net.program.call("transpose", {{"x", y}}, {{"perm", Integers{0, 1, 3, 2}}}), 4, 1));
       },
       0},
      {"reshaped",
       [](Network<float>& net, ValueId y) {
         net.program.add_output("y", net.program.call("reshape", {{"x", y}}, {{"shape", Integers{2, -1}}}));
       },
       0},
      {"joined by images",
       [](Network<float>& net, ValueId y) { net.program.add_output("z", net.conv(net.concat(y, y, 0), 4, 1)); }, 0},
      {"a mean of channels",
       [](Network<float>& net, ValueId y) {
         net.program.add_output("z", net.program.call("mean", {{"x", y}}, {{"axis", Integers{1}}}));
       },
       0},
      {"of groups", [](Network<float>& net, ValueId y) { net.program.add_output("z", net.conv(y, 16, 3, 1, 4)); }, 0},
      {"twice a weight",
       [](Network<float>& net, ValueId y) {
         const ValueId weight = net.program.call("multiply", {{"x", net.constant({16, 16, 3, 3})}, {"y", 2.0}});
         const ValueId z = net.program.call("conv2d", {{"x", y}, {"weight", weight}});
         net.program.add_output("z", net.conv(z, 4, 1));
       },
       2},
  }};
  for (const Case& each : cases) {
    Network<float> net(ctx);
    const ValueId y = net.conv(net.image({2, 3, 8, 6}), 16, 3);
    ASSERT_EQ(net.extents(y), inner);
    each.end(net, y);
    SCOPED_TRACE(each.what);
    EXPECT_EQ(channels_last_of(net.program), each.channels_last) << net.program.to_string();
    expect_results_of_rows(net.program);
  }
  // Few channels do not fill vectors.
  Network<float> net(ctx);
  net.program.add_output("y", net.conv(net.conv(net.image({2, 3, 8, 6}), 15, 3), 4, 1));
  EXPECT_EQ(channels_last_of(net.program), 0);
  EXPECT_EQ(channels_last_of(net.program, CompileParams::same_bits()), 0);
}

TEST_P(GraphLayoutsTest, maxima_whose_indices_are_results_lie_in_rows) {
  need_type<float>();
  Network<float> net(ctx);
  const ValueId x = net.conv(net.image({1, 3, 8, 8}), 16, 3);
  const graph::Call pool =
      net.program.add_call({.op = "pool2d",
                            .inputs = {{"x", x}},
                            .attributes = {{"kernel_size", Integers{2, 2}}, {"stride", Integers{2, 2}}},
                            .wanted = {"index"}});
  net.program.add_output("index", pool.result("index"));
  net.program.add_output("y", net.conv(pool.result("out"), 4, 1));
  EXPECT_EQ(channels_last_of(net.program), 0);
  expect_results_of_rows(net.program);
}

// A network that learns: batch norms, maxima with their places, deformable convolutions, and the gradients of all.
TEST_P(GraphLayoutsTest, images_of_gradients) {
  need_type<float>();
  Network<float> net(ctx);
  Program& program = net.program;
  std::vector<ValueId> weights;
  const auto weight = [&](const Extents& extents) {
    return weights.emplace_back(
        program.add_input("weight" + std::to_string(weights.size()), ElementType::f32, extents));
  };
  const auto block = [&](ValueId x, std::int64_t out) {
    const ValueId y = program.call("conv2d", {{"x", x}, {"weight", weight({out, net.extents(x)[1], 3, 3})}},
                                   {{"padding", Integers{1, 1}}});
    return net.relu(program
                        .add_call({.op = "batch_norm",
                                   .inputs = {{"x", y},
                                              {"mean", net.constant({out})},
                                              {"variance", net.constant({out})},
                                              {"scale", net.constant({out})},
                                              {"bias", net.constant({out})}},
                                   .attributes = {{"is_test", false}}})
                        .result("out"));
  };
  const ValueId first = block(net.image({2, 3, 12, 10}), 16);
  const ValueId x =
      program.call("pool2d", {{"x", first}}, {{"kernel_size", Integers{2, 2}}, {"stride", Integers{2, 2}}});
  const ValueId offset =
      program.call("conv2d", {{"x", x}, {"weight", weight({18, 16, 3, 3})}}, {{"padding", Integers{1, 1}}});
  const ValueId y = program.call("deform_conv2d", {{"x", x}, {"offset", offset}, {"weight", weight({24, 16, 3, 3})}},
                                 {{"padding", Integers{1, 1}}});
  const ValueId z = net.add(y, block(y, 24));
  const ValueId mean = program.call("mean", {{"x", z}}, {{"axis", Integers{2, 3}}});
  const ValueId loss = program.call("mean", {{"x", program.call("multiply", {{"x", mean}, {"y", mean}})}}, {});
  program.add_output("loss", loss);
  const std::vector<ValueId> gradients = graph::differentiate(program, loss, weights);
  for (std::size_t i = 0; i < gradients.size(); ++i) program.add_output("grad" + std::to_string(i), gradients[i]);
  // conv, batch norm, relu; pool and its places; deform; conv, batch norm, relu, add. Of gradients: mean; both of add;
  // relu, batch norm, conv, add; deform, conv, add; pool; relu, batch norm.
  EXPECT_EQ(channels_last_of(program), 23) << CompiledProgram(ctx, program).to_string();
  const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, 5);
  Execution rows(ctx, CompiledProgram(ctx, program, in_rows()));
  Execution execution(ctx, CompiledProgram(ctx, program), {.poison = true});
  expect_near(run_results(ctx, execution, program, inputs), run_results(ctx, rows, program, inputs), 1e-5);
}

TEST_P(GraphLayoutsTest, text_tells_of_them) {
  need_type<float>();
  Network<float> net(ctx);
  net.program.add_output("y", net.conv(net.conv(net.image({1, 3, 4, 4}), 16, 1), 2, 1));
  const std::string text = CompiledProgram(ctx, net.program).to_string();
  EXPECT_EQ(text, "conv2d_0: arena 0..1024, channels last = conv2d\nconv2d_1: output y = conv2d\n");
}

TEST_P(GraphLayoutsTest, depthwise_convolutions) {
  for_each_type([&]<class T>() {
    for (const std::int64_t stride : {1, 2}) {
      Network<T> net(ctx);
      const ValueId x = net.relu(net.conv(net.image({2, 3, 13, 11}), 40, 1));
      const ValueId y = net.program.call("clip", {{"x", net.conv(x, 40, 3, stride, 40)}}, {{"max", 0.5}});
      net.program.add_output("y", net.conv(y, 24, 1));
      expect_results_of_rows<T>(net.program);
      EXPECT_EQ(channels_last_of(net.program), 4);
    }
  });
}

// Additions and relus are joined to convolutions, whose results and addends lie alike.
TEST_P(GraphLayoutsTest, joined_steps_on_every_path) {
  for_each_type([&]<class T>() {
    // In vectors of output channels, in tiles, and of positions.
    for (const auto& [channels, out_channels, size] : {std::tuple{24, 70, 9}, {300, 18, 3}, {2, 17, 20}, {5, 150, 4}}) {
      for (const bool relu : {false, true}) {
        for (const bool addition : {false, true}) {
          if (!relu && !addition) continue;
          Network<T> net(ctx);
          const ValueId x = net.image({2, channels, size, size});
          const ValueId other = net.conv(x, out_channels, 1);
          ValueId y = net.conv(x, out_channels, 3);
          if (addition) y = net.add(other, y);
          if (relu) y = net.relu(y);
          net.program.add_output("y", net.conv(y, 20, 1));
          expect_results_of_rows<T>(net.program);
          const CompiledProgram compiled(ctx, net.program);
          EXPECT_EQ(compiled.data()->joins.steps.size(), ctx.backend() == Backend::cuda ? 0U : 1U);
        }
      }
    }
  });
}

// The verifier does not ask in what order elements lie, but that they fill their bytes, and that a call in place reads
// and writes the same ones.
TEST(GraphLayoutsPlanTest, strides_that_are_wrong_are_found) {
  need_type<float>();
  const Context ctx(enabled_backends().front());
  Network<float> net(ctx);
  const ValueId x = net.conv(net.image({2, 3, 8, 6}), 16, 3);
  const ValueId y = net.program.call("gelu", {{"x", x}});
  net.program.add_output("y", net.conv(y, 4, 1));
  const graph::Plan plan = graph::make_plan(net.program, constants_of(net.program), {.channels_last = true});
  const auto verdict = [&](const graph::Plan& of) {
    return message_of([&] { graph::verify(net.program, of, constants_of(net.program)); });
  };
  ASSERT_EQ(verdict(plan), "");
  const auto place_of = [](graph::Plan& of, ValueId value) -> graph::Place& {
    return of.places[static_cast<std::size_t>(value.index)];
  };
  ASSERT_EQ(plan.places[static_cast<std::size_t>(x.index)].strides, (Extents{16 * 8 * 6, 1, 6 * 16, 16}));
  ASSERT_EQ(plan.places[static_cast<std::size_t>(x.index)].offset,
            plan.places[static_cast<std::size_t>(y.index)].offset);
  graph::Plan in_other_order = plan;
  place_of(in_other_order, y).strides = net.extents(y).row_major_strides();
  EXPECT_NE(verdict(in_other_order).find("which it reads"), std::string::npos) << verdict(in_other_order);
  for (const Extents& strides : {Extents{16 * 8 * 6, 2, 6 * 16, 16},
                                 {16 * 8 * 6, 1, 16, 16},
                                 {16 * 8 * 6, 1, 6 * 16, -16},
                                 {1, 1, 6 * 16, 16},
                                 {0, 1, 6 * 16, 16}}) {
    graph::Plan broken = plan;
    place_of(broken, x).strides = strides;
    EXPECT_NE(verdict(broken), "") << strides.to_string();
    place_of(broken, y).strides = strides;
    EXPECT_NE(verdict(broken), "") << strides.to_string();
  }
}

}  // namespace
}  // namespace portops::test
