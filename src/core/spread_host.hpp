// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/host_rows.hpp"
#include "core/spaces.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace portops::impl {

/// Spreads a value a row along rows, on a host.
template <Backend B, class T, class F>
class SpreadAlongHost : HostRows {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  static constexpr int blocks = 0;  // a matter of GPUs

  SpreadAlongHost(const F& f, const ReducePlan& plan, const SpreadOperands& operands, const TieCounts& counts)
      : f_(f),
        axes_(plan),
        parts_(plan),
        out_(plan.operand[operands.out]),
        out_grad_(plan.operand[operands.out_grad]),
        x_(plan.operand[operands.x]),
        y_(plan.operand[operands.y]),
        counts_(counts),
        groups_(plan.kept * plan.parts()),
        groups_of_item_(std::max<std::int64_t>(item_elements / (plan.part_columns * plan.part_runs), 1)) {}

  std::int64_t items() const { return ceil_div(groups_, groups_of_item_); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((const std::int64_t end = std::min(groups_, (item + 1) * groups_of_item_);
                       for (std::int64_t group = item * groups_of_item_; group < end; ++group) spread(group);))
  }

 private:
  void spread(std::int64_t group) const {
    const std::int64_t result = group / parts_.parts;
    const std::int64_t part = group - result * parts_.parts;
    const PartRange range = parts_.range(part);
    const T* const x = x_.data + axes_.kept_offset(x_, result) + range.first_column * x_.column_stride;
    T* const y = y_.data + axes_.kept_offset(y_, result) + range.first_column * y_.column_stride;
    Row row = f_.row(static_cast<A>(out_.data[axes_.kept_offset(out_, result)]),
                     static_cast<A>(out_grad_.data[axes_.kept_offset(out_grad_, result)]));
    if constexpr (F::counts) {
      std::int64_t count = 0;
      if (counts_.mode == Ties::given) {
        for (std::int64_t p = 0; p < parts_.parts; ++p) count += counts_.of(p, result);
      } else {
        count = count_ties(x, range, row);
      }
      if (counts_.mode == Ties::counted) {
        counts_.of(part, result) = static_cast<int>(count);
        return;
      }
      row = f_.shared(row, static_cast<A>(count));
    }
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* const from = x + axes_.run_offset(x_, range.first_run + run);
      T* const to = y + axes_.run_offset(y_, range.first_run + run);
      for (int c = 0; c < range.columns; c += chunk) {
        alignas(64) A values[chunk];
        const int count = std::min(chunk, range.columns - c);
        load<T>(values, from + c * x_.column_stride, x_.column_stride, count);
        for (int i = 0; i < chunk; ++i) values[i] = i < count ? f_(values[i], row) : A(0);
        store<T>(to + c * y_.column_stride, values, y_.column_stride, count);
      }
    }
  }

  int count_ties(const T* x, const PartRange& range, const Row& row) const {
    int count = 0;
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* const from = x + axes_.run_offset(x_, range.first_run + run);
      for (int c = 0; c < range.columns; c += chunk) {
        alignas(64) A values[chunk];
        const int some = std::min(chunk, range.columns - c);
        load<T>(values, from + c * x_.column_stride, x_.column_stride, some);
        for (int i = 0; i < some; ++i) count += f_.is_tie(values[i], row) ? 1 : 0;
      }
    }
    return count;
  }

  F f_;
  RowAxes axes_;
  RowParts parts_;
  RowOperand<T> out_;
  RowOperand<T> out_grad_;
  RowOperand<T> x_;
  RowOperand<T> y_;
  TieCounts counts_;
  std::int64_t groups_;
  std::int64_t groups_of_item_;
};

/// Spreads a value a column down columns, on a host.
template <Backend B, class T, class F>
class SpreadDownHost : HostRows {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  static constexpr int blocks = 0;  // a matter of GPUs

  SpreadDownHost(const F& f, const ReducePlan& plan, const SpreadOperands& operands, const TieCounts& counts)
      : f_(f),
        axes_(plan),
        parts_(plan),
        out_(plan.operand[operands.out]),
        out_grad_(plan.operand[operands.out_grad]),
        x_(plan.operand[operands.x]),
        y_(plan.operand[operands.y]),
        counts_(counts),
        kept_(plan.kept),
        columns_of_item_(static_cast<int>(std::min<std::int64_t>(most_columns, plan.columns))),
        column_blocks_(ceil_div(plan.columns, columns_of_item_)) {}

  std::int64_t items() const { return kept_ * parts_.parts * column_blocks_; }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const { KOKKOS_IF_ON_HOST((spread(item);)) }

 private:
  static constexpr int most_columns = 512;

  /// The rows' values, number by number, so that neighbours can be computed together.
  static constexpr int numbers = static_cast<int>(sizeof(Row) / sizeof(A));
  using Numbers = std::array<A, numbers>;
  struct Rows {
    alignas(64) A number[numbers][most_columns];

    void set(int i, const Row& row) {
      const auto values = std::bit_cast<Numbers>(row);
      for (int n = 0; n < numbers; ++n) number[n][i] = values[static_cast<std::size_t>(n)];
    }
    Row get(int i) const {
      Numbers values;
      for (int n = 0; n < numbers; ++n) values[static_cast<std::size_t>(n)] = number[n][i];
      return std::bit_cast<Row>(values);
    }
  };

  struct Tile {
    std::int64_t kept;
    std::int64_t part;
    std::int64_t column;
    int count;
    PartRange range;
  };

  Tile locate(std::int64_t item) const {
    Tile tile;
    const std::int64_t rest = item / column_blocks_;
    tile.column = (item - rest * column_blocks_) * columns_of_item_;
    tile.kept = rest / parts_.parts;
    tile.part = rest - tile.kept * parts_.parts;
    tile.count = static_cast<int>(std::min<std::int64_t>(columns_of_item_, parts_.columns - tile.column));
    tile.range = parts_.range(tile.part);
    return tile;
  }

  void spread(std::int64_t item) const {
    const Tile tile = locate(item);
    const T* const out = out_.data + axes_.kept_offset(out_, tile.kept);
    const T* const out_grad = out_grad_.data + axes_.kept_offset(out_grad_, tile.kept);
    Rows rows;
    for (int c = 0; c < tile.count; ++c) {
      rows.set(c, f_.row(static_cast<A>(out[(tile.column + c) * out_.column_stride]),
                         static_cast<A>(out_grad[(tile.column + c) * out_grad_.column_stride])));
    }
    if constexpr (F::counts) {
      if (!share_out(tile, rows)) return;
    }
    T* const y = y_.data + axes_.kept_offset(y_, tile.kept) + tile.column * y_.column_stride;
    for_each_chunk(tile, [&](std::int64_t run, int c, A(&values)[chunk], int count) {
      for (int i = 0; i < count; ++i) values[i] = f_(values[i], rows.get(c + i));
      store<T>(y + axes_.run_offset(y_, run) + c * y_.column_stride, values, y_.column_stride, count);
    });
  }

  /// Shares each column's gradient out between its ties. False where these were only counted.
  bool share_out(const Tile& tile, Rows& rows) const {
    const std::int64_t first = tile.kept * parts_.columns + tile.column;
    std::int64_t counts[most_columns] = {};
    if (counts_.mode == Ties::given) {
      for (std::int64_t p = 0; p < parts_.parts; ++p) {
        for (int c = 0; c < tile.count; ++c) counts[c] += counts_.of(p, first + c);
      }
    } else {
      for_each_chunk(tile, [&](std::int64_t, int c, A(&values)[chunk], int count) {
        for (int i = 0; i < count; ++i) counts[c + i] += f_.is_tie(values[i], rows.get(c + i)) ? 1 : 0;
      });
    }
    for (int c = 0; c < tile.count; ++c) {
      if (counts_.mode == Ties::counted) {
        counts_.of(tile.part, first + c) = static_cast<int>(counts[c]);
      } else {
        rows.set(c, f_.shared(rows.get(c), static_cast<A>(counts[c])));
      }
    }
    return counts_.mode != Ties::counted;
  }

  template <class Visit>
  void for_each_chunk(const Tile& tile, const Visit& visit) const {
    const T* const x = x_.data + axes_.kept_offset(x_, tile.kept) + tile.column * x_.column_stride;
    for (std::int64_t run = tile.range.first_run; run < tile.range.first_run + tile.range.runs; ++run) {
      const T* const row = x + axes_.run_offset(x_, run);
      for (int c = 0; c < tile.count; c += chunk) {
        alignas(64) A values[chunk];
        const int count = std::min(chunk, tile.count - c);
        load<T>(values, row + c * x_.column_stride, x_.column_stride, count);
        visit(run, c, values, count);
      }
    }
  }

  F f_;
  RowAxes axes_;
  RowParts parts_;
  RowOperand<T> out_;
  RowOperand<T> out_grad_;
  RowOperand<T> x_;
  RowOperand<T> y_;
  TieCounts counts_;
  std::int64_t kept_;
  int columns_of_item_;
  std::int64_t column_blocks_;
};

}  // namespace portops::impl
