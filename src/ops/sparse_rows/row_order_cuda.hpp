// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sparse_rows/row_order.hpp"

namespace portops::impl {

/// number_places of few rows, which are not sorted: numbers[i] = the number of the place whose first row is row i,
/// other numbers nothing. `firsts` is room for the places of rows that are the first of their place.
template <class Index>
void number_few_on_cuda(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse, Index* firsts,
                        std::int32_t* numbers, const NumberedPlaces& out);

/// The bytes that it takes to sort the rows, and to number them.
std::size_t cuda_sorter_bytes(const Context& ctx, const SparseRows& sparse, bool numbered);

/// Reads the places and sorts the rows; places and positions are room. Tells where the result lies.
template <class Index>
RowOrder<Index> sort_on_cuda(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                             Index* (&places)[2], Index* (&positions)[2], void* sorter, std::size_t sorter_bytes);

/// order.numbers[i], i ≤ n: how many places occur up to row i.
template <class Index>
void number_on_cuda(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                    const RowOrder<Index>& order, void* sorter, std::size_t sorter_bytes);

}  // namespace portops::impl
