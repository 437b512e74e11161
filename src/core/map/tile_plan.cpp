// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/map/tile_plan.hpp"

#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/power_of_two.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace portops::impl {
namespace {

/// Tiles are made smaller to have this many, where there are enough elements for it: some for each of a GPU's
/// multiprocessors, to even out their loads. Walks were fastest with more of them, on an H200, but for walks down that
/// add up rows of a 16-bit type: a tile ends in a tree and leaves partial sums, for half the bytes.
std::int64_t wanted_tiles(const TilePlan& plan, const TileShape& shape) {
  if (plan.walk == Walk::none) return 2048;
  return plan.walk != Walk::along && plan.sums_rows && shape.pack == 8 ? 1024 : 4096;
}
/// The most rows that one thread adds up one after the other before its sum joins a tree, or packs of a row.
constexpr int most_rows_per_slot = 64;
constexpr int most_packs_per_lane = 64;
/// The fewest rows, where there are enough: what is staged is used at least so often. A host's tile has one slot.
constexpr int least_rows_per_slot(const TileShape& shape) { return shape.most_threads == 1 ? 16 : 2; }
/// A GPU's tiles that add up rows have all of them where so many tiles remain and a slot has no more rows than this:
/// the sums are then final. Otherwise a slot has at least so many rows, where so many tiles remain.
constexpr int least_final_tiles = 256, most_final_rows_per_slot = 32;
constexpr int least_summed_rows_per_slot = 8, least_summing_tiles = 512;
/// A slot of a walk down that writes, and reads no more than an element a row, has so many rows where there are enough
/// for all teams at once: rows that take so little time that what comes before them would take longer. Packs of 16-bit
/// types are twice as long, and slots for half as many.
constexpr int least_written_rows_per_slot(const TileShape& shape) { return shape.pack == 8 ? 8 : 16; }
/// A walk down has fewer slots where each would have fewer rows than this.
constexpr int rows_worth_a_slot = 8;
/// A host's tiles are made wider where so many remain.
constexpr int least_host_tiles = 64;
/// The columns that make rows worth no folding, and that folded rows have at least. Hosts' tiles may be wider, but such
/// rows are long enough, and lie one behind the other anyway.
constexpr int long_row(const TileShape& shape) { return shape.most_threads == 1 ? 1024 : shape.columns(); }
/// The fewest packs of a row for a thread that walks along it, where there are enough.
constexpr int least_packs_per_lane = 8;
/// The most threads that walk along one row: more take longer to add up their sums.
constexpr int most_lanes_along = 128;
/// The fewest: they read 64 neighbouring bytes together.
constexpr int least_lanes_along = 4;
/// Shorter rows are not worth a GPU's tiles.
constexpr std::int64_t gpu_least_columns = 32;

bool moves(const LoopOperand& operand, int axis) { return operand.stride[axis] != 0; }

/// Which of the axes [0, rank − 1) give the rows of a tile. An output must be summed over all of the row axes or over
/// none, so that a tile can add up its rows.
///
/// Where an output is summed over some of these axes but not over the columns, the tile must run over its summed axes,
/// or it would not shrink anything. Otherwise the rows are the innermost axes, as many as make a good tile.
std::array<bool, max_rank> choose_row_axes(const Loop& loop) {
  const int candidates = loop.rank - 1;
  std::array<bool, max_rank> rows{};
  bool chosen = false;
  for (int k = loop.inputs; k < loop.operands(); ++k) {
    const LoopOperand& output = loop.operand[k];
    if (output.data == nullptr || !moves(output, candidates)) continue;
    std::array<bool, max_rank> common{};
    bool any = false;
    for (int axis = 0; axis < candidates; ++axis) {
      common[axis] = !moves(output, axis) && (!chosen || rows[axis]);
      any = any || common[axis];
    }
    if (!any) continue;
    rows = common;
    chosen = true;
  }
  if (chosen) {
    // The other outputs, too, must be summed over all of these axes or over none.
    for (int k = loop.inputs; k < loop.operands(); ++k) {
      const LoopOperand& output = loop.operand[k];
      if (output.data == nullptr) continue;
      std::array<bool, max_rank> common{};
      bool any = false;
      bool all = true;
      for (int axis = 0; axis < candidates; ++axis) {
        common[axis] = rows[axis] && !moves(output, axis);
        any = any || common[axis];
        all = all && common[axis] == rows[axis];
      }
      if (any && !all) rows = common;
    }
    return rows;
  }
  constexpr std::int64_t enough = 64;
  std::int64_t count = 1;
  for (int axis = candidates - 1; axis >= 0 && count < enough; --axis) {
    for (int k = loop.inputs; axis < candidates - 1 && k < loop.operands(); ++k) {
      const LoopOperand& output = loop.operand[k];
      if (output.data != nullptr && moves(output, axis) != moves(output, candidates - 1)) return rows;
    }
    rows[axis] = true;
    count *= loop.extent[axis];
  }
  return rows;
}

/// Whether a loop of one or two axes can be folded: every operand either moves through all of the elements in order, or
/// is the same for all rows.
bool can_fold(const Loop& loop) {
  if (loop.rank > 2) return false;
  const int last = loop.rank - 1;
  return std::all_of(loop.operand.begin(), loop.operand.begin() + loop.operands(), [&](const LoopOperand& operand) {
    if (loop.rank == 2 && operand.stride[0] == 0) return true;
    if (operand.stride[last] == 0) return loop.rank == 1;
    return operand.stride[last] == 1 && (loop.rank == 1 || operand.stride[0] == loop.extent[1]);
  });
}

/// The length of a folded row: a multiple of `length` (the axis that repeats) and of packs that fills tiles well.
std::int64_t folded_columns(std::int64_t length, const TileShape& shape) {
  const std::int64_t unit = std::lcm(length, static_cast<std::int64_t>(shape.pack));
  std::int64_t best = unit;
  double best_use = 0.0;
  for (std::int64_t factor = 1; factor == 1 || unit * factor <= 4 * long_row(shape); ++factor) {
    const std::int64_t columns = unit * factor;
    const double use =
        static_cast<double>(columns) / static_cast<double>(ceil_div(columns, long_row(shape)) * long_row(shape));
    if (use > best_use + 0.02) {
      best = columns;
      best_use = use;
    }
  }
  return best;
}

/// Whether the loop sums.
bool sums(const Loop& loop) {
  for (int output = 0; output < loop.outputs; ++output) {
    if (loop.sums(output)) return true;
  }
  return false;
}

/// Whether rows that a GPU's tiles hold are folded because they are no whole packs. Not where they are summed: a walk
/// reads them well without packs, and needs no partial sums for each of the rows that are folded into one. But where a
/// sum is all there is to do, reading is all that counts, if there are rows enough to make these sums few.
bool worth_folding_long_rows(const Loop& loop, const TileShape& shape) {
  constexpr std::int64_t enough_rows = 64;
  const std::int64_t columns = loop.extent[1];
  if (columns % shape.pack == 0) return false;
  if (shape.most_threads == 1 || !sums(loop)) return true;
  return loop.operands() == 2 && loop.size() / folded_columns(columns, shape) >= enough_rows;
}

bool worth_folding(const Loop& loop, const TileShape& shape) {
  if (!can_fold(loop)) return false;
  if (loop.rank == 1) return true;
  const std::int64_t columns = loop.extent[1];
  if (columns >= long_row(shape) && !worth_folding_long_rows(loop, shape)) return false;
  return folded_columns(columns, shape) < loop.size();
}

void set_fold(TilePlan& plan, const Loop& loop, const TileShape& shape) {
  plan.size = loop.size();
  const std::int64_t length = loop.extent[loop.rank - 1];
  plan.columns = loop.rank == 1 ? std::min<std::int64_t>(long_row(shape), length) : folded_columns(length, shape);
  plan.rows = ceil_div(plan.size, plan.columns);
  plan.row_rank = 1;
  plan.extent[0] = plan.rows;
  for (int k = 0; k < loop.operands(); ++k) {
    TileOperand& operand = plan.operand[k];
    const LoopOperand& source = loop.operand[k];
    const bool full = source.stride[0] != 0;
    operand.column_stride = source.stride[loop.rank - 1];
    operand.stride[0] = full ? plan.columns : 0;
    operand.period = !full && operand.column_stride != 0 ? length : 0;
  }
}

void set_axes(TilePlan& plan, const Loop& loop) {
  const int last = loop.rank - 1;
  plan.columns = loop.extent[last];
  const auto is_row = choose_row_axes(loop);
  int axes = 0;
  for (const bool row : {false, true}) {
    for (int axis = 0; axis < last; ++axis) {
      if (is_row[axis] != row) continue;
      plan.extent[axes] = loop.extent[axis];
      (row ? plan.rows : plan.outer) *= loop.extent[axis];
      ++(row ? plan.row_rank : plan.outer_rank);
      for (int k = 0; k < loop.operands(); ++k) plan.operand[k].stride[axes] = loop.operand[k].stride[axis];
      ++axes;
    }
  }
  for (int k = 0; k < loop.operands(); ++k) plan.operand[k].column_stride = loop.operand[k].stride[last];
  plan.size = plan.rows * plan.columns;
}

bool moves_along_rows(const TilePlan& plan, const TileOperand& operand) {
  const auto begin = operand.stride.begin() + plan.outer_rank;
  return std::any_of(begin, begin + plan.row_rank, [](std::int64_t stride) { return stride != 0; });
}

bool moves_along_all_outer(const TilePlan& plan, const TileOperand& operand) {
  return std::all_of(operand.stride.begin(), operand.stride.begin() + plan.outer_rank,
                     [](std::int64_t stride) { return stride != 0; });
}

/// Whether packs that start at multiples of the pack's size are aligned in every row.
bool has_aligned_packs(const TilePlan& plan, const TileOperand& operand, const std::byte* data, ElementType type,
                       int alignment) {
  if (operand.column_stride != 1 || operand.period != 0) return false;
  const auto bytes = static_cast<std::int64_t>(size_of(type));
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment) == 0 &&
         std::all_of(operand.stride.begin(), operand.stride.begin() + plan.outer_rank + plan.row_rank,
                     [&](std::int64_t stride) { return stride * bytes % alignment == 0; });
}

void set_sums(TilePlan& plan, const Loop& loop) {
  for (int k = loop.inputs; k < loop.operands(); ++k) {
    TileOperand& output = plan.operand[k];
    if (!loop.sums(k - loop.inputs)) continue;
    const bool over_columns = output.column_stride == 0;
    const bool over_rows = plan.rows > 1 && !moves_along_rows(plan, output);
    output.sum =
        over_columns ? (over_rows ? TileSum::both : TileSum::columns) : (over_rows ? TileSum::rows : TileSum::none);
    plan.sums_rows = plan.sums_rows || over_rows;
  }
}

bool is_same_in_all_rows(const TilePlan& plan, const TileOperand& operand) {
  return operand.column_stride != 0 && !moves_along_rows(plan, operand) && plan.rows > 1;
}

/// The elements by which the operand's first one, and those one step along each axis from it, miss a pack's alignment.
std::array<std::int64_t, max_rank + 1> misalignment(const TilePlan& plan, const LoopOperand& source,
                                                    const TileOperand& operand, ElementType type) {
  const std::int64_t pack = gpu_pack_bytes / static_cast<std::int64_t>(size_of(type));
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(source.data) / size_of(type));
  std::array<std::int64_t, max_rank + 1> result{address % pack};
  for (int axis = 0; axis < plan.outer_rank + plan.row_rank; ++axis) {
    result[axis + 1] = (operand.stride[axis] % pack + pack) % pack;
  }
  return result;
}

/// Down the rows where that is the direction of the sums, or where something is the same in all rows; else along them.
/// Down, too, where sums go in both directions, if each row of a tile falls to a whole warp. Interleaved where a walk
/// down would do but for packs.
Walk choose_walk(const TilePlan& plan, const Loop& loop, const TileShape& shape) {
  const int pack = shape.pack;
  bool sums_rows = false;
  bool sums_columns = false;
  bool stages = false;
  bool down = plan.columns % pack == 0 && plan.size % pack == 0 && plan.row_rank <= 1;
  bool along = true;
  bool interleaved = plan.row_rank <= 1;
  std::optional<std::array<std::int64_t, max_rank + 1>> shared;  // misalignment of all operands that are read by packs
  for (int k = 0; k < loop.operands(); ++k) {
    const TileOperand& operand = plan.operand[k];
    if (loop.operand[k].data == nullptr || (k < loop.inputs && operand.column_stride == 0)) continue;
    if (operand.sum == TileSum::none) return Walk::none;
    sums_rows = sums_rows || operand.sum == TileSum::rows;
    sums_columns = sums_columns || operand.sum == TileSum::columns;
    if (operand.sum != TileSum::elements) continue;
    const bool stays = k < loop.inputs && is_same_in_all_rows(plan, operand);
    stages = stages || stays;
    down = down && (stays || has_aligned_packs(plan, operand, loop.operand[k].data, loop.type, gpu_pack_bytes));
    interleaved = interleaved && (stays || operand.column_stride == 1);
    const auto own = misalignment(plan, loop.operand[k], operand, loop.type);
    along = along && operand.column_stride == 1 && operand.period == 0 && own == shared.value_or(own);
    shared = own;
  }
  along = along && !sums_rows;
  if (down && !sums_columns && (sums_rows || stages)) return Walk::down;
  if (along) return Walk::along;
  const bool has_whole_warps = plan.columns % (shape.most_lanes * pack) == 0 && plan.size == plan.rows * plan.columns;
  if (down && sums_rows && has_whole_warps) return Walk::down;
  return interleaved ? Walk::interleaved : Walk::none;
}

/// As many rows at once as there are threads for, in whole warps.
void set_slots(TilePlan& plan, const TileShape& shape) {
  const int most_slots = shape.most_threads / plan.lanes;
  const int least_slots = std::min(most_slots, shape.most_lanes / plan.lanes);
  const bool goes_down = plan.walk == Walk::down || plan.walk == Walk::interleaved;
  const std::int64_t rows = goes_down ? ceil_div(plan.rows, rows_worth_a_slot) : plan.rows;
  plan.slots = std::max(least_slots, power_of_two_at_least(rows, most_slots));
}

/// Tiles for walks along rows: one row for each slot.
void set_tiles_along(TilePlan& plan, const TileShape& shape) {
  const std::int64_t packs = ceil_div(plan.columns, shape.pack);
  const int least_lanes = power_of_two_at_least(packs, least_lanes_along);
  plan.lanes = std::max(least_lanes, power_of_two_at_least(packs / least_packs_per_lane, most_lanes_along));
  set_slots(plan, shape);
  plan.tile_rows = static_cast<int>(std::min<std::int64_t>(plan.slots, plan.rows));
  plan.row_blocks = ceil_div(plan.rows, plan.tile_rows);
  const std::int64_t wanted_blocks = ceil_div(wanted_tiles(plan, shape), plan.row_blocks * plan.outer);
  const std::int64_t packs_per_lane =
      std::clamp<std::int64_t>(ceil_div(packs, plan.lanes * wanted_blocks), least_packs_per_lane, most_packs_per_lane);
  plan.column_blocks = ceil_div(packs, plan.lanes * packs_per_lane);
  plan.tile_columns = plan.lanes * shape.pack * static_cast<int>(ceil_div(packs, plan.lanes * plan.column_blocks));
  plan.column_blocks = ceil_div(plan.columns, plan.tile_columns);
}

/// The numbers a column that a host's tile keeps from row to row: staged inputs and sums over rows.
std::int64_t kept_numbers(const TilePlan& plan, const Loop& loop) {
  std::int64_t kept = 0;
  for (int k = 0; k < loop.operands(); ++k) {
    const TileOperand& operand = plan.operand[k];
    const bool is_staged = k < loop.inputs && loop.operand[k].data != nullptr && is_same_in_all_rows(plan, operand);
    kept += is_staged || operand.sum == TileSum::rows ? 1 : 0;
  }
  return kept;
}

/// The packs of a row of a host's tile: as many as what it keeps from row to row allows, since a thread reads long
/// stretches of memory faster; fewer where there would be too few tiles.
int host_packs(const TilePlan& plan, const Loop& loop, const TileShape& shape) {
  const std::int64_t bytes = kept_numbers(plan, loop) * (loop.type == ElementType::f64 ? 8 : 4);
  const std::int64_t kept_columns = bytes == 0 ? shape.columns() : host_kept_bytes / bytes;
  const std::int64_t shared_columns =
      plan.rows * plan.outer * plan.columns / (least_rows_per_slot(shape) * least_host_tiles);
  const std::int64_t most_columns =
      std::min<std::int64_t>({kept_columns, shape.columns(), std::max<std::int64_t>(shared_columns, long_row(shape))});
  const std::int64_t packs = ceil_div(plan.columns, shape.pack);
  return static_cast<int>(ceil_div(packs, ceil_div(packs, most_columns / shape.pack)));
}

/// Whether a walk down reads packs in its steps.
bool reads_packs(const TilePlan& plan, const Loop& loop) {
  for (int k = 0; k < loop.inputs; ++k) {
    const TileOperand& input = plan.operand[k];
    if (loop.operand[k].data != nullptr && input.column_stride != 0 && !is_same_in_all_rows(plan, input)) return true;
  }
  return false;
}

/// The rows of a slot of a tile that has its lanes, columns and slots.
std::int64_t rows_per_slot(const TilePlan& plan, const Loop& loop, const TileShape& shape) {
  const std::int64_t tiles_of_all_rows = plan.outer * plan.column_blocks;
  const std::int64_t slot_rows = ceil_div(plan.rows, plan.slots);
  std::int64_t least = least_rows_per_slot(shape);
  if (plan.walk != Walk::none && plan.sums_rows) {
    if (tiles_of_all_rows >= least_final_tiles && slot_rows <= most_final_rows_per_slot) return slot_rows;
    // Where the tiles that are at work at once can have all rows, there are no others: every further round of tiles
    // begins and ends with as much that is no sum.
    if (tiles_of_all_rows <= gpu_teams_at_once) {
      const std::int64_t rows_at_once = ceil_div(slot_rows, gpu_teams_at_once / tiles_of_all_rows);
      if (rows_at_once <= most_rows_per_slot) return std::max<std::int64_t>(rows_at_once, least_summed_rows_per_slot);
    }
    if (tiles_of_all_rows * slot_rows >= least_summed_rows_per_slot * least_summing_tiles) {
      least = least_summed_rows_per_slot;
    }
  }
  if (plan.walk != Walk::none && !sums(loop) && !reads_packs(plan, loop)) {
    const std::int64_t rows_at_once = plan.rows * tiles_of_all_rows / (gpu_teams_at_once * plan.slots);
    least = std::clamp<std::int64_t>(rows_at_once, least, least_written_rows_per_slot(shape));
  }
  const std::int64_t wanted = ceil_div(plan.rows * tiles_of_all_rows, wanted_tiles(plan, shape) * plan.slots);
  return std::clamp<std::int64_t>(wanted, least, most_rows_per_slot);
}

/// Tiles for walks down rows, interleaved or not, and for none.
void set_tiles_down(TilePlan& plan, const Loop& loop, const TileShape& shape) {
  const bool on_host = shape.most_threads == 1;
  const int packs_of_lane = plan.walk != Walk::none ? 1 : (on_host ? host_packs(plan, loop, shape) : shape.packs);
  const std::int64_t packs = ceil_div(plan.columns, shape.pack);
  plan.lanes = plan.walk == Walk::interleaved ? shape.most_lanes
                                              : power_of_two_at_least(ceil_div(packs, packs_of_lane), shape.most_lanes);
  plan.tile_columns = plan.lanes * packs_of_lane * shape.pack;
  plan.column_blocks = ceil_div(plan.columns, plan.tile_columns);
  set_slots(plan, shape);
  plan.tile_rows = plan.slots * static_cast<int>(rows_per_slot(plan, loop, shape));
  plan.tile_rows = static_cast<int>(std::min<std::int64_t>(plan.tile_rows, plan.rows));
  plan.row_blocks = ceil_div(plan.rows, plan.tile_rows);
}

void set_access(TilePlan& plan, const Loop& loop, Backend backend) {
  plan.staged = 0;
  const int alignment = backend == Backend::cuda ? gpu_pack_bytes : static_cast<int>(size_of(loop.type));
  for (int k = 0; k < loop.operands(); ++k) {
    TileOperand& operand = plan.operand[k];
    operand.data = loop.operand[k].data;
    operand.number = loop.operand[k].number;
    operand.access = Access::none;
    if (operand.data == nullptr) continue;
    if (k < loop.inputs && plan.walk != Walk::along && is_same_in_all_rows(plan, operand)) {
      operand.access = Access::staged;
      ++plan.staged;
    } else if (operand.column_stride == 0) {
      operand.access = Access::row;
    } else if (plan.walk == Walk::along || plan.walk == Walk::interleaved ||
               has_aligned_packs(plan, operand, operand.data, loop.type, alignment)) {
      operand.access = Access::packs;
    } else {
      operand.access = Access::elements;
    }
  }
}

/// The strides between the steps of a walk. False where one is negative, or they or the number of tiles are too large
/// for 32 bits.
bool set_steps(TilePlan& plan, const Loop& loop) {
  if (plan.tiles() > most_teams) return false;
  const auto bytes = static_cast<std::int64_t>(size_of(loop.type));
  for (int k = 0; k < loop.operands(); ++k) {
    TileOperand& operand = plan.operand[k];
    std::int64_t step = 0;
    if (plan.walk != Walk::along && plan.tile_rows > plan.slots && operand.access != Access::staged) {
      step = plan.slots * operand.stride[plan.outer_rank] * bytes;
    } else if (plan.walk == Walk::along && operand.access == Access::packs) {
      step = plan.lanes * gpu_pack_bytes;
    }
    if (step < 0 || step > UINT32_MAX) return false;
    operand.step_bytes = static_cast<unsigned>(step);
  }
  return true;
}

/// Where the sums go: to the tensor, or to the workspace where other tiles have their share.
void set_partials(TilePlan& plan, const Loop& loop) {
  for (int k = loop.inputs; k < loop.operands(); ++k) {
    TileOperand& output = plan.operand[k];
    if (output.sum == TileSum::elements) continue;
    const bool over_columns = output.sum == TileSum::columns || output.sum == TileSum::both;
    const bool over_rows = output.sum == TileSum::rows || output.sum == TileSum::both;
    output.direct = moves_along_all_outer(plan, output) && (!over_columns || plan.column_blocks == 1) &&
                    (!over_rows || plan.row_blocks == 1) && output.period == 0;
    if (output.direct) continue;
    output.partial_at = plan.partials;
    plan.partials +=
        plan.outer * (over_rows ? plan.row_blocks : plan.rows) * (over_columns ? plan.column_blocks : plan.columns);
    plan.partials = ceil_div(plan.partials, 32) * 32;
  }
}

/// The plan's axes and sums, and the walk that they allow.
TilePlan begin_tile_plan(const Loop& loop, Backend backend) {
  const TileShape shape = tile_shape(backend, loop.type);
  TilePlan plan;
  if (worth_folding(loop, shape)) {
    set_fold(plan, loop, shape);
  } else {
    set_axes(plan, loop);
  }
  set_sums(plan, loop);
  if (backend == Backend::cuda) plan.walk = choose_walk(plan, loop, shape);
  return plan;
}

}  // namespace

bool suits_tiles(const Loop& loop, Backend backend) {
  const TileShape shape = tile_shape(backend, loop.type);
  if (worth_folding(loop, shape)) return true;
  const std::int64_t columns = loop.extent[loop.rank - 1];
  if (backend != Backend::cuda) return columns >= shape.pack;
  if (columns < gpu_least_columns) return false;
  switch (begin_tile_plan(loop, backend).walk) {
    case Walk::down:
    case Walk::along: return true;
    case Walk::interleaved: return columns >= shape.columns();
    case Walk::none: break;
  }
  return columns % shape.pack == 0 && columns >= shape.columns() / 2;
}

TilePlan make_tile_plan(const Loop& loop, Backend backend) {
  const TileShape shape = tile_shape(backend, loop.type);
  TilePlan plan = begin_tile_plan(loop, backend);
  if (plan.walk == Walk::along) {
    set_tiles_along(plan, shape);
  } else {
    set_tiles_down(plan, loop, shape);
  }
  set_access(plan, loop, backend);
  if (plan.walk != Walk::none && !set_steps(plan, loop)) {
    plan.walk = Walk::none;
    set_tiles_down(plan, loop, shape);
    set_access(plan, loop, backend);
  }
  set_partials(plan, loop);
  plan.streaming = writes_much(loop);
  return plan;
}

}  // namespace portops::impl
