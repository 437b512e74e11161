// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/softmaxes/softmax_plan.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace portops::impl {
namespace {

constexpr int warp = 32;
/// Threads that lie side by side where columns and rows are many: few, so that a team has more rows under way, and
/// keeps more of them in registers.
constexpr int softmax_down_lanes = 32;
/// Teams that keep a GPU busy: fewer than `enough` are too few, and then long rows are cut until there are `wanted`.
constexpr std::int64_t enough_teams = 264;
constexpr std::int64_t wanted_teams = 1024;
/// A host takes rows of so few columns, of all inputs together, as columns of so few rows: side by side in its vectors.
constexpr std::int64_t host_few_columns = 64;

int power_of_two_at_least(std::int64_t value, int most) {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(value, 1, most))));
}

/// Cuts rows that are walked along: a group of lanes that can keep the row has all of it, and others have parts of it
/// where there are too few teams, or chains of additions would become too long.
void cut_rows(ReducePlan& plan, int inputs, int pack_bytes) {
  const std::int64_t packs = plan.columns / plan.pack;
  const int batch = softmax_along_batch(pack_bytes, inputs);
  plan.lanes = power_of_two_at_least(ceil_div(packs, softmax_along_step), warp);
  if (packs > batch * warp) plan.lanes = power_of_two_at_least(ceil_div(packs, batch), softmax_most_lanes);
  plan.part_runs = plan.runs;
  plan.part_columns = plan.columns;
  const std::int64_t step = std::int64_t{plan.lanes} * plan.pack;
  if (plan.columns <= batch * step) return;
  const std::int64_t wanted = plan.kept < enough_teams ? ceil_div(wanted_teams, plan.kept) : 1;
  const std::int64_t steps = std::clamp<std::int64_t>(ceil_div(ceil_div(plan.columns, wanted), step), 2 * batch,
                                                      longest_chain * softmax_along_step);
  plan.part_columns = std::min(steps * step, plan.columns);
  plan.column_parts = ceil_div(plan.columns, plan.part_columns);
}

/// Rows of few columns as columns.
bool turn(ReducePlan& plan, int inputs) {
  if (plan.direction != Direction::along || plan.columns * inputs > host_few_columns || plan.columns == 1 ||
      plan.kept_rank != 1 || plan.rank != 1) {
    return false;
  }
  plan.direction = Direction::down;
  plan.kept_rank = 0;
  plan.runs = std::exchange(plan.columns, plan.kept);
  plan.kept = 1;
  plan.extent[0] = plan.runs;
  for (ReducePlan::Operand& operand : plan.operand) {
    std::swap(operand.stride[0], operand.column_stride);
    operand.packs = false;
  }
  plan.pack = 1;
  return true;
}

}  // namespace

ReducePlan make_softmax_plan(const Loop& loop, Backend backend) {
  ReducePlan plan = make_uncut_plan(loop);
  if (backend != Backend::cuda && turn(plan, loop.inputs)) {
    plan.part_runs = plan.runs;
    plan.part_columns = plan.columns;
    return plan;
  }
  const int pack_bytes = plan.pack * static_cast<int>(size_of(loop.type));
  if (plan.direction == Direction::along) {
    cut_rows(plan, loop.inputs, pack_bytes);
  } else {
    cut_down(plan, lanes_of_whole_columns(plan, softmax_down_lanes), longest_chain);
  }
  return plan;
}

bool fits_registers(const ReducePlan& plan, int element_bytes, int inputs) {
  if (plan.parts() > 1) return false;
  if (plan.direction == Direction::down) return plan.runs <= std::int64_t{softmax_down_batch / inputs} * plan.slots;
  const std::int64_t batch = softmax_along_batch(plan.pack * element_bytes, inputs);
  return plan.columns <= batch * plan.lanes * plan.pack;
}

std::size_t softmax_memory(const ReducePlan& plan, ElementType type, int numbers) {
  if (plan.parts() == 1) return 0;
  const std::size_t bytes_of_number = type == ElementType::f64 ? 8 : 4;
  return static_cast<std::size_t>(plan.results() * plan.parts() * numbers) * bytes_of_number;
}

}  // namespace portops::impl
