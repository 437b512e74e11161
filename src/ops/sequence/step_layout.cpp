// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/step_layout.hpp"

#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/power_of_two.hpp"

#include <algorithm>
#include <bit>

namespace portops::impl {
namespace {

constexpr int most_lanes = 32;

int lanes_of(const StepColumns& columns) { return power_of_two_at_least(columns.columns / columns.pack, most_lanes); }

/// Removes axes of extent 1, and merges those that all operands step over alike.
void merge_axes(StepLayout& layout) {
  StepColumns& columns = layout.columns;
  int kept = 0;
  for (int axis = 0; axis < columns.axes; ++axis) {
    if (columns.extent[axis] == 1) continue;
    const bool merges =
        kept > 0 && std::all_of(layout.operands.begin(), layout.operands.end(), [&](const auto& operand) {
          return operand.data == nullptr || operand.column[kept - 1] == operand.column[axis] * columns.extent[axis];
        });
    if (merges) {
      columns.extent[kept - 1] *= columns.extent[axis];
    } else {
      columns.extent[kept++] = columns.extent[axis];
    }
    for (StepStrides& operand : layout.operands) operand.column[kept - 1] = operand.column[axis];
  }
  columns.axes = kept;
}

bool can_be_read_at_once(const StepStrides& operand, const StepColumns& columns, int pack, std::size_t element) {
  const int last = columns.axes - 1;
  if (last >= 0 && operand.column[last] != 1) return false;
  if (reinterpret_cast<std::uintptr_t>(operand.data) % (static_cast<std::size_t>(pack) * element) != 0) return false;
  if (operand.outer % pack != 0 || operand.row % pack != 0) return false;
  for (int axis = 0; axis < last; ++axis) {
    if (operand.column[axis] % pack != 0) return false;
  }
  return true;
}

}  // namespace

StepLayout make_step_layout(std::initializer_list<StepTensor> operands) {
  StepLayout layout;
  ElementType type{};
  bool first = true;
  std::vector<bool> packs;
  for (const auto& [tensor, row_axes] : operands) {
    StepStrides& strides = layout.operands.emplace_back();
    packs.push_back(false);
    if (!tensor) continue;
    if (first) type = tensor.type();
    packs.back() = tensor.type() == type;
    strides.data = tensor.data();
    if (row_axes == 2) strides.outer = tensor.stride(0);
    if (row_axes > 0) strides.row = tensor.stride(row_axes - 1);
    const int axes = tensor.rank() - row_axes;
    if (first) {
      layout.columns.axes = axes;
      for (int axis = 0; axis < axes; ++axis) {
        layout.columns.extent[axis] = tensor.extent(row_axes + axis);
        layout.columns.columns *= tensor.extent(row_axes + axis);
      }
    }
    for (int axis = 0; axis < axes; ++axis) strides.column[axis] = tensor.stride(row_axes + axis);
    first = false;
  }
  merge_axes(layout);
  const std::size_t element = size_of(type);
  for (int pack = gpu_pack_bytes / static_cast<int>(element); pack > 1; pack /= 2) {
    bool fits = layout.columns.last() % pack == 0;
    for (std::size_t k = 0; k < packs.size(); ++k) {
      fits = fits && (!packs[k] || can_be_read_at_once(layout.operands[k], layout.columns, pack, element));
    }
    if (!fits) continue;
    layout.columns.pack = pack;
    break;
  }
  return layout;
}

StepStrides rows_of_temporary(const StepColumns& columns, void* data) {
  StepStrides strides;
  strides.data = data;
  strides.row = columns.columns;
  std::int64_t stride = 1;
  for (int axis = columns.axes - 1; axis >= 0; --axis) {
    strides.column[axis] = stride;
    stride *= columns.extent[axis];
  }
  return strides;
}

StepTiles::StepTiles(const StepColumns& columns, std::int64_t entries, std::int64_t mean_rows, int rows_of_thread,
                     int packs)
    : entries_(entries), columns_(columns.columns), pack_(columns.pack), packs_(packs) {
  const int lanes = lanes_of(columns);
  // Where rows are short, neighbouring rows are to be read by neighbouring threads.
  const std::int64_t of_thread = lanes < 8 ? 2 : rows_of_thread;
  const int slots = power_of_two_at_least(ceil_div(mean_rows, of_thread), step_threads / lanes);
  lane_bits_ = std::countr_zero(static_cast<unsigned>(lanes));
  group_bits_ = lane_bits_ + std::countr_zero(static_cast<unsigned>(slots));
  column_blocks_ = ceil_div(columns_, static_cast<std::int64_t>(lanes) * pack_ * packs_);
  by_column_blocks_ = IndexDivisor(std::max<std::int64_t>(column_blocks_, 1));
}

int single_columns(const StepColumns& columns, const StepEntries& longest, const StepEntries& others,
                   int rows_of_thread, int most) {
  constexpr std::int64_t many_teams = 4 * gpu_teams_at_once;
  if (columns.pack > 1 || columns.axes != 1 || columns.columns <= most_lanes) return 1;
  if (UnevenStepTiles(columns, longest, others, rows_of_thread).teams() < many_teams) return 1;
  return columns.columns <= 2 * most_lanes ? 2 : most;
}

std::int64_t most_joined_rows(const StepColumns& columns) {
  constexpr std::int64_t rows_of_slot = 64;
  return std::max<std::int64_t>(512, step_threads / lanes_of(columns) * rows_of_slot);
}

std::int64_t most_spread_rows(const StepColumns& columns) {
  constexpr std::int64_t rows_of_slot = 8;
  return step_threads / lanes_of(columns) * rows_of_slot;
}

}  // namespace portops::impl
