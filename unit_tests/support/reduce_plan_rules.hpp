// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/reduce_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

// What the kernels over a reduce plan take for granted, however it is cut.

namespace portops::test {

/// A loop over one operand, dense but for its last axis, as make_loop would leave it, of which some axes are reduced.
inline impl::Loop random_loop(std::mt19937& engine) {
  const auto pick = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(engine); };
  constexpr std::array<std::int64_t, 6> extents{3, 16, 300, 5000, 100000, 3000000};
  constexpr std::int64_t most_elements = std::int64_t{1} << 40;
  constexpr std::array types{ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16};
  impl::Loop loop;
  loop.type = types[static_cast<std::size_t>(pick(4) - 1)];
  loop.rank = static_cast<int>(pick(3));
  const bool first_is_reduced = pick(2) == 1;
  std::int64_t stride = pick(2);
  for (int axis = loop.rank - 1; axis >= 0; --axis) {
    const auto a = static_cast<std::size_t>(axis);
    loop.extent[a] = pick(extents[static_cast<std::size_t>(pick(6) - 1)]);
    if (stride * loop.extent[a] > most_elements) loop.extent[a] = 3;
    loop.reduced[a] = (axis % 2 == 0) == first_is_reduced;
    loop.operand[0].stride[a] = stride;
    stride *= loop.extent[a];
  }
  loop.inputs = 1;
  return loop;
}

template <class Visit>
void for_random_loops(const Visit& visit) {
  std::mt19937 engine(1);
  for (int i = 0; i < 20000; ++i) visit(random_loop(engine));
}

inline void takes_packs_that_divide_the_columns_or_are_shifted(const impl::ReducePlan& plan, const impl::Loop& loop) {
  const bool along = plan.direction == impl::Direction::along;
  const int most = along ? impl::reduce_along_pack_bytes : impl::reduce_down_pack_bytes;
  const int bytes = plan.pack * static_cast<int>(size_of(loop.type));
  ASSERT_LE(bytes, most);
  if (plan.shifted) {
    ASSERT_TRUE(along);
    ASSERT_EQ(plan.runs, 1);
    ASSERT_EQ(bytes, most);
  } else {
    ASSERT_EQ(plan.columns % plan.pack, 0);
  }
}

inline void covers_all_rows_and_columns(const impl::ReducePlan& plan) {
  ASSERT_GE(plan.part_runs * plan.run_parts, plan.runs);
  ASSERT_LT(plan.part_runs * (plan.run_parts - 1), plan.runs) << "a part without rows";
  if (plan.direction == impl::Direction::along) {
    ASSERT_EQ(plan.part_columns % (plan.lanes * plan.pack), 0);
    ASSERT_GE(plan.part_columns * plan.column_parts, plan.columns);
    ASSERT_LT(plan.part_columns * (plan.column_parts - 1), plan.columns) << "a part without columns";
  } else {
    ASSERT_GE(plan.column_blocks * plan.lanes * plan.pack, plan.columns);
  }
}

inline void groups_that_share_a_team_have_all_columns_and_all_rows(const impl::ReducePlan& plan) {
  if (plan.direction == impl::Direction::along) return;
  ASSERT_LE(plan.lanes * plan.slots, impl::down_threads);
  if (plan.lanes * plan.slots == impl::down_threads) return;
  ASSERT_EQ(plan.column_blocks, 1);
  ASSERT_EQ(plan.parts(), 1);
}

inline void adds_no_long_chains(const impl::ReducePlan& plan) {
  const bool along = plan.direction == impl::Direction::along;
  const std::int64_t chains = along ? plan.lanes * plan.pack : plan.slots;
  const std::int64_t terms = along ? plan.part_runs * std::min(plan.part_columns, plan.columns) : plan.part_runs;
  ASSERT_LE(terms, 128 * chains);
}

inline void keeps_the_rules(const impl::ReducePlan& plan, const impl::Loop& loop) {
  ASSERT_NO_FATAL_FAILURE(takes_packs_that_divide_the_columns_or_are_shifted(plan, loop));
  ASSERT_NO_FATAL_FAILURE(covers_all_rows_and_columns(plan));
  ASSERT_NO_FATAL_FAILURE(groups_that_share_a_team_have_all_columns_and_all_rows(plan));
  ASSERT_NO_FATAL_FAILURE(adds_no_long_chains(plan));
}

}  // namespace portops::test
