// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/softmaxes/softmax_plan.hpp"

#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/power_of_two.hpp"

#include <algorithm>
#include <utility>

namespace portops::impl {
namespace {

constexpr int warp = 32;
/// Threads that lie side by side where columns and rows are many: few, so that a team has more rows under way, and
/// keeps more of them in registers.
constexpr int softmax_down_lanes = 32;
/// Packs of all inputs that a lane takes where rows are short: fewer leave too little under way.
constexpr int few_packs = 4;
/// Threads that share a row which is cut into parts, and those that hosts' orders of additions go by.
constexpr int lanes_of_part = 256;
/// Threads that keep a GPU busy.
constexpr std::int64_t enough_threads = std::int64_t{1} << 16;
/// Teams that keep a GPU busy: fewer than work at once are too few, and then long rows are cut until there are so many.
constexpr std::int64_t wanted_teams = 1024;
/// A host takes rows of so few columns, of all inputs together, as columns of so few rows: side by side in its vectors.
constexpr std::int64_t host_few_columns = 64;
/// So many rows keep all cores of a host busy.
constexpr std::int64_t host_many_rows = 64;

/// The packs of a row by which a GPU's lanes take it.
struct RowPacks {
  std::int64_t count;
  int bytes;
};
RowPacks packs_of_row(const ReducePlan& plan, int element_bytes) {
  if (!has_shifted_rows(plan, element_bytes)) return {plan.columns / plan.pack, plan.pack * element_bytes};
  return {shifted_packs(plan.columns, reduce_along_pack_bytes / element_bytes), reduce_along_pack_bytes};
}

/// Cuts rows that are walked along: a group of lanes that can keep the row has all of it, and others have parts of it
/// where there are too few teams, or chains of additions would become too long.
void cut_rows(ReducePlan& plan, int inputs, int element_bytes, bool keeps_long_rows, bool has_states) {
  const auto [packs, pack_bytes] = packs_of_row(plan, element_bytes);
  const int batch = softmax_along_batch(pack_bytes, element_bytes, inputs);
  const int most_lanes = softmax_most_lanes(element_bytes, keeps_long_rows);
  plan.lanes = power_of_two_at_least(ceil_div(packs * inputs, few_packs), warp);
  if (packs > batch * warp) plan.lanes = power_of_two_at_least(ceil_div(packs, batch), most_lanes);
  plan.part_runs = plan.runs;
  plan.part_columns = plan.columns;
  if (packs <= batch * plan.lanes) return;
  if (!has_states && element_bytes > 2) {
    // Nothing is shared but a few numbers: a batch of a team's threads each. Of 16-bit elements to find these takes as
    // long as it saves.
    // Where they begin between two packs of memory, so does a part: it needs one pack more.
    const int begins_between = has_shifted_rows(plan, element_bytes) ? reduce_along_pack_bytes / element_bytes : 0;
    const std::int64_t of_batch = std::int64_t{plan.lanes} * softmax_kept_numbers(element_bytes) - begins_between;
    plan.part_columns = std::min(of_batch, plan.columns);
    plan.column_parts = ceil_div(plan.columns, plan.part_columns);
    return;
  }
  if (plan.kept < gpu_teams_at_once) plan.lanes = lanes_of_part;
  const std::int64_t step = std::int64_t{plan.lanes} * (pack_bytes / element_bytes);
  const std::int64_t wanted = plan.kept < gpu_teams_at_once ? ceil_div(wanted_teams, plan.kept) : 1;
  const std::int64_t steps = std::clamp<std::int64_t>(ceil_div(ceil_div(plan.columns, wanted), step), 2 * batch,
                                                      longest_chain * softmax_along_step);
  plan.part_columns = std::min(steps * step, plan.columns);
  plan.column_parts = ceil_div(plan.columns, plan.part_columns);
}

/// Whether a GPU's threads can keep all rows of a pack of columns that they share, the rows being one part.
bool keeps_columns(const ReducePlan& plan, int element_bytes, int inputs) {
  return plan.run_parts == 1 && plan.pack * element_bytes <= softmax_down_kept_bytes(element_bytes) &&
         plan.runs <= std::int64_t{softmax_down_kept_rows(element_bytes, plan.pack, inputs)} * plan.slots;
}

/// The plan with narrow packs of columns, all rows of which threads keep; the fewer of them share a column, the less
/// they wait for each other. Without a change where there are too many rows.
ReducePlan with_kept_columns(const ReducePlan& plan, int element_bytes, int inputs, bool has_states) {
  ReducePlan kept = plan;
  if (plan.runs <= softmax_few_rows) {
    leave_columns_whole(kept);
    return kept;
  }
  kept.pack = std::min(plan.pack, softmax_down_kept_bytes(element_bytes) / element_bytes);
  // One column less a thread, rather than threads that share columns.
  const auto fits = [&](int pack) { return plan.runs <= softmax_down_kept_rows(element_bytes, pack, inputs); };
  if (has_states && kept.pack > 1 && !fits(kept.pack) && fits(kept.pack / 2)) kept.pack /= 2;
  cut_down(kept, softmax_down_lanes, longest_chain);
  if (!keeps_columns(kept, element_bytes, inputs)) return plan;
  const std::int64_t packs = kept.columns / kept.pack;
  const int most_slots = kept.slots;
  const int rows = softmax_down_kept_rows(element_bytes, kept.pack, inputs);
  for (int slots = power_of_two_at_least(ceil_div(kept.runs, rows), most_slots); slots <= most_slots; slots *= 2) {
    kept.slots = slots;
    kept.lanes = power_of_two_at_least(packs, down_threads / slots);
    kept.column_blocks = ceil_div(packs, kept.lanes);
    const bool busy = kept.kept * packs * slots >= enough_threads;
    const bool full = kept.column_blocks * kept.lanes * 4 <= packs * 5 || kept.column_blocks == 1;
    if (busy && full) break;
  }
  return kept;
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

ReducePlan make_softmax_plan(const Loop& loop, Backend backend, RowUse use) {
  ReducePlan plan = make_uncut_plan(loop);
  const auto stays_whole = [&] {
    return plan.direction == Direction::along && plan.columns <= host_whole_columns && plan.kept >= host_many_rows;
  };
  if (backend != Backend::cuda && (turn(plan, loop.inputs) || stays_whole())) {
    plan.part_runs = plan.runs;
    plan.part_columns = plan.columns;
    return plan;
  }
  const auto element_bytes = static_cast<int>(size_of(loop.type));
  if (plan.direction == Direction::along) {
    const bool on_gpu = backend == Backend::cuda;
    cut_rows(plan, loop.inputs, element_bytes, on_gpu && use == RowUse::collect_write, !on_gpu || use != RowUse::write);
    return plan;
  }
  cut_down(plan, lanes_of_whole_columns(plan, softmax_down_lanes), longest_chain);
  return backend == Backend::cuda ? with_kept_columns(plan, element_bytes, loop.inputs, use != RowUse::write) : plan;
}

bool has_shifted_rows(const ReducePlan& plan, int element_bytes) {
  return plan.pack * element_bytes < reduce_along_pack_bytes && plan.runs == 1;
}

bool rows_are_neighbours(const ReducePlan& plan, int operands) {
  if (plan.direction != Direction::along || plan.runs > 1 || plan.kept_rank > 1) return false;
  return std::all_of(plan.operand.begin(), plan.operand.begin() + operands, [&](const auto& operand) {
    return (operand.column_stride == 1 || plan.columns == 1) && (operand.stride[0] == plan.columns || plan.kept == 1);
  });
}

bool has_few_rows(const ReducePlan& plan) {
  return plan.direction == Direction::down && plan.runs <= softmax_few_rows && plan.slots == 1 && plan.run_parts == 1;
}

bool fits_registers(const ReducePlan& plan, int element_bytes, int inputs) {
  if (plan.direction == Direction::down) return has_few_rows(plan) || keeps_columns(plan, element_bytes, inputs);
  const auto [packs, pack_bytes] = packs_of_row(plan, element_bytes);
  const std::int64_t batch = softmax_along_batch(pack_bytes, element_bytes, inputs);
  return plan.parts() == 1 && packs <= batch * plan.lanes;
}

std::size_t softmax_memory(const ReducePlan& plan, ElementType type, int numbers) {
  if (plan.parts() == 1) return 0;
  const std::size_t bytes_of_number = type == ElementType::f64 ? 8 : 4;
  return static_cast<std::size_t>(plan.results() * plan.parts() * numbers) * bytes_of_number;
}

}  // namespace portops::impl
