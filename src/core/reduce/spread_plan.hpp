// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/reduce_plan.hpp"

// How one value a result is spread over what a reduction reads: the plan of the reduction, cut for writing.

namespace portops::impl {

/// Packs of a row that a thread has under way at once, and keeps to write.
PORTOPS_FUNCTION constexpr int spread_along_batch(int pack_bytes) { return pack_bytes > 4 ? 32 / pack_bytes : 8; }
/// The same where rows are walked down: rows, of which each gives a pack.
PORTOPS_FUNCTION constexpr int spread_down_batch(int pack_bytes) { return pack_bytes > 4 ? 64 / pack_bytes : 16; }

/// The plan of a loop whose `reduced` axes share values. Nobody joins what its parts give, so that walks down on GPUs
/// may be short. Where ties are counted, fewer parts are better.
ReducePlan make_spread_plan(const Loop& loop, Backend backend, bool counts);

/// Whether results are rows of `columns` neighbours that lie one behind the other in the operand, and are counted along
/// one axis.
bool is_row_of_rows(const ReducePlan& plan, int operand);

/// Bytes of workspace for the counts of a spread that counts ties.
std::size_t count_workspace(const ReducePlan& plan);

}  // namespace portops::impl
