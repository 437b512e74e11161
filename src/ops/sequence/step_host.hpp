// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/host_rows.hpp"
#include "ops/sequence/step_layout.hpp"

namespace portops::impl {

/// What a host's work item takes: an entry of a plan and some neighbouring columns, one stride apart.
class StepHostItems {
 public:
  /// The most columns of an item.
  static constexpr int most_columns = 512;

  StepHostItems(const StepColumns& columns, std::int64_t entries)
      : last_(columns.last()),
        blocks_of_last_(ceil_div(last_, most_columns)),
        blocks_(columns.columns / last_ * blocks_of_last_),
        entries_(entries) {}

  std::int64_t items() const { return entries_ * blocks_; }

  struct Item {
    std::int64_t entry;
    std::int64_t column;
    int count;
  };

  Item locate(std::int64_t item) const {
    const std::int64_t entry = item / blocks_;
    const std::int64_t block = item - entry * blocks_;
    const std::int64_t outer = block / blocks_of_last_;
    const std::int64_t first = (block - outer * blocks_of_last_) * most_columns;
    return {entry, outer * last_ + first, static_cast<int>(std::min<std::int64_t>(most_columns, last_ - first))};
  }

  /// Calls visit(column, count) for chunks of so many columns.
  template <class Visit>
  static void for_each_chunk(int columns, const Visit& visit) {
    for (int c = 0; c < columns; c += HostRows::chunk) visit(c, std::min(HostRows::chunk, columns - c));
  }

  /// The distance of neighbouring columns.
  static std::int64_t column_stride(const StepColumns& columns, const StepStrides& operand) {
    return columns.axes == 0 ? 1 : operand.column[columns.axes - 1];
  }

 private:
  std::int64_t last_;
  std::int64_t blocks_of_last_;
  std::int64_t blocks_;
  std::int64_t entries_;
};

}  // namespace portops::impl
