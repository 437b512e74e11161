// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/reduce/spread_plan.hpp"

namespace portops::impl {
namespace {

/// How many threads of a team lie side by side that walks down many columns: all, because nothing is joined, so that
/// memory is touched in long pieces; and few where ties are counted, so that what the teams at work read is in a cache
/// when they read it again.
constexpr int spread_down_lanes = 128;
constexpr int count_down_lanes = 32;

}  // namespace

ReducePlan make_spread_plan(const Loop& loop, Backend backend, bool counts) {
  ReducePlan plan = make_uncut_plan(loop);
  const int pack_bytes = plan.pack * static_cast<int>(size_of(loop.type));
  if (plan.direction == Direction::along) {
    cut_along(plan, spread_along_batch(pack_bytes));
  } else if (counts) {
    cut_down(plan, lanes_of_whole_columns(plan, count_down_lanes), longest_chain);
  } else {
    // Short walks keep a GPU's memory busy until the last one.
    cut_down(plan, spread_down_lanes, backend == Backend::cuda ? spread_down_batch(pack_bytes) : longest_chain);
  }
  return plan;
}

bool is_row_of_rows(const ReducePlan& plan, int operand) {
  if (plan.direction != Direction::along || plan.runs != 1 || plan.kept_rank > 1) return false;
  const ReducePlan::Operand& of = plan.operand[operand];
  return (of.column_stride == 1 || plan.columns == 1) && (plan.kept == 1 || of.stride[0] == plan.columns);
}

std::size_t count_workspace(const ReducePlan& plan) {
  return plan.parts() == 1 ? 0 : static_cast<std::size_t>(plan.results() * plan.parts()) * sizeof(int);
}

}  // namespace portops::impl
