// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/rows.hpp"

#include <algorithm>

namespace portops::impl {

/// Joins rows of `width` values into the first, by a tree. `rows` is a power of two. Always inlined: what a function
/// that is called has seen, the loops before it would take for memory that others write.
template <class A, class Join>
KOKKOS_FORCEINLINE_FUNCTION A join_halves(A* values, int rows, int width, const Join& join) {
  for (int half = rows / 2; half > 0; half /= 2) {
    for (int i = 0; i < half * width; ++i) values[i] = join(values[i], values[i + half * width]);
  }
  return values[0];
}

/// What host kernels over a ReducePlan share.
struct HostRows {
  /// Columns that are converted and computed together.
  static constexpr int chunk = 64;

  /// Reads `count` columns in the type that is computed with.
  template <class T>
  static void load(Arithmetic<T> (&values)[chunk], const T* from, std::int64_t stride, int count) {
    if (stride == 1 && count == chunk) {
      host::convert<T, chunk>(values, from, chunk);  // of a number that is known, which becomes vectors
    } else if (stride == 1) {
      host::convert<T, chunk>(values, from, count);
    } else {
      for (int i = 0; i < count; ++i) values[i] = static_cast<Arithmetic<T>>(from[i * stride]);
    }
  }

  /// Reads columns [first, first + columns) of the runs of a part at position `at_kept` along the kept axes, some at a
  /// time, and calls visit(run, column from the first, values, their number).
  template <class T, class Visit>
  static void for_each_chunk(const RowAxes& axes, const RowOperand<T>& x, std::int64_t at_kept, const PartRange& range,
                             std::int64_t first, std::int64_t columns, const Visit& visit) {
    const T* const base = x.data + axes.kept_offset(x, at_kept) + first * x.column_stride;
    for (std::int64_t run = range.first_run; run < range.first_run + range.runs; ++run) {
      const T* const row = base + axes.run_offset(x, run);
      for (std::int64_t c = 0; c < columns; c += chunk) {
        alignas(64) Arithmetic<T> values[chunk];
        const int count = static_cast<int>(std::min<std::int64_t>(chunk, columns - c));
        load<T>(values, row + c * x.column_stride, x.column_stride, count);
        visit(run, c, values, count);
      }
    }
  }

  /// Calls visit(c, elements) for blocks of `width` columns from c on: a row's own, or `fill` where it has no more.
  template <int width, class T, class Visit>
  static void for_each_block(const T* row, std::int64_t stride, int columns, T fill, const Visit& visit) {
    int c = 0;
    if (stride == 1) {
      for (; c + width <= columns; c += width) visit(c, row + c);
    }
    for (; c < columns; c += width) {
      T block[width];
      const T* const from = row + c * stride;
      const int count = columns - c;
      if (stride == 1) {
        PORTOPS_NO_UNROLL
        for (int i = 0; i < width; ++i) block[i] = i < count ? from[i] : fill;
      } else {
        PORTOPS_NO_UNROLL
        for (int i = 0; i < width; ++i) block[i] = i < count ? from[i * stride] : fill;
      }
      visit(c, block);
    }
  }

  /// Writes `count` columns.
  template <class T>
  static void store(T* to, const Arithmetic<T> (&values)[chunk], std::int64_t stride, int count) {
    if (stride == 1 && count == chunk) {
      host::store<T, chunk>(to, values, false);
    } else if (stride == 1) {
      host::round<T, chunk>(to, values, count);
    } else {
      for (int i = 0; i < count; ++i) to[i * stride] = static_cast<T>(values[i]);
    }
  }
};

/// The parts of results that a work item takes where rows are walked along: several, where they are short.
class HostGroups {
 public:
  explicit HostGroups(const ReducePlan& plan)
      : groups_(plan.kept * plan.parts()),
        parts_(plan.parts()),
        groups_of_item_(std::max<std::int64_t>(item_elements / (plan.part_columns * plan.part_runs), 1)) {}

  std::int64_t items() const { return ceil_div(groups_, groups_of_item_); }

  /// Calls visit(position along the kept axes, part) for what the item takes.
  template <class Visit>
  void for_each(std::int64_t item, const Visit& visit) const {
    const std::int64_t end = std::min(groups_, (item + 1) * groups_of_item_);
    std::int64_t group = item * groups_of_item_;
    std::int64_t kept = group / parts_;
    for (std::int64_t part = group - kept * parts_; group < end; ++group) {
      visit(kept, part);
      if (++part == parts_) {
        part = 0;
        ++kept;
      }
    }
  }

  /// Calls visit(position along the kept axes, count) for up to `most` positions at a time, where results have one
  /// part.
  template <int most, class Visit>
  void for_each_some(std::int64_t item, const Visit& visit) const {
    const std::int64_t end = std::min(groups_, (item + 1) * groups_of_item_);
    for (std::int64_t group = item * groups_of_item_; group < end; group += most) {
      visit(group, static_cast<int>(std::min<std::int64_t>(most, end - group)));
    }
  }

 private:
  static constexpr std::int64_t item_elements = 4096;

  std::int64_t groups_;
  std::int64_t parts_;
  std::int64_t groups_of_item_;
};

/// What a work item takes where rows are walked down: some columns, and all rows of a part.
struct HostTile {
  std::int64_t kept;    ///< position along the kept axes
  std::int64_t column;  ///< the first one
  std::int64_t part;
  int count;  ///< of columns
  PartRange range;
};

class HostTiles {
 public:
  HostTiles(const ReducePlan& plan, int most_columns)
      : parts_(plan.kept * plan.parts()),
        columns_(static_cast<int>(std::min<std::int64_t>(most_columns, plan.columns))),
        column_blocks_(ceil_div(plan.columns, columns_)) {}

  std::int64_t items() const { return parts_ * column_blocks_; }
  /// The most columns of a tile.
  int columns() const { return columns_; }

  HostTile locate(const RowParts& parts, std::int64_t item) const {
    HostTile tile;
    const std::int64_t rest = item / column_blocks_;
    tile.column = (item - rest * column_blocks_) * columns_;
    tile.kept = rest / parts.parts;
    tile.part = rest - tile.kept * parts.parts;
    tile.count = static_cast<int>(std::min<std::int64_t>(columns_, parts.columns - tile.column));
    tile.range = parts.range(tile.part);
    return tile;
  }

 private:
  std::int64_t parts_;  ///< of all positions along the kept axes
  int columns_;
  std::int64_t column_blocks_;
};

}  // namespace portops::impl
