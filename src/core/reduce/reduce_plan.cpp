// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/reduce/reduce_plan.hpp"

#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/power_of_two.hpp"
#include "core/reduce/close_rows.hpp"

#include <algorithm>
#include <bit>

namespace portops::impl {
namespace {

/// The fewest terms that are added one after the other, where a result is cut into parts only to have more of them.
constexpr std::int64_t shortest_chain(Direction direction) { return direction == Direction::along ? 4 : 8; }
/// Teams that keep a GPU busy. Fewer than `enough` are too few, and then results are cut into parts until there are
/// `wanted`, so that the last ones to finish are short.
constexpr std::int64_t enough_teams = 256;
constexpr std::int64_t wanted_teams(Direction direction) {
  return direction == Direction::along ? 2048 : 4 * gpu_teams_at_once;
}
/// Walks down that the teams at work at once can share without longer chains are cut into no more parts: each round of
/// teams begins and ends with as much that is no sum.
constexpr std::int64_t longest_chain_at_once = longest_chain / 2;
/// Reductions whose walks down have no more terms are not cut into parts, however few their teams: a second kernel,
/// which joins parts, takes as long.
constexpr std::int64_t longest_uncut_chain = 24;
/// The same along rows, where a thread waits once for a batch of packs; and no run of so few batches is cut. Of
/// elements that lie apart, a team's second batch takes longer than to join parts.
constexpr std::int64_t longest_uncut_batches = 2, longest_uncut_batches_apart = 1;
/// Packs of columns that keep a GPU busy if a thread adds up all rows of each, and if these are few: more threads would
/// wait to join it.
constexpr std::int64_t enough_columns = std::int64_t{1} << 17, enough_short_columns = std::int64_t{1} << 15;
/// Threads of which more would only wait, where each result had 32.
constexpr std::int64_t enough_threads = std::int64_t{1} << 18;
constexpr int warp = 32;

void set_axes(ReducePlan& plan, const Loop& loop) {
  const int last = loop.rank - 1;
  plan.direction = last < 0 || loop.reduced[last] ? Direction::along : Direction::down;
  plan.columns = last < 0 ? 1 : loop.extent[last];
  for (const bool reduced : {false, true}) {
    for (int axis = 0; axis < last; ++axis) {
      if (loop.reduced[axis] != reduced) continue;
      (reduced ? plan.runs : plan.kept) *= loop.extent[axis];
      plan.extent[plan.rank] = loop.extent[axis];
      for (int k = 0; k < loop.operands(); ++k) plan.operand[k].stride[plan.rank] = loop.operand[k].stride[axis];
      ++plan.rank;
    }
    if (!reduced) plan.kept_rank = plan.rank;
  }
  for (int k = 0; k < loop.operands(); ++k) {
    plan.operand[k].data = loop.operand[k].data;
    plan.operand[k].column_stride = last < 0 ? 0 : loop.operand[k].stride[last];
  }
}

/// The widest power of two of elements that divides the number of columns and has no more bytes.
int widest_pack(std::int64_t columns, ElementType type, int bytes) {
  const auto widest = static_cast<std::uint64_t>(bytes) / size_of(type);
  return 1 << std::countr_zero(static_cast<std::uint64_t>(columns) | widest);
}

bool has_packs(const ReducePlan& plan, const ReducePlan::Operand& operand, ElementType type) {
  if (operand.column_stride != 1 && plan.columns > 1) return false;
  const auto bytes = static_cast<std::int64_t>(size_of(type));
  auto bits = reinterpret_cast<std::uintptr_t>(operand.data);
  for (int axis = 0; axis < plan.rank; ++axis) bits |= static_cast<std::uint64_t>(operand.stride[axis] * bytes);
  return bits % static_cast<std::uint64_t>(plan.pack * bytes) == 0;
}

/// Terms of a part: as many as one chain a thread may have, or fewer, to have more parts where there are few teams.
std::int64_t terms_of_part(std::int64_t terms, std::int64_t chains, std::int64_t teams, Direction direction) {
  const bool has_few = teams < enough_teams;
  if (direction == Direction::down && has_few) {
    const std::int64_t at_once = ceil_div(terms, std::max<std::int64_t>(gpu_teams_at_once / teams, 1));
    if (at_once <= longest_chain_at_once * chains) return std::max(at_once, shortest_chain(direction) * chains);
  }
  const std::int64_t wanted = has_few ? ceil_div(wanted_teams(direction), teams) : 1;
  return std::clamp(ceil_div(terms, wanted), shortest_chain(direction) * chains, longest_chain * chains);
}

/// The most bytes of a row that is taken in tiles.
constexpr std::int64_t most_close_bytes = reduce_tile_bytes / 64;

/// Where rows too long for tiles are no whole packs: has them shifted, if packs that divide them are narrow, or rows so
/// long that what their ends take is little. (Others are read as fast, by fewer instructions.)
void shift_long_rows(ReducePlan& plan, ElementType type) {
  constexpr std::int64_t narrow_pack_bytes = 2, long_row_bytes = 1 << 16;
  const auto size = static_cast<std::int64_t>(size_of(type));
  ReducePlan::Operand& x = plan.operand[reduction_x];
  if (plan.direction != Direction::along || plan.runs > 1 || x.column_stride != 1) return;
  if (plan.pack * size > narrow_pack_bytes && plan.columns * size < long_row_bytes) return;
  if (plan.pack * size == reduce_along_pack_bytes || plan.columns * size <= most_close_bytes) return;
  plan.shifted = true;
  plan.pack = reduce_along_pack_bytes / static_cast<int>(size);
  x.packs = has_shifted_packs(plan, x, type);
}

bool lies_apart(const ReducePlan& plan) { return plan.operand[reduction_x].column_stride != 1; }

/// Reductions: leaves runs whole that a thread waits for a few times at most, and results of few such runs.
void leave_runs_whole(ReducePlan& plan, int batch) {
  const std::int64_t step = plan.lanes * plan.pack, steps = ceil_div(plan.columns, step);
  const std::int64_t batches = ceil_div(steps, batch);
  const bool is_apart = lies_apart(plan) && plan.lanes == reduce_along_threads;
  const std::int64_t most = is_apart ? longest_uncut_batches_apart : longest_uncut_batches;
  if (batches > most) return;
  plan.part_columns = steps * step;
  plan.column_parts = 1;
  if (plan.runs * batches > most) return;
  plan.part_runs = plan.runs;
  plan.run_parts = 1;
}

/// What goes along rows. Those that are read from scratch, which are short, are one part, and have fewer lanes.
enum class Along : std::uint8_t { spread, reduction, reduction_from_scratch };

void cut_along(ReducePlan& plan, int batch, Along what) {
  const bool from_scratch = what == Along::reduction_from_scratch;
  const std::int64_t packs = plan.shifted ? shifted_packs(plan.columns, plan.pack) : plan.columns / plan.pack;
  plan.lanes = power_of_two_at_least(ceil_div(packs, batch), warp);
  // Many rows side by side in one access of a warp would each have but a few bytes in it.
  const int few_lanes = from_scratch ? 4 : 8;
  plan.lanes = std::max(plan.lanes, power_of_two_at_least(ceil_div(packs, reduce_along_short_batch), few_lanes));
  // A team a row where rows are few: of long ones and, in reductions, of single ones whose elements lie apart and for
  // which a warp would wait more than once.
  const bool is_long = packs >= batch * reduce_along_threads;
  const bool waits = what == Along::reduction && plan.runs == 1 && lies_apart(plan) && packs > batch * warp;
  if (is_long ? plan.kept * warp < enough_threads : waits && plan.kept <= gpu_teams_at_once) {
    plan.lanes = reduce_along_threads;
  }
  if (plan.shifted && plan.lanes <= warp) {
    // Their first and last packs take longest: lanes that have as many packs as the others of their row.
    const auto idle = [&](int lanes) { return ceil_div(packs, lanes) * lanes - packs; };
    for (int lanes = plan.lanes / 2; lanes >= few_lanes && plan.kept * lanes >= enough_threads; lanes /= 2) {
      if (idle(lanes) < idle(plan.lanes)) plan.lanes = lanes;
    }
  }
  const int groups = reduce_along_threads / plan.lanes;
  const std::int64_t step = plan.lanes * plan.pack;
  const std::int64_t steps_of_run = ceil_div(plan.columns, step);
  const std::int64_t terms = plan.runs * steps_of_run * step;
  const std::int64_t part =
      from_scratch ? terms : terms_of_part(terms, step, ceil_div(plan.kept, groups), plan.direction);
  const std::int64_t steps = ceil_div(part, step);
  plan.part_columns = std::min(steps, steps_of_run) * step;
  plan.column_parts = ceil_div(plan.columns, plan.part_columns);
  plan.part_runs = std::clamp<std::int64_t>(steps / steps_of_run, 1, plan.runs);
  plan.run_parts = ceil_div(plan.runs, plan.part_runs);
  if (what == Along::reduction) leave_runs_whole(plan, batch);
}

}  // namespace

void cut_along(ReducePlan& plan, int batch) { cut_along(plan, batch, Along::spread); }

int lanes_of_whole_columns(const ReducePlan& plan, int most) {
  for (int lanes = most; lanes >= warp; lanes /= 2) {
    if (plan.runs <= longest_chain * (down_threads / lanes)) return lanes;
  }
  return most;
}

void cut_down(ReducePlan& plan, int lanes, std::int64_t longest) {
  const std::int64_t packs = plan.columns / plan.pack;
  plan.slots = power_of_two_at_least(plan.runs, down_threads / power_of_two_at_least(packs, lanes));
  plan.lanes = power_of_two_at_least(packs, down_threads / plan.slots);
  plan.column_blocks = ceil_div(packs, plan.lanes);
  plan.part_columns = plan.columns;
  const std::int64_t teams = ceil_div(plan.kept * plan.column_blocks, down_threads / (plan.lanes * plan.slots));
  plan.part_runs =
      std::min({terms_of_part(plan.runs, plan.slots, teams, plan.direction), longest * plan.slots, plan.runs});
  plan.run_parts = ceil_div(plan.runs, plan.part_runs);
}

void leave_columns_whole(ReducePlan& plan) {
  const std::int64_t packs = plan.columns / plan.pack;
  plan.slots = 1;
  plan.lanes = power_of_two_at_least(packs, down_threads);
  plan.column_blocks = ceil_div(packs, plan.lanes);
  plan.part_columns = plan.columns;
  plan.part_runs = plan.runs;
  plan.run_parts = 1;
}

ReducePlan make_uncut_plan(const Loop& loop) {
  ReducePlan plan;
  set_axes(plan, loop);
  const bool along = plan.direction == Direction::along;
  plan.pack = widest_pack(plan.columns, loop.type, along ? reduce_along_pack_bytes : reduce_down_pack_bytes);
  for (int k = 0; k < loop.operands(); ++k) plan.operand[k].packs = has_packs(plan, plan.operand[k], loop.type);
  return plan;
}

ReducePlan make_reduce_plan(const Loop& loop) {
  ReducePlan plan = make_uncut_plan(loop);
  shift_long_rows(plan, loop.type);
  // Elements that are no neighbours in x are read one by one: of packs, fewer would be under way, and in fewer threads.
  if (lies_apart(plan)) plan.pack = 1;
  const int pack_bytes = plan.pack * static_cast<int>(size_of(loop.type));
  if (plan.direction == Direction::along) {
    // Short rows of narrow packs: mostly by tiles (ReduceTiles).
    const auto bytes = plan.columns * static_cast<std::int64_t>(size_of(loop.type));
    const bool from_scratch = plan.runs == 1 && pack_bytes < reduce_along_pack_bytes && bytes <= most_close_bytes;
    cut_along(plan, reduce_along_batch(pack_bytes), from_scratch ? Along::reduction_from_scratch : Along::reduction);
  } else {
    // Few rows are soon added up by one thread: others would only wait to join it.
    constexpr std::int64_t few_rows = 8, short_column = 32;
    const int lanes = plan.runs <= few_rows ? down_threads : lanes_of_whole_columns(plan, reduce_down_lanes);
    const std::int64_t packs = plan.columns / plan.pack;
    const bool has_enough = plan.kept * packs >= (plan.runs <= short_column ? enough_short_columns : enough_columns);
    if (has_enough && plan.runs <= longest_chain) {
      leave_columns_whole(plan);
    } else {
      cut_down(plan, lanes, longest_chain);
      if (plan.runs <= longest_uncut_chain * plan.slots) {
        plan.part_runs = plan.runs;
        plan.run_parts = 1;
      }
    }
  }
  return plan;
}

bool has_shifted_packs(const ReducePlan& plan, const ReducePlan::Operand& operand, ElementType type) {
  const auto width = static_cast<std::int64_t>(reduce_along_pack_bytes / size_of(type));
  if (operand.column_stride != 1 || reinterpret_cast<std::uintptr_t>(operand.data) % reduce_along_pack_bytes != 0) {
    return false;
  }
  std::int64_t dense = plan.columns;
  for (int axis = plan.kept_rank - 1; axis >= 0; --axis) {
    if ((operand.stride[axis] - dense) % width != 0) return false;
    dense *= plan.extent[axis];
  }
  return true;
}

bool has_single_rows(const ReducePlan& plan) {
  return plan.direction == Direction::along && plan.parts() == 1 && plan.runs == 1 && plan.lanes <= warp;
}

bool has_close_rows(const ReducePlan& plan, ElementType type) {
  const ReducePlan::Operand& x = plan.operand[reduction_x];
  const std::int64_t row = x.stride[0], reach = reach_of_row(plan), size = static_cast<std::int64_t>(size_of(type));
  if (plan.direction != Direction::along || plan.runs > 1 || plan.kept_rank != 1) return false;
  if (x.column_stride <= 0 || row < reach) return false;
  if (row * size > most_close_bytes) return false;
  if (x.column_stride == 1 && plan.pack * size == reduce_along_pack_bytes) return false;
  // A row's elements lie in so many sectors of memory, or in all those that it reaches over.
  constexpr std::int64_t sector = 32;
  return row * size <= std::min(plan.columns * sector, reach * size + sector) * 5 / 4;
}

bool has_close_matrices(const ReducePlan& plan, ElementType type) {
  // Columns so narrow that a warp's threads would not read neighbours.
  constexpr std::int64_t most_bytes_of_row = 128;
  const auto size = static_cast<std::int64_t>(size_of(type));
  const ReducePlan::Operand& x = plan.operand[reduction_x];
  if (plan.direction != Direction::down || plan.parts() > 1 || plan.slots > 1) return false;
  if (plan.kept_rank != 1 || plan.rank - plan.kept_rank > 1 || plan.columns * size > most_bytes_of_row) return false;
  const std::int64_t elements = plan.runs * plan.columns, room = reduce_tile_bytes / size - gpu_pack_bytes / size;
  return x.column_stride == 1 && (plan.runs == 1 || x.stride[1] == plan.columns) && x.stride[0] == elements &&
         elements * rows_aligned_alike(elements, size_of(type)) <= room;
}

std::size_t reduce_workspace(const ReducePlan& plan, ElementType type) {
  if (plan.parts() == 1) return 0;
  const std::size_t bytes_of_partial = type == ElementType::f64 ? 16 : 8;
  return static_cast<std::size_t>(plan.results() * plan.parts()) * bytes_of_partial;
}

}  // namespace portops::impl
