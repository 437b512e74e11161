// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/map_plan.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace portops::impl {
namespace {

/// Outputs of this many bytes are not kept by a host's caches until they are read again.
constexpr std::int64_t streaming_bytes = std::int64_t{8} << 20;

/// Tiles are made smaller to have this many, where there are enough elements for it: some for each of a GPU's
/// multiprocessors, to even out their loads; more would only add partial sums.
constexpr std::int64_t wanted_tiles = 2048;
/// The most rows that one thread adds up one after the other before its sum joins a tree.
constexpr int most_rows_per_slot = 64;
/// The fewest, where there are enough: what is staged is used at least so often. A host's tile has one slot.
constexpr int least_rows_per_slot(const TileShape& shape) { return shape.most_threads == 1 ? 16 : 2; }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

int power_of_two_at_least(std::int64_t value, int most) {
  if (value >= most) return most;
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 1))));
}

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
  if (loop.rank < 1 || loop.rank > 2) return false;
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
  for (std::int64_t factor = 1; factor == 1 || unit * factor <= 4 * shape.columns(); ++factor) {
    const std::int64_t columns = unit * factor;
    const double use =
        static_cast<double>(columns) / static_cast<double>(ceil_div(columns, shape.columns()) * shape.columns());
    if (use > best_use + 0.02) {
      best = columns;
      best_use = use;
    }
  }
  return best;
}

bool worth_folding(const Loop& loop, const TileShape& shape) {
  if (!can_fold(loop)) return false;
  if (loop.rank == 1) return true;
  const std::int64_t columns = loop.extent[1];
  const bool fills_tiles = columns % shape.pack == 0 && columns >= shape.columns();
  return !fills_tiles && folded_columns(columns, shape) < loop.size();
}

void set_fold(TilePlan& plan, const Loop& loop, const TileShape& shape) {
  plan.size = loop.size();
  const std::int64_t length = loop.extent[loop.rank - 1];
  plan.columns = loop.rank == 1 ? std::min<std::int64_t>(shape.columns(), length) : folded_columns(length, shape);
  plan.rows = ceil_div(plan.size, plan.columns);
  plan.row_rank = 1;
  plan.extent[0] = plan.rows;
  for (int k = 0; k < loop.operands(); ++k) {
    TilePlan::Operand& operand = plan.operand[k];
    const LoopOperand& source = loop.operand[k];
    const bool full = source.stride[0] != 0;
    operand.column_stride = source.stride[loop.rank - 1];
    operand.stride[0] = full ? plan.columns : 0;
    operand.period = !full && operand.column_stride != 0 ? length : 0;
  }
}

void set_axes(TilePlan& plan, const Loop& loop) {
  const int last = loop.rank - 1;
  if (loop.rank > 0) plan.columns = loop.extent[last];
  const auto is_row = loop.rank > 0 ? choose_row_axes(loop) : std::array<bool, max_rank>{};
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
  if (loop.rank > 0) {
    for (int k = 0; k < loop.operands(); ++k) plan.operand[k].column_stride = loop.operand[k].stride[last];
  }
  plan.size = plan.rows * plan.columns;
}

void set_tiles(TilePlan& plan, const TileShape& shape) {
  const int packs = static_cast<int>(std::min<std::int64_t>(ceil_div(plan.columns, shape.pack), 1 << 20));
  plan.lanes = power_of_two_at_least(ceil_div(packs, shape.packs), shape.most_lanes);
  plan.tile_columns = plan.lanes * shape.packs * shape.pack;
  plan.column_blocks = ceil_div(plan.columns, plan.tile_columns);
  const int most_slots = shape.most_threads / plan.lanes;
  const int least_slots = std::min(most_slots, shape.most_lanes / plan.lanes);  // whole warps
  plan.slots = std::max(least_slots, power_of_two_at_least(plan.rows, most_slots));
  const std::int64_t slot_rows = ceil_div(plan.rows * plan.outer * plan.column_blocks, wanted_tiles * plan.slots);
  plan.tile_rows = plan.slots * static_cast<int>(std::clamp<std::int64_t>(slot_rows, least_rows_per_slot(shape),
                                                                          most_rows_per_slot));
  plan.tile_rows = static_cast<int>(std::min<std::int64_t>(plan.tile_rows, plan.rows));
  plan.row_blocks = ceil_div(plan.rows, plan.tile_rows);
}

bool moves_along_rows(const TilePlan& plan, const TilePlan::Operand& operand) {
  const auto begin = operand.stride.begin() + plan.outer_rank;
  return std::any_of(begin, begin + plan.row_rank, [](std::int64_t stride) { return stride != 0; });
}

bool moves_along_all_outer(const TilePlan& plan, const TilePlan::Operand& operand) {
  return std::all_of(operand.stride.begin(), operand.stride.begin() + plan.outer_rank,
                     [](std::int64_t stride) { return stride != 0; });
}

/// Whether packs that start at multiples of the pack's size are aligned in every row.
bool has_aligned_packs(const TilePlan& plan, const TilePlan::Operand& operand, ElementType type, int alignment) {
  if (operand.column_stride != 1 || operand.period != 0) return false;
  const auto bytes = static_cast<std::int64_t>(size_of(type));
  return reinterpret_cast<std::uintptr_t>(operand.data) % static_cast<std::uintptr_t>(alignment) == 0 &&
         std::all_of(operand.stride.begin(), operand.stride.begin() + plan.outer_rank + plan.row_rank,
                     [&](std::int64_t stride) { return stride * bytes % alignment == 0; });
}

void set_access(TilePlan& plan, const Loop& loop, Backend backend) {
  const int alignment = backend == Backend::cuda ? 16 : static_cast<int>(size_of(loop.type));
  for (int k = 0; k < loop.operands(); ++k) {
    TilePlan::Operand& operand = plan.operand[k];
    operand.data = loop.operand[k].data;
    operand.number = loop.operand[k].number;
    if (operand.data == nullptr) continue;
    const bool staged =
        k < loop.inputs && operand.column_stride != 0 && !moves_along_rows(plan, operand) && plan.rows > 1;
    if (staged) {
      operand.access = Access::staged;
      ++plan.staged;
    } else if (operand.column_stride == 0) {
      operand.access = Access::row;
    } else {
      operand.access = has_aligned_packs(plan, operand, loop.type, alignment) ? Access::packs : Access::elements;
    }
  }
}

void set_sums(TilePlan& plan, const Loop& loop) {
  for (int k = loop.inputs; k < loop.operands(); ++k) {
    TilePlan::Operand& output = plan.operand[k];
    if (output.data == nullptr || !loop.sums(k - loop.inputs)) continue;
    const bool over_columns = output.column_stride == 0;
    const bool over_rows = plan.rows > 1 && !moves_along_rows(plan, output);
    output.sum = over_columns ? (over_rows ? Sum::both : Sum::columns) : (over_rows ? Sum::rows : Sum::none);
    output.direct = moves_along_all_outer(plan, output) && (!over_columns || plan.column_blocks == 1) &&
                    (!over_rows || plan.row_blocks == 1) && output.period == 0;
    plan.sums_rows = plan.sums_rows || over_rows;
    if (output.direct) continue;
    output.partial_at = plan.partials;
    plan.partials +=
        plan.outer * (over_rows ? plan.row_blocks : plan.rows) * (over_columns ? plan.column_blocks : plan.columns);
    plan.partials = ceil_div(plan.partials, 32) * 32;
  }
}

bool is_lean(const TilePlan& plan, const Loop& loop, const TileShape& shape) {
  if (plan.row_rank != 1 || plan.columns % shape.pack != 0 || plan.size % shape.pack != 0) return false;
  for (int k = 0; k < loop.operands(); ++k) {
    const TilePlan::Operand& operand = plan.operand[k];
    const bool sum = k >= loop.inputs && operand.sum != Sum::elements;
    if (!sum && operand.access == Access::elements) return false;
    if (sum && operand.sum == Sum::none) return false;
    if (k >= loop.inputs && !sum && operand.access == Access::row) return false;
  }
  return true;
}

/// Whether the operand's elements follow each other in the order of the loop's indices.
bool is_contiguous(const Loop& loop, const LoopOperand& operand) {
  std::int64_t expected = 1;
  for (int axis = loop.rank - 1; axis >= 0; --axis) {
    if (operand.stride[axis] != expected) return false;
    expected *= loop.extent[axis];
  }
  return true;
}

/// Whether the operand is one element.
bool is_single(const Loop& loop, const LoopOperand& operand) {
  return std::all_of(operand.stride.begin(), operand.stride.begin() + loop.rank,
                     [](std::int64_t stride) { return stride == 0; });
}

bool writes_much(const Loop& loop) {
  return loop.size() * static_cast<std::int64_t>(size_of(loop.type)) >= streaming_bytes;
}

}  // namespace

bool is_flat(const Loop& loop, Backend backend) {
  bool gathers = false;
  for (int k = 0; k < loop.operands(); ++k) {
    const LoopOperand& operand = loop.operand[k];
    if (operand.data == nullptr || is_contiguous(loop, operand)) continue;
    if (k >= loop.inputs) return false;
    gathers = gathers || !is_single(loop, operand);
  }
  if (!gathers) return true;
  const TileShape shape = tile_shape(backend, loop.type);
  if (worth_folding(loop, shape)) return false;
  const std::int64_t columns = loop.extent[loop.rank - 1];
  if (backend == Backend::cuda) return columns % shape.pack != 0 || columns < shape.columns() / 2;
  return columns < shape.pack;
}

FlatPlan make_flat_plan(const Loop& loop, Backend backend) {
  FlatPlan plan;
  plan.size = loop.size();
  plan.streaming = writes_much(loop);
  plan.rank = loop.rank;
  plan.extent = loop.extent;
  const std::int64_t alignment = pack_alignment(backend);
  const auto misalignment = [&](const LoopOperand& operand) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(operand.data) %
                                     static_cast<std::uintptr_t>(alignment));
  };
  std::int64_t shared = -1;  // the first output's misalignment
  for (int k = loop.inputs; k < loop.operands() && shared < 0; ++k) {
    if (loop.operand[k].data != nullptr) shared = misalignment(loop.operand[k]);
  }
  const std::int64_t head = (alignment - shared) % alignment / static_cast<std::int64_t>(size_of(loop.type));
  plan.head = static_cast<int>(std::min(head, plan.size));
  for (int k = 0; k < loop.operands(); ++k) {
    const LoopOperand& operand = loop.operand[k];
    FlatAccess access = FlatAccess::none;
    if (operand.data != nullptr) {
      const bool aligned = backend != Backend::cuda || misalignment(operand) == shared;
      access = is_single(loop, operand)        ? FlatAccess::single
               : !is_contiguous(loop, operand) ? FlatAccess::gathered
               : aligned                       ? FlatAccess::packs
                                               : FlatAccess::neighbours;
    }
    plan.operand[k] = {operand.data, operand.number, access, operand.stride};
    plan.packs_only = plan.packs_only && access <= FlatAccess::packs;
  }
  return plan;
}

TilePlan make_tile_plan(const Loop& loop, Backend backend) {
  const TileShape shape = tile_shape(backend, loop.type);
  TilePlan plan;
  if (worth_folding(loop, shape)) {
    set_fold(plan, loop, shape);
  } else {
    set_axes(plan, loop);
  }
  set_tiles(plan, shape);
  set_access(plan, loop, backend);
  set_sums(plan, loop);
  plan.streaming = writes_much(loop);
  plan.lean = backend == Backend::cuda && is_lean(plan, loop, shape);
  return plan;
}

std::vector<SumPlan> make_empty_sum_plans(const Loop& loop) {
  std::vector<SumPlan> result;
  for (int k = loop.inputs; k < loop.operands(); ++k) {
    const LoopOperand& output = loop.operand[k];
    if (output.data == nullptr) continue;
    SumPlan sum;
    sum.summed = 0;
    sum.out = output.data;
    for (int axis = 0; axis < loop.rank; ++axis) {
      if (!moves(output, axis)) continue;
      sum.kept_extent[sum.kept_rank] = loop.extent[axis];
      sum.out_stride[sum.kept_rank++] = output.stride[axis];
      sum.kept *= loop.extent[axis];
    }
    if (sum.kept > 0) result.push_back(sum);
  }
  return result;
}

/// A sum of more partial sums than this is done in two steps, to give more teams a share in it.
constexpr std::int64_t longest_sum = 512;
constexpr std::int64_t chunk_of_long_sum = 256;

std::pair<SumPlan, SumPlan> in_two_steps(const SumPlan& sum, std::int64_t& partials) {
  SumPlan first = sum;
  first.chunk = chunk_of_long_sum;
  first.parts = ceil_div(sum.summed, first.chunk);
  first.out = nullptr;
  first.out_partial_at = partials;
  partials += ceil_div(first.parts * sum.kept, 32) * 32;

  SumPlan second = sum;
  second.partial_at = first.out_partial_at;
  std::int64_t stride = 1;
  for (int axis = 0; axis < sum.kept_rank; ++axis) {
    second.kept_stride[axis] = stride;
    stride *= sum.kept_extent[axis];
  }
  second.summed_rank = 1;
  second.summed = second.chunk = second.summed_extent[0] = first.parts;
  second.summed_stride[0] = sum.kept;
  second.kept_is_fastest = true;
  return {first, second};
}

std::vector<SumPlan> make_sum_plans(const Loop& loop, const TilePlan& plan) {
  std::int64_t partials = plan.partials;
  std::vector<SumPlan> result;
  for (int k = loop.inputs; k < loop.operands(); ++k) {
    const TilePlan::Operand& output = plan.operand[k];
    if (output.data == nullptr || output.direct) continue;
    SumPlan sum;
    sum.partial_at = output.partial_at;
    sum.out = output.data;
    // From the fastest axis of the partial array to the slowest.
    std::int64_t stride = 1;
    const auto add_axis = [&](std::int64_t extent, std::int64_t out_stride) {
      if (out_stride != 0) {
        sum.kept_extent[sum.kept_rank] = extent;
        sum.kept_stride[sum.kept_rank] = stride;
        sum.out_stride[sum.kept_rank++] = out_stride;
        sum.kept *= extent;
      } else {
        sum.summed_extent[sum.summed_rank] = extent;
        sum.summed_stride[sum.summed_rank++] = stride;
        sum.summed *= extent;
      }
      stride *= extent;
    };
    sum.kept_is_fastest = output.column_stride != 0;
    if (output.period != 0) {
      add_axis(output.period, output.column_stride);
      add_axis(plan.columns / output.period, 0);
    } else if (output.column_stride != 0) {
      add_axis(plan.columns, output.column_stride);
    } else {
      add_axis(plan.column_blocks, 0);
    }
    if (output.sum == Sum::rows || output.sum == Sum::both) {
      add_axis(plan.row_blocks, 0);
    } else {
      for (int axis = plan.outer_rank + plan.row_rank - 1; axis >= plan.outer_rank; --axis) {
        add_axis(plan.extent[axis], output.stride[axis]);
      }
    }
    for (int axis = plan.outer_rank - 1; axis >= 0; --axis) add_axis(plan.extent[axis], output.stride[axis]);
    sum.chunk = sum.summed;
    if (sum.summed > longest_sum) {
      const auto [first, second] = in_two_steps(sum, partials);
      result.push_back(first);
      result.push_back(second);
    } else {
      result.push_back(sum);
    }
  }
  return result;
}

std::int64_t partial_elements(const TilePlan& plan, std::span<const SumPlan> sums) {
  std::int64_t result = plan.partials;
  for (const SumPlan& sum : sums) {
    if (sum.out == nullptr) result = std::max(result, sum.out_partial_at + sum.parts * sum.kept);
  }
  return result;
}

std::size_t map_workspace(const Loop& loop, Backend backend) {
  if (loop.size() == 0 || is_flat(loop, backend)) return 0;
  const std::size_t bytes = loop.type == ElementType::f64 ? 8 : 4;
  const TilePlan plan = make_tile_plan(loop, backend);
  return static_cast<std::size_t>(partial_elements(plan, make_sum_plans(loop, plan))) * bytes;
}

}  // namespace portops::impl
