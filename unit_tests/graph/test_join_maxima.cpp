// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/compiled_data.hpp"
#include "graph/graph_support.hpp"

#include <portops/graph/differentiate.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/mean.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/relu.hpp>

// Programs in which maxima, and relu before or behind them, are joined to the batch norm whose result they are of.

namespace portops::test {
namespace {

/// What a program of images does with a batch norm's result in between two convolutions.
enum class Between {
  maxima,
  relu_of_maxima,
  maxima_of_relu,
  maxima_that_are_read,
  out_is_read,
  index_is_read,
  average,
  maxima_three_apart
};

struct MaximaCase {
  Between between = Between::maxima;
  int side = 2;  ///< of the windows
  std::int64_t rows = 8;
  bool trains = true;  ///< gives gradients
  bool is_test = false, ceil_mode = false, pads_behind = false;

  /// Gradients of running statistics are not.
  bool can_be_joined() const { return between <= Between::maxima_that_are_read && !(trains && is_test); }
  bool has_relu() const { return between == Between::relu_of_maxima || between == Between::maxima_of_relu; }
};

class GraphJoinMaximaTest : public OnEveryBackend {
 protected:
  /// The loss, and all gradients if it trains.
  template <class T>
  static Program program_of(const MaximaCase& c) {
    Program program;
    const auto input = [&](const char* name, const Extents& extents) {
      return program.add_input(name, ElementTypeOf<T>::value, extents);
    };
    const ValueId x = input("x", {3, 16, c.rows, 10});
    const ValueId first = input("first", {16, 16, 3, 3}), second = input("second", {24, 16, 1, 1});
    const ValueId scale = input("scale", {16}), bias = input("bias", {16});
    const ValueId mean = program.add_input("mean", ElementType::f32, {16});
    const ValueId variance = program.add_input("variance", ElementType::f32, {16});
    const ValueId y = program.call("conv2d", {{"x", x}, {"weight", first}}, {{"padding", Integers{1, 1}}});
    const graph::Call norm = program.add_call(
        {.op = "batch_norm",
         .inputs = {{"x", y}, {"mean", mean}, {"variance", variance}, {"scale", scale}, {"bias", bias}},
         .attributes = {{"is_test", c.is_test}}});
    ValueId z = norm.result("out");
    if (c.between == Between::maxima_of_relu) z = program.call("relu", {{"x", z}});
    const graph::Call pool = add_pool(program, z, c);
    if (c.between == Between::index_is_read) program.add_output("index", pool.result("index"));
    z = pool.result("out");
    if (c.between == Between::relu_of_maxima || c.between == Between::maxima_that_are_read) {
      z = program.call("relu", {{"x", z}});
    }
    // By what takes channels last: of maxima that are read relu is no part.
    const auto add_reader = [&](ValueId value) {
      program.add_output("read", mean_of_squares(program, program.call("conv2d", {{"x", value}, {"weight", second}})));
    };
    if (c.between == Between::out_is_read) add_reader(norm.result("out"));
    if (c.between == Between::maxima_that_are_read) add_reader(pool.result("out"));
    const ValueId loss = mean_of_squares(program, program.call("conv2d", {{"x", z}, {"weight", second}}));
    program.add_output("loss", loss);
    if (!c.trains) return program;
    const std::vector<ValueId> grads = graph::differentiate(program, loss, {x, first, scale, bias, second});
    for (std::size_t i = 0; i < grads.size(); ++i) program.add_output("grad_" + std::to_string(i), grads[i]);
    return program;
  }

  /// That it computes what plain calls do, and joins what it should.
  template <class T>
  void check(const MaximaCase& c) {
    const Program program = program_of<T>(c);
    std::map<std::string, Tensor> inputs;
    unsigned seed = 5;
    for (const ValueId id : program.inputs()) {
      const graph::ValueInfo& value = program.value(id);
      const double low = value.name == "variance" ? 0.5 : -1.0;
      inputs.emplace(value.name, value.type == ElementType::f32 && !std::is_same_v<T, float>
                                     ? random_tensor<float>(ctx, value.extents, ++seed, low)
                                     : random_tensor<T>(ctx, value.extents, ++seed, low));
    }
    const Results expected = plain_results(ctx, program, inputs);
    for (const bool in_place : {false, true}) {
      CompileParams params = CompileParams::same_bits();
      params.channels_last = true;
      params.in_place = params.reuse_memory = in_place;
      const CompiledProgram compiled(ctx, program, params);
      // What a GPU would join is told from the plan on hosts, too. Without gradients the maxima lie where the
      // statistics did, which nobody reads.
      const std::size_t count = c.can_be_joined() && (c.trains || !in_place) ? 1 : 0;
      const std::vector<graph::JoinedMaxima> maxima =
          graph::find_joins(compiled.program(), compiled.data()->plan, Backend::cuda).maxima;
      ASSERT_EQ(maxima.size(), count) << program.to_string() << compiled.to_string();
      EXPECT_EQ(compiled.data()->joins.maxima.size(), ctx.backend() == Backend::cuda ? count : 0);
      if (count > 0) {
        EXPECT_EQ(maxima.front().gradient.has_value(), c.trains);
        EXPECT_EQ(maxima.front().has_relu, c.has_relu());
      }
      Execution execution(ctx, compiled);
      for (int run = 0; run < 2; ++run) {
        expect_close<T>(run_results(ctx, execution, program, inputs), expected, compiled.to_string());
      }
    }
  }

 private:
  static ValueId mean_of_squares(Program& program, ValueId x) {
    return program.call("mean", {{"x", program.call("multiply", {{"x", x}, {"y", x}})}});
  }

  static graph::Call add_pool(Program& program, ValueId x, const MaximaCase& c) {
    const std::int64_t stride = c.between == Between::maxima_three_apart ? 3 : 2, before = c.side - 2;
    const Integers padding = c.pads_behind ? Integers{before, before, 1, 1} : Integers{before, before};
    return program.add_call({.op = "pool2d",
                             .inputs = {{"x", x}},
                             .attributes = {{"kernel_size", Integers{c.side, c.side}},
                                            {"stride", Integers{stride, stride}},
                                            {"padding", padding},
                                            {"ceil_mode", c.ceil_mode},
                                            {"pooltype", c.between == Between::average ? "avg" : "max"}},
                             .wanted = std::vector<std::string>(c.between == Between::index_is_read ? 1 : 0, "index")});
  }

  /// Within roundings of sums in another order.
  template <class T>
  static void expect_close(const Results& found, const Results& expected, const std::string& what) {
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, bytes] : expected) {
      const std::vector<unsigned char>& its = found.at(name);
      ASSERT_EQ(its.size(), bytes.size()) << name;
      if (name == "index") {
        EXPECT_EQ(its, bytes) << what;
        continue;
      }
      std::vector<T> is(its.size() / sizeof(T)), was(is.size());
      std::memcpy(is.data(), its.data(), its.size());
      std::memcpy(was.data(), bytes.data(), bytes.size());
      double largest = 0.0;
      for (const T each : was) largest = std::max(largest, std::abs(static_cast<double>(each)));
      const double within = (sizeof(T) == 2 ? 16.0 * rounding<T>() : 1e-5) * largest;
      for (std::size_t i = 0; i < is.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(is[i]), static_cast<double>(was[i]), within) << name << " " << i << "\n"
                                                                                     << what;
      }
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(GraphJoinMaximaTest);

TEST_P(GraphJoinMaximaTest, computes_what_plain_calls_do) {
  need_type<float>();
  for (const Between between :
       {Between::maxima, Between::relu_of_maxima, Between::maxima_of_relu, Between::maxima_that_are_read,
        Between::out_is_read, Between::index_is_read, Between::average, Between::maxima_three_apart}) {
    for (const int side : {2, 3}) {
      for (const std::int64_t rows : {8, 9}) {
        check<float>({.between = between, .side = side, .rows = rows});
        if (rows - side == 6) check<float>({.between = between, .side = side, .rows = rows, .trains = false});
      }
    }
  }
}

TEST_P(GraphJoinMaximaTest, in_16_bit_types) {
  for_each_type([&]<class T>() {
    if constexpr (sizeof(T) == 2) {
      for (const Between between : {Between::maxima, Between::relu_of_maxima, Between::maxima_of_relu}) {
        for (const int side : {2, 3}) check<T>({.between = between, .side = side, .rows = 9});
      }
    }
  });
}

// Windows that end in the padding or behind it, of which those in front of the image alone are asked for.
TEST_P(GraphJoinMaximaTest, of_windows_that_reach_behind_the_image) {
  need_type<float>();
  for (const int side : {2, 3}) {
    for (const std::int64_t rows : {8, 9}) {
      check<float>({.side = side, .rows = rows, .ceil_mode = true});
      check<float>({.side = side, .rows = rows, .pads_behind = true});
      check<float>({.side = side, .rows = rows, .ceil_mode = true, .pads_behind = true});
    }
  }
}

TEST_P(GraphJoinMaximaTest, of_running_statistics) {
  need_type<float>();
  for (const Between between : {Between::maxima, Between::relu_of_maxima, Between::maxima_of_relu}) {
    for (const bool trains : {false, true}) {
      check<float>({.between = between, .rows = 9, .trains = trains, .is_test = true});
    }
  }
}

}  // namespace
}  // namespace portops::test
