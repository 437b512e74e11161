// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/map/flat_plan.hpp"

#include "core/map/tile_plan.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

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

bool is_aligned(const LoopOperand& operand) {
  return reinterpret_cast<std::uintptr_t>(operand.data) % gpu_pack_bytes == 0;
}

/// How far the operand's elements lie from each other.
std::int64_t reach_of(const Loop& loop, const LoopOperand& operand) {
  std::int64_t reach = 0;
  for (int axis = 0; axis < loop.rank; ++axis) reach += (loop.extent[axis] - 1) * std::abs(operand.stride[axis]);
  return reach;
}

/// How an input is found by the positions of packs; `gathered` where it is not.
FlatAccess access_by_rows(const Loop& loop, const LoopOperand& operand, std::int64_t pack) {
  const int last = loop.rank - 1;
  bool whole_packs = is_aligned(operand) && operand.stride[last] == 1;
  for (int axis = 0; axis < last; ++axis) whole_packs = whole_packs && operand.stride[axis] % pack == 0;
  if (reach_of(loop, operand) > INT32_MAX) return FlatAccess::gathered;
  if (operand.stride[last] == 0) return FlatAccess::repeated;
  return whole_packs ? FlatAccess::rows : FlatAccess::gathered;
}

/// Whether FlatForm::rows serves the loop, whose outputs are contiguous.
bool has_rows(const Loop& loop, Backend backend) {
  if (!has_flat_rows(backend, loop.type) || loop.rank == 0 || loop.size() > INT32_MAX) return false;
  const std::int64_t pack = tile_shape(backend, loop.type).pack;
  if (loop.extent[loop.rank - 1] % pack != 0) return false;
  return std::all_of(loop.operand.begin(), loop.operand.begin() + loop.operands(), [&](const LoopOperand& operand) {
    if (operand.data == nullptr || is_single(loop, operand)) return true;
    if (is_contiguous(loop, operand)) return is_aligned(operand);
    return access_by_rows(loop, operand, pack) != FlatAccess::gathered;
  });
}

/// Whether some input's packs are those of the outputs. Without one, a walk through tiles reads less and stores more at
/// a time.
bool reads_in_order(const Loop& loop) {
  return std::any_of(loop.operand.begin(), loop.operand.begin() + loop.inputs, [&](const LoopOperand& operand) {
    return operand.data != nullptr && is_contiguous(loop, operand);
  });
}

/// Whether a GPU's indices into the loop, and offsets from its inputs' data, fit 32 bits.
bool has_small_indices(const Loop& loop) {
  if (loop.size() > INT32_MAX) return false;
  return std::all_of(loop.operand.begin(), loop.operand.begin() + loop.inputs, [&](const LoopOperand& operand) {
    return operand.data == nullptr || reach_of(loop, operand) <= INT32_MAX;
  });
}

/// Whether a GPU should find elements of inputs by their positions although tiles would serve the loop: short rows that
/// are no whole packs all together, which folded into long rows leave one without; and, of 16-bit types, rows that are
/// no whole packs beside inputs with neighbours in every row, which miss these rows' alignment. All that tiles could do
/// is to take elements one by one. (Of wider types these are half as many, and folded rows are quicker.)
bool gathers_well(const Loop& loop, Backend backend) {
  if (backend != Backend::cuda || loop.rank == 0 || !has_small_indices(loop) || !reads_in_order(loop)) return false;
  const int last = loop.rank - 1, pack = tile_shape(backend, loop.type).pack;
  constexpr std::int64_t short_row = 64;
  if (loop.rank == 2 && loop.extent[last] < short_row && loop.size() % pack != 0) return true;
  if (size_of(loop.type) > 2) return false;
  if (loop.extent[last] < pack || loop.extent[last] % pack == 0) return false;
  return std::all_of(loop.operand.begin(), loop.operand.begin() + loop.inputs, [&](const LoopOperand& operand) {
    return operand.data == nullptr || operand.stride[last] != 0 || is_single(loop, operand);
  });
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
  return !gathers || (has_rows(loop, backend) && reads_in_order(loop)) || gathers_well(loop, backend) ||
         !suits_tiles(loop, backend);
}

FlatPlan make_flat_plan(const Loop& loop, Backend backend) {
  FlatPlan plan;
  plan.size = loop.size();
  plan.streaming = writes_much(loop);
  plan.rank = loop.rank;
  plan.extent = loop.extent;
  plan.has_small_indices = has_small_indices(loop);
  const std::int64_t alignment = pack_alignment(backend);
  const auto bytes_behind = [&](const LoopOperand& operand) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(operand.data) %
                                     static_cast<std::uintptr_t>(alignment));
  };
  std::int64_t shared = -1;  // the first output's misalignment
  for (int k = loop.inputs; k < loop.operands() && shared < 0; ++k) {
    if (loop.operand[k].data != nullptr) shared = bytes_behind(loop.operand[k]);
  }
  const std::int64_t head = (alignment - shared) % alignment / static_cast<std::int64_t>(size_of(loop.type));
  plan.head = static_cast<int>(std::min(head, plan.size));
  const bool rows = has_rows(loop, backend);
  const std::int64_t pack = tile_shape(backend, loop.type).pack;
  for (int k = 0; k < loop.operands(); ++k) {
    const LoopOperand& operand = loop.operand[k];
    FlatAccess access = FlatAccess::none;
    if (operand.data != nullptr) {
      const bool aligned = backend != Backend::cuda || rows || bytes_behind(operand) == shared;
      access = is_single(loop, operand)        ? FlatAccess::single
               : !is_contiguous(loop, operand) ? (rows ? access_by_rows(loop, operand, pack) : FlatAccess::gathered)
               : aligned                       ? FlatAccess::packs
                                               : FlatAccess::neighbours;
    }
    plan.operand[k] = {operand, access};
    if (access > FlatAccess::packs) plan.form = rows ? FlatForm::rows : FlatForm::elements;
  }
  return plan;
}

}  // namespace portops::impl
