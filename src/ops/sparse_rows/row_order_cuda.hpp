// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sparse_rows/row_order.hpp"

namespace portops::impl {

/// Whether rows are so few that each one's rank is counted, and their places are numbered by one team.
bool is_ranked_on_cuda(const SparseRows& sparse);
/// Reads the places and sorts them, in one kernel: a row's rank is the number of those that come before it.
template <class Index>
RowOrder<Index> rank_on_cuda(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse, Index* places,
                             Index* positions);

/// The bytes that CUB needs to sort the rows, and to number them.
std::size_t cuda_sorter_bytes(const Context& ctx, const SparseRows& sparse, bool numbered);

/// Sorts places[0] and positions[0], with places[1] and positions[1] as room; tells where the result lies.
template <class Index>
RowOrder<Index> sort_on_cuda(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                             Index* (&places)[2], Index* (&positions)[2], void* sorter, std::size_t sorter_bytes);

/// order.numbers[i], i ≤ n: how many places occur up to row i.
template <class Index>
void number_on_cuda(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                    const RowOrder<Index>& order, void* sorter, std::size_t sorter_bytes);

}  // namespace portops::impl
