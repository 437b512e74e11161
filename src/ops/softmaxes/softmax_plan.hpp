// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/reduce_plan.hpp"

#include <cstddef>

// How softmax and its gradient are cut into work. Their kernels go along or down the rows as reductions do, and then
// once more; where a row has one part, one kernel does both.

namespace portops::impl {

/// Numbers that a GPU's thread keeps in registers, of all inputs together.
PORTOPS_FUNCTION constexpr int softmax_kept_numbers(int element_bytes) { return element_bytes == 8 ? 16 : 32; }

/// Packs of a row that a GPU's thread keeps in registers, of each of `inputs` inputs: 128 bytes of all together. Of one
/// input the terms of its sum are kept, which are numbers: 16-bit elements become twice as much.
PORTOPS_FUNCTION constexpr int softmax_along_batch(int pack_bytes, int element_bytes, int inputs) {
  const int bytes = inputs == 1 && element_bytes == 2 ? 64 : 128;
  return (pack_bytes * 16 > bytes ? bytes / pack_bytes : 16) / inputs;
}
/// So many of these are taken in together.
inline constexpr int softmax_along_step = 2;
/// The most threads that share a row. Of one that would be read twice a multiprocessor's, so that they keep it; of f64
/// they need registers for exponentials. One that is read once leaves room for other teams, which read while it ends.
PORTOPS_FUNCTION constexpr int softmax_most_lanes(int element_bytes, bool reads_twice) {
  if (!reads_twice) return 256;
  return element_bytes == 8 ? 512 : 1024;
}

/// Where a thread walks down: the bytes of a pack of columns of which it keeps all its rows, and how many rows of each
/// input it keeps.
PORTOPS_FUNCTION constexpr int softmax_down_kept_bytes(int element_bytes) { return element_bytes == 8 ? 8 : 4; }
PORTOPS_FUNCTION constexpr int softmax_down_kept_rows(int element_bytes, int pack, int inputs) {
  return softmax_kept_numbers(element_bytes) / (pack * inputs);
}
/// Rows so few that a thread keeps them of wider packs of columns, without others that share these.
inline constexpr int softmax_few_rows = 4;
/// A row of so many columns stays in a cache of a host's core: many of them are not cut, and their terms are kept.
inline constexpr std::int64_t host_whole_columns = std::int64_t{1} << 17;
/// Rows under way where it does not keep them, of all inputs together.
inline constexpr int softmax_down_batch = 8;

/// What is done with a row's elements.
enum class RowUse : std::int32_t {
  collect,        ///< they come to a state
  collect_write,  ///< and are written, for which rows that are not kept are read twice
  write           ///< each is written, as it alone makes it
};

/// The loop's inputs, and then its output, along the axis that is `reduced`.
ReducePlan make_softmax_plan(const Loop& loop, Backend backend, RowUse use = RowUse::collect_write);

/// Whether a GPU's packs of rows begin where those of one long row would, as rows are no whole packs of the widest
/// access. By extents alone: it decides what is added to what.
bool has_shifted_rows(const ReducePlan& plan, int element_bytes);
/// Whether rows that are walked along lie one behind the other in memory, those of the first so many operands.
bool rows_are_neighbours(const ReducePlan& plan, int operands);
/// Whether the rows that are walked down are so few.
bool has_few_rows(const ReducePlan& plan);
/// Whether a GPU's threads can keep all of a row, if packs of all operands are read at once.
bool fits_registers(const ReducePlan& plan, int element_bytes, int inputs);

/// Bytes of workspace for what the parts of rows add up to: each to so many numbers of the arithmetic.
std::size_t softmax_memory(const ReducePlan& plan, ElementType type, int numbers);

}  // namespace portops::impl
