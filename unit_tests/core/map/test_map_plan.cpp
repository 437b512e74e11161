// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/plan_emulation.hpp"
#include "support/sanitized.hpp"

#include <bit>

// The plans of all backends, also of those that this build does not have: nothing in them needs a device.

namespace portops::test {
namespace {

using impl::Loop;
using impl::TileOperand;
using impl::TilePlan;
using impl::Walk;

class MapPlanTest : public testing::TestWithParam<std::tuple<Backend, ElementType>> {
 protected:
  Backend backend() const { return std::get<0>(GetParam()); }
  ElementType type() const { return std::get<1>(GetParam()); }

  TensorRef tensor_at(std::uintptr_t address, const Extents& extents) const {
    return {reinterpret_cast<void*>(address), type(), extents, extents.row_major_strides(), MemorySpace::host};
  }

  /// out = f(x, y), where the output has the extents of both together or others, which make it a sum.
  Loop loop(const Extents& extents, const Extents& x, const Extents& y, const Extents& out) const {
    return Call{type(), extents, {tensor_at(1 << 20, x), tensor_at(2 << 20, y)}, {tensor_at(3 << 20, out)}}.loop();
  }

  std::size_t bytes_of_a_sum() const { return type() == ElementType::f64 ? 8 : 4; }

  /// What a host's tile keeps from row to row.
  static std::size_t kept_numbers(const TilePlan& plan) {
    const auto kept = std::count_if(plan.operand.begin(), plan.operand.end(), [](const TileOperand& operand) {
      return operand.access == impl::Access::staged || operand.sum == impl::TileSum::rows;
    });
    return static_cast<std::size_t>(kept * plan.tile_columns);
  }
};

INSTANTIATE_TEST_SUITE_P(, MapPlanTest,
                         testing::Combine(testing::Values(Backend::cuda, Backend::openmp),
                                          testing::Values(ElementType::f64, ElementType::f32, ElementType::f16,
                                                          ElementType::bf16)),
                         [](const auto& info) {
                           return std::string(name_of(std::get<0>(info.param))) + "_" +
                                  std::string(name_of(std::get<1>(info.param)));
                         });

TEST_P(MapPlanTest, computes_the_same_as_the_operands_say_for_random_calls) {
  RandomCalls random(3);
  for (int i = 0; i < unless_sanitized(600, 150); ++i) {
    const Call call = random.next(type());
    ASSERT_EQ(results_of_plan(call.loop(), backend()), call.results()) << call.describe();
    if (HasFailure()) FAIL() << call.describe();
  }
}

TEST_P(MapPlanTest, computes_the_same_as_the_operands_say_for_every_pattern_of_sums) {
  const Extents extents{3, 12, 2, 70};
  for (unsigned mask = 0; mask < 256; ++mask) {
    const auto masked = [&](unsigned bits) {
      Extents result = extents;
      for (int axis = 0; axis < 4; ++axis) {
        if ((bits >> axis & 1u) == 0) result[axis] = 1;
      }
      return result;
    };
    const Call call{type(),
                    extents,
                    {tensor_at(1 << 20, extents)},
                    {tensor_at(2 << 20, masked(mask)), tensor_at(3 << 20, masked(mask >> 4))}};
    ASSERT_EQ(results_of_plan(call.loop(), backend()), call.results()) << call.describe();
    if (HasFailure()) FAIL() << call.describe();
  }
}

TEST_P(MapPlanTest, computes_the_same_as_the_operands_say_for_sums_in_two_steps) {
  bool two_steps = false;
  const auto check = [&](const Extents& extents, const Extents& out) {
    const Call call{type(), extents, {tensor_at(1 << 20, extents)}, {tensor_at(1 << 26, out)}};
    const Loop loop = call.loop();
    ASSERT_EQ(results_of_plan(loop, backend()), call.results()) << call.describe();
    const auto sums = impl::make_sum_plans(loop, impl::make_tile_plan(loop, backend()));
    two_steps = two_steps || std::any_of(sums.begin(), sums.end(), [](const auto& sum) { return sum.parts > 1; });
  };
  check({2, 140000}, {2, 1});
  check({2, 200000, 3}, {3});
  check({2, 10000, 3}, {2, 1, 1});
  check({2, 10000, 3}, {});
  EXPECT_TRUE(two_steps) << "no sum was long enough";
}

TEST_P(MapPlanTest, of_tiles_suits_the_machine_for_random_calls) {
  RandomCalls random(4);
  const impl::TileShape shape = impl::tile_shape(backend(), type());
  for (int i = 0; i < 2000; ++i) {
    const Call call = random.next(type());
    const Loop loop = call.loop();
    if (impl::is_flat(loop, backend())) continue;
    const TilePlan plan = impl::make_tile_plan(loop, backend());
    ASSERT_TRUE(std::has_single_bit(static_cast<unsigned>(plan.lanes))) << call.describe();
    ASSERT_TRUE(std::has_single_bit(static_cast<unsigned>(plan.slots))) << call.describe();
    ASSERT_LE(plan.lanes, plan.walk == Walk::along ? 128 : shape.most_lanes) << call.describe();
    ASSERT_LE(plan.lanes * plan.slots, shape.most_threads) << call.describe();
    ASSERT_EQ(plan.lanes * plan.slots % shape.most_lanes, 0) << "not whole warps: " << call.describe();
    ASSERT_EQ(plan.tile_columns % (plan.lanes * shape.pack), 0) << call.describe();
    if (plan.walk == Walk::along) {
      ASSERT_LE(plan.tile_rows, plan.slots) << call.describe();
      ASSERT_EQ(plan.staged, 0) << call.describe();
    } else if (backend() == Backend::cuda) {
      const int packs = plan.walk == Walk::none ? shape.packs : 1;
      ASSERT_EQ(plan.tile_columns, plan.lanes * packs * shape.pack) << call.describe();
    } else {
      ASSERT_LE(plan.tile_columns, shape.columns()) << call.describe();
      ASSERT_LE(kept_numbers(plan) * bytes_of_a_sum(), impl::host_kept_bytes) << call.describe();
    }
    if (backend() == Backend::cuda) {
      // Staged operands and the slots' sums share a team's scratch, 48 KiB at most without asking for more.
      const int columns = plan.walk == Walk::along ? 0 : plan.tile_columns;
      const std::size_t scratch = static_cast<std::size_t>((plan.staged + plan.slots) * columns);
      ASSERT_LE(scratch * bytes_of_a_sum(), 48u << 10) << call.describe();
    }
    const std::int64_t partials = impl::partial_elements(plan, impl::make_sum_plans(loop, plan));
    ASSERT_EQ(impl::map_workspace(loop, backend()), static_cast<std::size_t>(partials) * bytes_of_a_sum());
  }
}

TEST_P(MapPlanTest, of_tiles_on_hosts_is_as_wide_as_what_is_kept_allows) {
  if (backend() == Backend::cuda) GTEST_SKIP() << "sizes of hosts";
  const auto blocks = [&](const Extents& x, const Extents& y, const Extents& out) {
    return impl::make_tile_plan(loop(x, x, y, out), backend()).column_blocks;
  };
  const int most = impl::tile_shape(backend(), type()).columns();
  const auto needed = [&](int kept) {
    return impl::ceil_div(16384, std::min(most, impl::host_kept_bytes / (kept * static_cast<int>(bytes_of_a_sum()))));
  };
  const Extents large{4096, 16384};
  EXPECT_EQ(blocks(large, {4096, 1}, large), 16384 / most) << "nothing is kept";
  EXPECT_EQ(blocks(large, {16384}, large), needed(1)) << "an input is kept";
  EXPECT_EQ(blocks(large, large, {16384}), needed(1)) << "a sum is kept";
  EXPECT_EQ(blocks(large, {16384}, {16384}), needed(2)) << "both are kept";
  EXPECT_GT(blocks({64, 4096}, {64, 1}, {64, 4096}), 4096 / most) << "too few tiles for many threads";
}

/// The kernel for plans with a walk has no code for anything else.
TEST_P(MapPlanTest, has_a_walk_only_where_all_rows_are_read_and_written_by_packs) {
  RandomCalls random(5);
  const int pack = impl::tile_shape(backend(), type()).pack;
  int down = 0;
  int along = 0;
  int interleaved = 0;
  for (int i = 0; i < 10000; ++i) {
    const Call call = random.next(type());
    const Loop loop = call.loop();
    if (impl::is_flat(loop, backend())) continue;
    const TilePlan plan = impl::make_tile_plan(loop, backend());
    if (plan.walk == Walk::none) continue;
    ++(plan.walk == Walk::down ? down : plan.walk == Walk::along ? along : interleaved);
    ASSERT_EQ(backend(), Backend::cuda) << call.describe();
    if (plan.walk == Walk::down) {
      ASSERT_EQ(plan.columns % pack, 0) << call.describe();
      ASSERT_EQ(plan.size % pack, 0) << call.describe();
    }
    ASSERT_TRUE(plan.walk == Walk::along || plan.row_rank <= 1) << call.describe();
    ASSERT_TRUE(plan.walk != Walk::interleaved || plan.lanes == 32) << call.describe();
    for (int k = 0; k < loop.operands(); ++k) {
      const TileOperand& operand = plan.operand[k];
      if (operand.access == impl::Access::none) continue;
      std::int64_t step = 0;
      if (plan.walk == Walk::along && operand.access == impl::Access::packs) step = plan.lanes * 16;
      if (plan.walk != Walk::along && operand.access != impl::Access::staged && plan.tile_rows > plan.slots) {
        step = plan.slots * operand.stride[plan.outer_rank] * static_cast<std::int64_t>(size_of(type()));
      }
      ASSERT_EQ(operand.step_bytes, step) << call.describe();
      ASSERT_NE(operand.sum, impl::TileSum::none) << call.describe();
      if (plan.walk == Walk::along) {
        ASSERT_NE(operand.sum, impl::TileSum::rows) << call.describe();
      } else if (operand.sum == impl::TileSum::columns) {
        ASSERT_EQ(plan.lanes, 32) << call.describe();
        ASSERT_TRUE(plan.walk == Walk::interleaved || plan.columns % plan.tile_columns == 0) << call.describe();
      }
      const bool is_sum = operand.sum != impl::TileSum::elements;
      ASSERT_TRUE(is_sum || operand.access != impl::Access::elements) << call.describe();
      ASSERT_TRUE(k < loop.inputs || is_sum || operand.access == impl::Access::packs) << call.describe();
    }
  }
  EXPECT_EQ(down > 20 && along > 20 && interleaved > 20, backend() == Backend::cuda)
      << down << ", " << along << " and " << interleaved;
}

TEST_P(MapPlanTest, walks_in_the_direction_of_the_sums) {
  const auto walk = [&](const Extents& y, const Extents& out) {
    return impl::make_tile_plan(loop({512, 1024}, {512, 1024}, y, out), backend()).walk;
  };
  if (backend() != Backend::cuda) {
    EXPECT_EQ(walk({1024}, {1024}), Walk::none);
    return;
  }
  const Extents all{512, 1024};
  EXPECT_EQ(walk(all, {1024}), Walk::down);
  EXPECT_EQ(walk({512, 1}, {1024}), Walk::down);
  EXPECT_EQ(walk({1024}, all), Walk::down) << "a staged operand";
  EXPECT_EQ(walk(all, {512, 1}), Walk::along);
  EXPECT_EQ(walk({1024}, {512, 1}), Walk::along);
  EXPECT_EQ(walk({512, 1}, all), Walk::along);
  EXPECT_EQ(walk(all, {}), Walk::along);
  const Call mixed{type(), all, {tensor_at(1 << 24, all)}, {tensor_at(2 << 24, {1024}), tensor_at(3 << 24, {512, 1})}};
  EXPECT_EQ(impl::make_tile_plan(mixed.loop(), backend()).walk, Walk::down) << "sums in both directions";
  const Extents narrow{512, 1000};
  const Call uneven{
      type(), narrow, {tensor_at(1 << 24, narrow)}, {tensor_at(2 << 24, {1000}), tensor_at(3 << 24, {512, 1})}};
  EXPECT_EQ(impl::make_tile_plan(uneven.loop(), backend()).walk, Walk::interleaved) << "rows that are no whole warps";
  const TensorRef backwards(reinterpret_cast<void*>(1 << 26), type(), all, {-1024, 1}, MemorySpace::host);
  const Call reversed{type(), all, {backwards, tensor_at(1 << 24, {1024})}, {tensor_at(2 << 24, all)}};
  EXPECT_EQ(impl::make_tile_plan(reversed.loop(), backend()).walk, Walk::none) << "rows that run backwards";
  const Extents far{64, std::int64_t{1} << 30};  // too many bytes from a step to the next
  EXPECT_EQ(impl::make_tile_plan(loop(far, far, {far[1]}, far), backend()).walk, Walk::none);
  const Extents odd{512, 1023};
  EXPECT_EQ(impl::make_tile_plan(loop(odd, odd, odd, {512, 1}), backend()).walk, Walk::along) << "rows not aligned";
  const TensorRef shifted(reinterpret_cast<void*>((1 << 24) + size_of(type())), type(), odd, {1023, 1},
                          MemorySpace::host);
  const Call apart{type(), odd, {shifted, tensor_at(2 << 24, odd)}, {tensor_at(3 << 24, {512, 1})}};
  EXPECT_EQ(impl::make_tile_plan(apart.loop(), backend()).walk, Walk::interleaved) << "rows not aligned alike";
  const Extents few{7, 100003};
  EXPECT_EQ(impl::make_tile_plan(loop(few, few, few, {few[1]}), backend()).walk, Walk::interleaved)
      << "too few to fold";
  const Extents three{8, 3, 5000};
  const Call between{
      type(), three, {tensor_at(1 << 24, three)}, {tensor_at(2 << 24, {8, 1, 5000}), tensor_at(3 << 24, {3, 1})}};
  EXPECT_EQ(impl::make_tile_plan(between.loop(), backend()).walk, Walk::interleaved) << "uneven sums of both kinds";
}

TEST_P(MapPlanTest, folds_long_rows_on_a_gpu_for_one_sum_over_many) {
  if (backend() != Backend::cuda) GTEST_SKIP() << "hosts fold all such rows";
  const auto plan_of = [&](const Extents& extents, std::vector<TensorOrNumber> inputs, std::vector<TensorRef> outputs) {
    const Call call{type(), extents, std::move(inputs), std::move(outputs)};
    EXPECT_TRUE(impl::suits_tiles(call.loop(), backend()));
    return impl::make_tile_plan(call.loop(), backend());
  };
  const auto sum_of = [&](const Extents& extents) {
    return plan_of(extents, {tensor_at(1 << 24, extents)}, {tensor_at(1 << 20, {extents[1]})});
  };
  const TilePlan many = sum_of({600, 1003});
  EXPECT_EQ(many.walk, Walk::down);
  EXPECT_EQ(many.columns % 1003, 0);
  EXPECT_GT(many.columns, 1003);
  EXPECT_EQ(many.operand[0].access, impl::Access::packs);
  EXPECT_EQ(many.operand[1].period, 1003);
  EXPECT_EQ(sum_of({30, 1003}).walk, Walk::interleaved) << "few rows";
  EXPECT_EQ(sum_of({600, 1024}).columns, 1024) << "whole packs";

  const Extents extents{600, 1003};
  const TensorRef x = tensor_at(1 << 24, extents), more = tensor_at(2 << 24, extents), y = tensor_at(1 << 20, {1003});
  EXPECT_EQ(plan_of(extents, {x, more}, {y}).walk, Walk::interleaved) << "two operands";
  EXPECT_EQ(plan_of(extents, {x}, {more, y}).walk, Walk::interleaved) << "another output";
}

TEST_P(MapPlanTest, is_flat_for_contiguous_operands_and_single_values) {
  const Extents extents{6, 50};
  EXPECT_TRUE(impl::is_flat(loop(extents, extents, extents, extents), backend()));
  EXPECT_TRUE(impl::is_flat(loop(extents, extents, {}, extents), backend()));
  EXPECT_TRUE(impl::is_flat(loop({}, {}, {}, {}), backend()));
  EXPECT_FALSE(impl::is_flat(loop(extents, extents, extents, {}), backend())) << "a sum";
  const TensorRef strided(reinterpret_cast<void*>(2 << 20), type(), {50}, {2}, MemorySpace::host);
  const Call spread{type(), {50}, {tensor_at(1 << 20, {50})}, {strided}};
  EXPECT_FALSE(impl::is_flat(spread.loop(), backend())) << "a strided output";
}

TEST_P(MapPlanTest, gathers_operands_where_rows_are_too_short_for_tiles) {
  const Loop narrow = loop({1000, 3}, {1000, 3}, {1000, 1}, {1000, 3});
  ASSERT_TRUE(impl::is_flat(narrow, backend()));
  const impl::FlatPlan plan = impl::make_flat_plan(narrow, backend());
  EXPECT_EQ(plan.form, impl::FlatForm::elements);
  EXPECT_EQ(plan.operand[0].access, impl::FlatAccess::packs);
  EXPECT_EQ(plan.operand[1].access, impl::FlatAccess::gathered);
  const Loop contiguous = loop({1000, 3}, {1000, 3}, {1000, 3}, {1000, 3});
  EXPECT_EQ(impl::make_flat_plan(contiguous, backend()).form, impl::FlatForm::packs);
}

TEST_P(MapPlanTest, gathers_short_rows_that_are_no_whole_packs_all_together) {
  if (backend() != Backend::cuda) GTEST_SKIP() << "a rule of GPUs";
  EXPECT_TRUE(impl::is_flat(loop({10001, 7}, {10001, 7}, {7}, {10001, 7}), backend()));
  EXPECT_FALSE(impl::is_flat(loop({10000, 7}, {10000, 7}, {7}, {10000, 7}), backend())) << "folded into long rows";
}

TEST_P(MapPlanTest, goes_by_rows_where_a_pack_takes_one_value_or_one_pack_of_what_is_broadcast) {
  const bool by_rows = impl::has_flat_rows(backend(), type());
  const auto loop_of = [&](const Extents& extents, const Extents& y, std::uintptr_t shift = 0) {
    const TensorRef moved = tensor_at((1 << 24) + shift * size_of(type()), y);
    return Call{type(), extents, {tensor_at(1 << 20, extents), moved}, {tensor_at(3 << 20, extents)}}.loop();
  };
  const Loop repeated = loop_of({100, 4096}, {100, 1}), rows = loop_of({100, 4096}, {4096});
  EXPECT_EQ(impl::is_flat(repeated, backend()), by_rows);
  EXPECT_EQ(impl::is_flat(rows, backend()), by_rows);
  if (!by_rows) return;
  const impl::FlatPlan plan = impl::make_flat_plan(repeated, backend());
  EXPECT_EQ(plan.form, impl::FlatForm::rows);
  EXPECT_EQ(plan.operand[0].access, impl::FlatAccess::packs);
  EXPECT_EQ(plan.operand[1].access, impl::FlatAccess::repeated);
  EXPECT_EQ(plan.operand[2].access, impl::FlatAccess::packs);
  EXPECT_EQ(impl::make_flat_plan(rows, backend()).operand[1].access, impl::FlatAccess::rows);

  EXPECT_NE(impl::make_flat_plan(loop_of({100, 4097}, {4097}), backend()).form, impl::FlatForm::rows)
      << "rows of no whole packs";
  EXPECT_FALSE(impl::is_flat(loop_of({100, 4096}, {4096}, 1), backend())) << "a misaligned input";
}

TEST_P(MapPlanTest, walks_where_all_inputs_are_broadcast) {
  if (backend() != Backend::cuda) GTEST_SKIP() << "walks of GPUs";
  const auto plan_of = [&](const Extents& x, const Extents& out) {
    const Loop loop = Call{type(), out, {tensor_at(1 << 20, x)}, {tensor_at(3 << 20, out)}}.loop();
    EXPECT_FALSE(impl::is_flat(loop, backend()));
    return impl::make_tile_plan(loop, backend());
  };
  EXPECT_EQ(plan_of({100, 1}, {100, 4096}).walk, Walk::along);
  const TilePlan down = plan_of({4096}, {100, 4096});
  EXPECT_EQ(down.walk, Walk::down);
  EXPECT_EQ(down.operand[0].access, impl::Access::staged);
  // Rows that are too short for tiles.
  EXPECT_TRUE(impl::is_flat(loop({10000, 16}, {10000, 1}, {}, {10000, 16}), backend()));
}

TEST_P(MapPlanTest, reads_no_packs_on_a_gpu_that_the_head_does_not_align) {
  const std::uintptr_t bytes = size_of(type());
  const auto access = [&](std::uintptr_t shift) {
    const Call call{
        type(), {999}, {tensor_at((1 << 20) + shift * bytes, {999})}, {tensor_at((2 << 20) + bytes, {999})}};
    return impl::make_flat_plan(call.loop(), backend()).operand[0].access;
  };
  const bool on_gpu = backend() == Backend::cuda;
  EXPECT_EQ(access(1), impl::FlatAccess::packs);
  EXPECT_EQ(access(0), on_gpu ? impl::FlatAccess::neighbours : impl::FlatAccess::packs);
  EXPECT_EQ(access(1 + 16 / bytes), impl::FlatAccess::packs);
}

TEST_P(MapPlanTest, of_one_element_or_few_is_valid) {
  for (std::int64_t size = 1; size < 40; ++size) {
    for (std::uintptr_t shift = 0; shift < 5; ++shift) {
      const std::uintptr_t bytes = size_of(type());
      const Call call{type(),
                      {size},
                      {tensor_at((1 << 20) + shift * bytes, {size})},
                      {tensor_at((2 << 20) + shift * bytes, {size})}};
      ASSERT_EQ(results_of_plan(call.loop(), backend()), call.results()) << call.describe();
    }
  }
}

TEST_P(MapPlanTest, needs_a_workspace_only_for_sums_that_go_beyond_a_tile) {
  const auto workspace = [&](const Extents& x, const Extents& out) {
    return impl::map_workspace(loop(x, x, {}, out), backend());
  };
  EXPECT_EQ(workspace({60, 500}, {60, 500}), 0u);
  EXPECT_EQ(workspace({3, 7, 2}, {3, 7, 2}), 0u);
  EXPECT_GT(workspace({600, 5000}, {}), 0u);
  EXPECT_GT(workspace({6000, 500}, {500}), 0u);
  EXPECT_EQ(workspace({0, 500}, {500}), 0u) << "nothing is summed";
  // Much less than the input, whatever is summed.
  for (const Extents& out : {Extents{}, Extents{2048}, Extents{1024, 1}, Extents{1, 2048}}) {
    EXPECT_LT(workspace({1024, 2048}, out), 1024 * 2048 / 8 * bytes_of_a_sum()) << out.to_string();
  }
}

TEST_P(MapPlanTest, counts_in_64_bits) {
  const std::int64_t two_to_31 = std::int64_t{1} << 31;
  const Extents line{two_to_31 + 1};
  const Loop flat = loop(line, line, {}, line);
  ASSERT_TRUE(impl::is_flat(flat, backend()));
  EXPECT_EQ(impl::make_flat_plan(flat, backend()).size, two_to_31 + 1);

  for (const Extents& extents :
       {Extents{2, two_to_31 + 1}, Extents{two_to_31 + 1, 2}, Extents{70000, 70000}, Extents{3, two_to_31 + 1, 5}}) {
    const int rank = extents.rank();
    const Extents one_a_row = rank == 2 ? Extents{extents[0], 1} : Extents{extents[0], 1, 1};
    for (const Extents& y : {Extents{extents[rank - 1]}, one_a_row}) {
      const TilePlan plan = impl::make_tile_plan(loop(extents, extents, y, extents), backend());
      EXPECT_GE(plan.size * plan.outer, extents.product()) << extents.to_string();
      EXPECT_GE(plan.column_blocks * plan.tile_columns, plan.columns) << extents.to_string();
      EXPECT_LT((plan.column_blocks - 1) * plan.tile_columns, plan.columns) << extents.to_string();
      EXPECT_GE(plan.row_blocks * plan.tile_rows, plan.rows) << extents.to_string();
      EXPECT_LT((plan.row_blocks - 1) * plan.tile_rows, plan.rows) << extents.to_string();
      EXPECT_GE(plan.tiles() * plan.tile_columns * plan.tile_rows, extents.product()) << extents.to_string();
    }
  }
}

TEST_P(MapPlanTest, fills_outputs_with_zeros_where_the_broadcast_tensor_has_no_elements) {
  const Call call{type(),
                  {4, 0, 3},
                  {tensor_at(1 << 20, {4, 0, 3})},
                  {tensor_at(2 << 20, {4, 1, 3}), tensor_at(3 << 20, {}), tensor_at(4 << 20, {4, 0, 3})}};
  const auto plans = impl::make_empty_sum_plans(call.loop());
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].kept, 12);
  EXPECT_EQ(plans[1].kept, 1);
  for (const impl::SumPlan& plan : plans) EXPECT_EQ(plan.summed, 0);
}

}  // namespace
}  // namespace portops::test
