// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "core/loop/loop.hpp"

#include <array>

// The flat form of a loop: nothing is summed, and all outputs are contiguous.

namespace portops::impl {

/// How element i of an operand is found.
enum class FlatAccess : std::int32_t {
  none,        ///< a number; an output that is not wanted
  single,      ///< at data, for every i
  packs,       ///< at data + i, aligned to packs after `head` elements
  repeated,    ///< one for each pack, by the position of the pack along the loop's axes
  rows,        ///< a pack, aligned, by the position of the loop's pack along its axes
  neighbours,  ///< at data + i
  gathered     ///< by the position of i along the loop's axes
};

/// What the operands of a plan need at most.
enum class FlatForm : std::int32_t {
  packs,    ///< none, single, packs
  rows,     ///< repeated and rows besides: there are whole packs only, and all indices fit 32 bits
  elements  ///< any but repeated and rows
};

/// Whether FlatForm::rows is ever used. In types of 16 bits it is not worth it: a pack has many numbers, and a walk
/// through tiles converts what stays only once.
constexpr bool has_flat_rows(Backend backend, ElementType type) {
  return backend == Backend::cuda && size_of(type) >= 4;
}

/// An operand of a loop, and how its elements are found.
struct FlatOperand : LoopOperand {
  FlatAccess access = FlatAccess::none;
};

/// A loop whose outputs are all contiguous, in the order of its axes: a range of elements, cut into packs.
struct FlatPlan {
  std::int64_t size = 0;
  int head = 0;            ///< elements before the first output is aligned to packs
  bool streaming = false;  ///< outputs are too large to stay in a host's caches
  FlatForm form = FlatForm::packs;
  int rank = 0;                    ///< of the loop, for inputs that are found by positions
  bool has_small_indices = false;  ///< indices, and the inputs' offsets, fit 32 bits
  std::array<std::int64_t, max_rank> extent{};
  std::array<FlatOperand, max_operands> operand{};
};

/// Whether the loop suits the flat form: nothing is summed, all outputs are contiguous, and so are the inputs that are
/// not single values, or some of them are and others broadcast so that a pack of the loop takes one value of them or
/// one pack (the rows of FlatForm), or else tiles would not suit it either.
bool is_flat(const Loop& loop, Backend backend);
FlatPlan make_flat_plan(const Loop& loop, Backend backend);

}  // namespace portops::impl
