// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/arena.hpp"
#include "graph/graph_support.hpp"
#include "graph/planner.hpp"
#include "graph/verifier.hpp"
#include "support/sanitized.hpp"

#include <portops/ops/add.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/momentum.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/slice.hpp>
#include <portops/ops/split.hpp>

#include <array>
#include <iterator>
#include <limits>

// Programs as strangers may send them: of tens of thousands of values, for which work that grows with the square of
// their number would take minutes and gigabytes, and of numbers that overflow.

namespace portops::test {
namespace {

using graph::Plan;
using graph::Program;
using graph::ValueId;

const std::int64_t many = unless_sanitized(50'000, 10'000);

/// Plans, and has the plan proved right.
Plan plan_of(const Program& program, std::int32_t instances = 1) {
  graph::PlanParams params;
  params.instances = instances;
  Plan plan = graph::make_plan(program, constants_of(program), params);
  graph::verify(program, plan, constants_of(program));
  return plan;
}

class LargeProgramTest : public testing::Test {
 protected:
  LargeProgramTest() { need_type<float>(); }

  Program program;
};

TEST_F(LargeProgramTest, ManyPartsLiveAtOnce) {
  const ValueId x = program.add_input("x", ElementType::f32, {many});
  const auto sections = Integers(static_cast<std::size_t>(many), 1);
  const std::vector<ValueId> parts =
      program.add_call({.op = "split", .inputs = {{"x", x}}, .attributes = {{"sections", sections}}}).results("out");
  std::vector<ValueId> changed;
  for (const ValueId part : parts) changed.push_back(program.call("relu", {{"x", part}}));
  program.add_output("y", program.call("concat", {{"x", changed}}));
  for (const std::int32_t instances : {1, 3}) {
    const Plan plan = plan_of(program, instances);
    EXPECT_EQ(plan.live_bytes, many * 4);
    EXPECT_EQ(plan.arena_bytes, many * graph::arena_alignment);
  }
}

TEST_F(LargeProgramTest, OneValueIsReadByManyCalls) {
  const ValueId x = program.call("gelu", {{"x", program.add_input("x", ElementType::f32, {4})}});
  std::vector<ValueId> all;
  for (std::int64_t i = 0; i < many; ++i) all.push_back(program.call("relu", {{"x", x}}));
  program.add_output("y", program.call("concat", {{"x", all}}));
  program.add_output("z", program.call("concat", {{"x", std::vector<ValueId>(all.size(), x)}}));
  EXPECT_EQ(plan_of(program).steps.size(), many + 3);
  plan_of(program, 3);
}

TEST_F(LargeProgramTest, OnePlaceHoldsManyValues) {
  ValueId x = program.add_input("x", ElementType::f32, {4});
  for (std::int64_t i = 0; i < many; ++i) x = program.call("relu", {{"x", x}});
  // And another two by turns.
  ValueId y = x;
  for (std::int64_t i = 0; i < many; ++i) y = program.call("concat", {{"x", std::vector<ValueId>{y}}});
  program.add_output("y", program.call("add", {{"x", y}, {"y", x}}));
  EXPECT_EQ(plan_of(program).arena_bytes, 3 * graph::arena_alignment);
}

TEST_F(LargeProgramTest, AStepOfManyParametersIsInPlace) {
  std::vector<ValueId> parameters, gradients, velocities;
  for (std::int64_t i = 0; i < many; ++i) {
    const std::string number = std::to_string(i);
    parameters.push_back(program.add_input("w" + number, ElementType::f32, {2}));
    gradients.push_back(program.add_input("g" + number, ElementType::f32, {2}));
    velocities.push_back(program.add_input("v" + number, ElementType::f32, {2}));
  }
  const graph::Call step = program.add_call(
      {.op = "momentum",
       .inputs = {{"param", parameters}, {"grad", gradients}, {"velocity", velocities}, {"learning_rate", 0.1}}});
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    program.add_output("w" + std::to_string(i), step.results("param_out")[i], parameters[i]);
    program.add_output("v" + std::to_string(i), step.results("velocity_out")[i], velocities[i]);
  }
  const Plan plan = plan_of(program);
  EXPECT_EQ(plan.steps.size(), 1);
  EXPECT_EQ(plan.arena_bytes, 0);
}

/// Blocks of any size, each used by some steps.
struct Blocks {
  Blocks(std::uint64_t seed, int count, int instances, int longest) : schedule(instances) {
    Random random(seed);
    const auto below = [&](int bound) { return static_cast<std::int32_t>(random.uniform(0, bound)); };
    for (int i = 0; i < count; ++i) {
      std::vector<std::int32_t> dependencies;
      for (int j = 0; j < 2 && i > 0; ++j) dependencies.push_back(std::max(0, i - 1 - below(8)));
      schedule.add(dependencies, random.uniform(1, 2));
    }
    for (int i = 0; i < count; ++i) {
      const std::int32_t end = std::min(count - 1, i + below(longest));
      steps.push_back({i, i + (end - i) / 2, end});
      bytes.push_back(1 + below(1 << 20));
    }
  }
  graph::ArenaLayout lay_out(bool reuse = true) const {
    std::vector<graph::Block> blocks;
    for (std::size_t i = 0; i < steps.size(); ++i) blocks.push_back({bytes[i], steps[i]});
    return graph::lay_out(blocks, schedule, reuse);
  }
  bool is_before(std::size_t a, std::size_t b) const {
    return std::all_of(steps[a].begin(), steps[a].end(), [&](std::int32_t end) {
      return std::all_of(steps[b].begin(), steps[b].end(),
                         [&](std::int32_t begin) { return schedule.happens_before(end, begin); });
    });
  }

  graph::Schedule schedule;
  std::vector<std::array<std::int32_t, 3>> steps;
  std::vector<std::int64_t> bytes;
};

TEST(GraphArenaTest, BlocksThatLiveAtOneTimeDoNotOverlap) {
  // With as few as networks have, and with so many that pairs of them are not looked at.
  for (const int instances : {1, 3}) {
    for (const auto& [count, longest] : {std::pair{500, 40}, {4000, 4000}}) {
      const Blocks blocks(7, count, instances, longest);
      const graph::ArenaLayout layout = blocks.lay_out();
      EXPECT_EQ(layout.live_bytes, blocks.lay_out(false).live_bytes);
      EXPECT_LT(layout.bytes, blocks.lay_out(false).bytes);
      for (std::size_t a = 0; a < blocks.steps.size(); ++a) {
        ASSERT_EQ(layout.offsets[a] % graph::arena_alignment, 0);
        ASSERT_LE(layout.offsets[a] + blocks.bytes[a], layout.bytes);
        for (std::size_t b = 0; b < a; ++b) {
          const bool is_apart = layout.offsets[a] + blocks.bytes[a] <= layout.offsets[b] ||
                                layout.offsets[b] + blocks.bytes[b] <= layout.offsets[a];
          ASSERT_TRUE(is_apart || blocks.is_before(a, b) || blocks.is_before(b, a)) << a << " and " << b;
        }
      }
    }
  }
}

TEST(GraphArenaTest, ManyBlocksTakeHardlyMoreThanWhatLives) {
  const Blocks blocks(3, 20'000, 1, 800);
  const graph::ArenaLayout layout = blocks.lay_out();
  EXPECT_LE(static_cast<double>(layout.bytes), 1.2 * static_cast<double>(layout.live_bytes));
}

TEST_F(LargeProgramTest, BytesThatCannotBeCountedAreRefused) {
  need_type<double>();
  const ValueId x = program.add_input("x", ElementType::f64, {std::int64_t{1} << 44});
  const std::vector<ValueId> all(40'000, x);
  // The results of one call have more than 2^63 bytes.
  const graph::Call step = program.add_call(
      {.op = "momentum", .inputs = {{"param", all}, {"grad", all}, {"velocity", all}, {"learning_rate", 0.1}}});
  program.add_output("y", step.results("param_out").front());
  EXPECT_EQ(message_of([&] { plan_of(program); }),
            "portops::graph: the values between inputs and outputs have more bytes than memory can hold");
}

TEST_F(LargeProgramTest, AStepPastTheEndOfASliceMayBeOfAnySize) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const ValueId x = program.call("gelu", {{"x", program.add_input("x", ElementType::f32, {8, 2})}});
  const ValueId row = program.call(
      "slice", {{"x", x}},
      {{"axes", Integers{0}}, {"starts", Integers{3}}, {"ends", Integers{largest}}, {"strides", Integers{largest}}});
  program.add_output("y", program.call("relu", {{"x", row}}));
  const Plan plan = plan_of(program);
  const graph::Place& place = plan.places[static_cast<std::size_t>(row.index)];
  EXPECT_EQ(place.strides, (Extents{2, 1}));
  EXPECT_EQ(place.offset - plan.places[static_cast<std::size_t>(x.index)].offset, 3 * 2 * 4);
}

}  // namespace
}  // namespace portops::test
