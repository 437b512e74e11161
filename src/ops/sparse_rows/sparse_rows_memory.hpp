// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/memory_layout.hpp"
#include "ops/sparse_rows/row_order.hpp"
#include "ops/sparse_rows/sparse_rows.hpp"

#include <string>

namespace portops::impl {

/// The labels of an operator on sparse rows, made once.
struct SparseRowsLabels {
  explicit SparseRowsLabels(const std::string& op)
      : order(op),
        sum("portops::" + op + "::sum[rows]"),
        crossing("portops::" + op + "::sum[crossing]"),
        memory("portops::" + op + "::rows") {}

  RowOrderLabels order;
  std::string sum;
  std::string crossing;
  std::string memory;
};

/// The temporaries of a call: the order of its rows, and the sums that cross chunks on each level.
struct SparseRowsMemory {
  SparseRowsMemory(const Context& ctx, const SparseRows& sparse, bool numbered)
      : order(layout, ctx, sparse, numbered), levels(sparse) {
    const std::size_t index = sparse.narrow() ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
    const std::size_t number = sparse.type == ElementType::f64 ? sizeof(double) : sizeof(float);
    for (int level = 1; level < levels.count; ++level) {
      const auto at = static_cast<std::size_t>(level);
      values[at] = TemporaryArray(layout, levels.rows[at] * sparse.columns, number);
      places[at] = TemporaryArray(layout, levels.rows[at], index);
    }
  }

  MemoryLayout layout;
  RowOrderMemory order;
  SumLevels levels;
  std::array<TemporaryArray, SumLevels::most> values;
  std::array<TemporaryArray, SumLevels::most> places;
};

}  // namespace portops::impl
