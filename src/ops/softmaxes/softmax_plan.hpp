// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/reduce_plan.hpp"

#include <cstddef>

// How softmax and its gradient are cut into work. Their kernels go along or down the rows as reductions do, and then
// once more; where a row has one part, one kernel does both.

namespace portops::impl {

/// Packs of a row that a GPU's thread keeps in registers, of `inputs` inputs together: 128 bytes.
PORTOPS_FUNCTION constexpr int softmax_along_batch(int pack_bytes, int inputs) {
  return (pack_bytes > 4 ? 128 / pack_bytes : 16) / inputs;
}
/// So many of these are taken in together.
inline constexpr int softmax_along_step = 2;
/// Rows that a thread keeps where it walks down, of all inputs together.
inline constexpr int softmax_down_batch = 8;
/// The most threads of a team that share a row.
inline constexpr int softmax_most_lanes = 256;

/// The loop's inputs, and then its output, along the axis that is `reduced`.
ReducePlan make_softmax_plan(const Loop& loop, Backend backend);

/// Whether a GPU's threads can keep all of a row, if packs of all operands are read at once.
bool fits_registers(const ReducePlan& plan, int element_bytes, int inputs);

/// Bytes of workspace for what the parts of rows add up to: each to so many numbers of the arithmetic.
std::size_t softmax_memory(const ReducePlan& plan, ElementType type, int numbers);

}  // namespace portops::impl
