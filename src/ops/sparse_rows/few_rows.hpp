// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sparse_rows/row_order.hpp"
#include "ops/sparse_rows/row_tensors.hpp"
#include "ops/sparse_rows/sum_rows.hpp"

// Adds up the rows of each place where there are few in all (SparseRows::is_few). The order of additions follows from a
// place's own rows alone: blocks of 32 in the order of the call, one row after the other, then groups of 8 blocks, then
// the groups. So a GPU needs no sorted rows: few_rows_cuda.hpp.

namespace portops::impl {

struct FewRowsTree {
  static constexpr int block = 32;  ///< rows
  static constexpr int group = 8;   ///< blocks
};

/// The sums of few rows on a host: an item is some columns of a sorted row. The one that is the first of its place adds
/// up all of that place; the others do nothing.
template <Backend B, class T, class Index, int N, class Sink>
class SumSortedRows {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  /// As SumRows.
  SumSortedRows(const SparseRows& sparse, const Index* position, const Index* places, Index none, const Sink& sink)
      : columns_(sparse),
        rows_(sparse.n),
        values_(sparse.operand[0]),
        position_(position),
        places_(places),
        none_(none),
        packs_(ceil_div(columns_.count, N)),
        sink_(sink) {}

  std::int64_t items() const { return rows_ * packs_; }

  void operator()(std::int64_t item) const {
    const std::int64_t first = item / packs_;
    const Index place = places_[first];
    if (place == none_ || (first > 0 && places_[first - 1] == place)) return;
    const std::int64_t column = (item - first * packs_) * N;
    const int count = static_cast<int>(std::min<std::int64_t>(columns_.count - column, N));
    const T* const source = values_.at(columns_, column);
    const auto target = sink_.at(column);
    const auto has = [&](std::int64_t k) { return first + k < rows_ && places_[first + k] == place; };
    const auto read = [&](A(&to)[N], std::int64_t k) {
      const std::int64_t row = position_ != nullptr ? static_cast<std::int64_t>(position_[first + k]) : first + k;
      read_columns<B, T, N>(to, source + row * values_.row_stride, values_.column_stride[0], count);
    };
    // Most places have one row, or few.
    A of_block[N] = {}, values[N] = {};
    std::int64_t k = 0;
    const auto add_block = [&] {
      read(of_block, k++);
      for (; k % FewRowsTree::block != 0 && has(k); ++k) {
        read(values, k);
        for (int i = 0; i < N; ++i) of_block[i] += values[i];
      }
    };
    add_block();
    if (!has(k)) return sink_(target, static_cast<std::int64_t>(place), of_block, count);
    A sum[N], of_group[N];
    clear(sum);
    clear(of_group);
    take_batch(of_group, of_block);
    while (has(k)) {
      add_block();
      take_batch(of_group, of_block);
      if (k % (FewRowsTree::block * FewRowsTree::group) == 0) take_batch(sum, of_group);
    }
    take_batch(sum, of_group);
    sink_(target, static_cast<std::int64_t>(place), sum, count);
  }

 private:
  static void clear(A (&values)[N]) {
    for (A& value : values) value = no_sum<A>;
  }

  RowColumns columns_;
  std::int64_t rows_;
  RowTensor<const T> values_;
  const Index* position_;
  const Index* places_;
  Index none_;
  std::int64_t packs_;
  Sink sink_;
};

}  // namespace portops::impl
