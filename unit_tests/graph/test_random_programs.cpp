// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/call_facts.hpp"
#include "graph/graph_support.hpp"
#include "graph/planner.hpp"
#include "graph/random_program.hpp"
#include "graph/verifier.hpp"
#include "support/sanitized.hpp"

// Programs that nobody would write: what the planner makes of them is proved right, computes the bits of plain calls,
// and does so where dead memory is NaN. Plans that are broken on purpose are found out.

namespace portops::test {
namespace {

/// From seed to seed.
const std::uint64_t seed_step = unless_sanitized<std::uint64_t>(1, 7);

std::string verdict(const graph::Program& program, const graph::Plan& plan) {
  return message_of([&] { graph::verify(program, plan, constants_of(program)); });
}

TEST(GraphPlanTest, EveryPlanIsProvedRight) {
  need_type<float>();
  for (std::uint64_t seed = 0; seed < 4000; seed += seed_step) {
    const RandomProgram random(seed, 8 + static_cast<int>(seed % 32), seed < 3000 ? Kinds::all : Kinds::products);
    graph::PlanParams params;
    params.instances = 1 + static_cast<std::int32_t>(seed % 4);
    params.in_place = seed % 5 != 0;
    params.views = static_cast<graph::Views>(seed % 3);
    params.channels_last = seed % 2 == 0;
    const graph::Plan plan = graph::make_plan(random.program(), constants_of(random.program()), params);
    ASSERT_EQ(verdict(random.program(), plan), "") << "seed " << seed << "\n" << random.program().to_string();
  }
}

class RandomProgramTest : public OnEveryBackend {
 protected:
  void SetUp() override {
    need_type<float>();
    ctx.deterministic(true);
  }
};

TEST_P(RandomProgramTest, HasTheBitsOfPlainCallsAndReadsNothingDead) {
  for (std::uint64_t seed = 0; seed < 500; seed += seed_step) {
    const RandomProgram random(seed, 8 + static_cast<int>(seed % 24), seed < 400 ? Kinds::all : Kinds::products);
    const graph::Program& program = random.program();
    const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, static_cast<unsigned>(seed));
    const Results expected = plain_results(ctx, program, inputs);
    for (const bool poison : {false, true}) {
      graph::CompileParams params = graph::CompileParams::same_bits();
      params.instances = 1 + static_cast<std::int32_t>(seed % 3);
      const graph::CompiledProgram compiled(ctx, program, params);
      graph::Execution execution(ctx, compiled, {.poison = poison});
      ASSERT_EQ(run_results(ctx, execution, program, inputs), expected)
          << "seed " << seed << (poison ? ", poisoned\n" : "\n") << program.to_string() << compiled.to_string();
    }
  }
}

TEST_P(RandomProgramTest, ViewsOfAnyStridesReadWhatTheyShow) {
  for (std::uint64_t seed = 1000; seed < 1300; seed += seed_step) {
    const RandomProgram random(seed, 24);
    const graph::Program& program = random.program();
    const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, static_cast<unsigned>(seed));
    graph::CompileParams apart;  // nothing but the views
    apart.in_place = apart.reuse_memory = false;
    graph::Execution simple(ctx, graph::CompiledProgram(ctx, program, apart));
    graph::Execution poisoned(ctx, graph::CompiledProgram(ctx, program), {.poison = true});
    ASSERT_EQ(run_results(ctx, poisoned, program, inputs), run_results(ctx, simple, program, inputs))
        << "seed " << seed << "\n"
        << program.to_string();
    // And in numbers what copies give; sums are rounded otherwise.
    graph::Execution copies(ctx, graph::CompiledProgram(ctx, program, graph::CompileParams::same_bits()));
    const Results expected = run_results(ctx, copies, program, inputs);
    for (const auto& [name, bytes] : run_results(ctx, poisoned, program, inputs)) {
      for (std::size_t i = 0; i < bytes.size(); i += sizeof(float)) {
        float got = 0.0f, want = 0.0f;
        std::memcpy(&got, &bytes[i], sizeof(float));
        std::memcpy(&want, &expected.at(name)[i], sizeof(float));
        if (got != got && want != want) continue;
        ASSERT_NEAR(got, want, 1e-3f * std::max(1.0f, std::abs(want))) << "seed " << seed << ", " << name;
      }
    }
  }
}

std::int64_t count_of(const graph::Program& program, const std::string& op) {
  return std::count_if(program.calls().begin(), program.calls().end(),
                       [&](const graph::Call& call) { return call.op == op; });
}

TEST_P(RandomProgramTest, FoldsGiveTheSameNumbers) {
  std::int64_t norms = 0, additions = 0;
  for (std::uint64_t seed = 2000; seed < 2200; ++seed) {
    const RandomProgram random(seed, 12, Kinds::products);
    const graph::Program& program = random.program();
    const graph::CompiledProgram compiled(ctx, program);
    norms += count_of(program, "batch_norm") - count_of(compiled.program(), "batch_norm");
    additions += count_of(program, "add") - count_of(compiled.program(), "add");
    const std::map<std::string, Tensor> inputs = random_inputs(ctx, program, static_cast<unsigned>(seed));
    graph::Execution execution(ctx, compiled, {.poison = true});
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program.to_string());
    expect_near(run_results(ctx, execution, program, inputs), plain_results(ctx, program, inputs), 1e-3f);
  }
  EXPECT_GT(norms, 50);
  EXPECT_GT(additions, 50);
}

PORTOPS_ON_EVERY_BACKEND(RandomProgramTest);

// --- plans that are wrong -------------------------------------------------------------------------------------------

/// What a step writes to the arena, of values that have elements.
std::vector<std::int32_t> written_by(const graph::Program& program, const graph::Plan& plan, const graph::Step& step) {
  std::vector<std::int32_t> written;
  if (step.kind != graph::Step::Kind::run) return written;
  for (const auto& output : program.calls()[static_cast<std::size_t>(step.call)].outputs) {
    for (const graph::ValueId value : output.operand.values()) {
      if (plan.places[static_cast<std::size_t>(value.index)].memory == graph::MemoryKind::arena &&
          program.value(value).extents.product() > 0) {
        written.push_back(value.index);
      }
    }
  }
  return written;
}

TEST(GraphPlanTest, AValueThatIsWrittenOverALivingOneIsFound) {
  need_type<float>();
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RandomProgram random(seed);
    const graph::Program& program = random.program();
    const graph::Plan plan =
        graph::make_plan(program, constants_of(program), {.in_place = false, .views = graph::Views::none});
    const graph::Needs needs = graph::needs_of(program, plan.constants);
    // A value that a step in the middle neither writes nor reads, but a later one reads.
    for (std::size_t first = 0; first < plan.steps.size(); ++first) {
      for (const std::int32_t living : written_by(program, plan, plan.steps[first])) {
        for (std::size_t middle = first + 1; middle < plan.steps.size(); ++middle) {
          bool is_read_later = false;
          for (std::size_t later = middle + 1; later < plan.steps.size(); ++later) {
            if (plan.steps[later].kind != graph::Step::Kind::run) continue;
            const auto& reads = needs.reads[static_cast<std::size_t>(plan.steps[later].call)];
            is_read_later = is_read_later || std::any_of(reads.begin(), reads.end(),
                                                         [&](graph::ValueId value) { return value.index == living; });
          }
          if (!is_read_later) continue;
          for (const std::int32_t victim : written_by(program, plan, plan.steps[middle])) {
            graph::Plan broken = plan;
            broken.places[static_cast<std::size_t>(victim)].offset =
                plan.places[static_cast<std::size_t>(living)].offset;
            broken.arena_bytes += 4096;  // the end of the arena is not what is wrong
            ASSERT_NE(verdict(program, broken), "") << "seed " << seed << ", " << living << " under " << victim;
            ++tried;
          }
        }
      }
    }
  }
  EXPECT_GT(tried, 1000);
}

TEST(GraphPlanTest, AWaitThatIsForgottenIsFound) {
  need_type<float>();
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const RandomProgram random(seed);
    const graph::Program& program = random.program();
    const graph::Plan plan = graph::make_plan(program, constants_of(program), {.instances = 3});
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      if (plan.steps[step].kind != graph::Step::Kind::run) continue;
      for (std::size_t wait = 0; wait < plan.steps[step].after.size(); ++wait) {
        graph::Plan broken = plan;
        auto& after = broken.steps[step].after;
        after.erase(after.begin() + static_cast<std::ptrdiff_t>(wait));
        ASSERT_NE(verdict(program, broken), "") << "seed " << seed << ", step " << step;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 400);
}

TEST(GraphPlanTest, AStepThatIsForgottenOrTooEarlyIsFound) {
  need_type<float>();
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RandomProgram random(seed);
    const graph::Program& program = random.program();
    const graph::Plan plan = graph::make_plan(program, constants_of(program));
    const graph::Needs needs = graph::needs_of(program, plan.constants);
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      graph::Plan without = plan;
      without.steps.erase(without.steps.begin() + static_cast<std::ptrdiff_t>(step));
      // Every step is there because something behind it reads what it makes.
      ASSERT_NE(verdict(program, without), "") << "seed " << seed << " without step " << step;
      ++tried;
      if (plan.steps[step].kind != graph::Step::Kind::run) continue;
      const auto& reads = needs.reads[static_cast<std::size_t>(plan.steps[step].call)];
      const bool reads_results = std::any_of(reads.begin(), reads.end(), [&](graph::ValueId value) {
        return program.value(value).origin == graph::Origin::call && program.value(value).extents.product() > 0;
      });
      if (!reads_results) continue;
      graph::Plan early = plan;
      std::rotate(early.steps.begin(), early.steps.begin() + static_cast<std::ptrdiff_t>(step),
                  early.steps.begin() + static_cast<std::ptrdiff_t>(step) + 1);
      ASSERT_NE(verdict(program, early), "") << "seed " << seed << ", step " << step << " first";
    }
  }
  EXPECT_GT(tried, 1000);
}

TEST(GraphPlanTest, ConstantsAreThoseThatAreKnown) {
  need_type<float>();
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RandomProgram random(seed);
    const graph::Program& program = random.program();
    const graph::Plan plan = graph::make_plan(program, constants_of(program));
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      if (plan.steps[step].kind != graph::Step::Kind::run) continue;
      // As if its results were known: nobody makes them.
      graph::Plan broken = plan;
      broken.steps.erase(broken.steps.begin() + static_cast<std::ptrdiff_t>(step));
      for (const graph::NamedOperand& output :
           program.calls()[static_cast<std::size_t>(plan.steps[step].call)].outputs) {
        for (const graph::ValueId value : output.operand.values()) {
          if (!value) continue;
          const auto index = static_cast<std::size_t>(value.index);
          broken.constants[index] = 1;
          broken.places[index] = {graph::MemoryKind::constant, value.index, 0,
                                  program.value(value).extents.row_major_strides()};
        }
      }
      ASSERT_NE(verdict(program, broken), "") << "seed " << seed << ", step " << step;
      ++tried;
    }
  }
  EXPECT_GT(tried, 300);
}

TEST(GraphPlanTest, AnOutputThatIsLeftInAnInputIsNoMemory) {
  need_type<float>();
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RandomProgram random(seed);
    const graph::Program& program = random.program();
    const graph::Plan plan =
        graph::make_plan(program, constants_of(program), {.in_place = false, .views = graph::Views::none});
    for (std::size_t output = 0; output < program.outputs().size(); ++output) {
      if (!program.outputs()[output].over) continue;
      const std::int64_t bytes = graph::bytes_of(program.value(program.outputs()[output].value));
      for (std::size_t i = 0; i < program.values().size(); ++i) {
        const std::int64_t its = graph::bytes_of(program.values()[i]);
        if (plan.places[i].memory != graph::MemoryKind::arena || its == 0 || its > bytes) continue;
        graph::Plan broken = plan;
        graph::Place& place = broken.places[i];
        place.memory = graph::MemoryKind::output;
        place.index = static_cast<std::int32_t>(output);
        place.offset = 0;
        ASSERT_NE(verdict(program, broken), "") << "seed " << seed << ", output " << output << " for value " << i;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 500);
}

TEST(GraphPlanTest, PlacesThatAreNoneAreFound) {
  need_type<float>();
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomProgram random(seed);
    const graph::Program& program = random.program();
    const graph::Plan plan = graph::make_plan(program, constants_of(program));
    for (std::size_t i = 0; i < program.values().size(); ++i) {
      const graph::Place& place = plan.places[i];
      if (program.values()[i].extents.product() == 0) continue;  // lies where it likes
      if (place.memory != graph::MemoryKind::arena) continue;
      const auto broken = [&](const std::function<void(graph::Place&)>& change) {
        graph::Plan changed = plan;
        change(changed.places[i]);
        EXPECT_NE(verdict(program, changed), "") << "seed " << seed << ", place " << i;
        ++tried;
      };
      broken([&](graph::Place& its) { its.offset = plan.arena_bytes; });
      broken([](graph::Place& its) { its.offset -= 256 * 1024; });
      broken([](graph::Place& its) { its.offset += 2; });
      broken([](graph::Place& its) { its.strides = Extents(); });
      broken([](graph::Place& its) { its.memory = graph::MemoryKind::constant; });
      broken([](graph::Place& its) { its.memory = graph::MemoryKind::output, its.index = 1000; });
    }
  }
  EXPECT_GT(tried, 1000);
}

}  // namespace
}  // namespace portops::test
