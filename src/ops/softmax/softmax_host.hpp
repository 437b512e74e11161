// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/cascade.hpp"
#include "core/reduce/host_rows.hpp"
#include "ops/softmax/softmax_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace portops::impl {

/// Softmax along rows on a host: a thread takes a part of a row, block by block, twice.
template <class T, class F>
class SoftmaxAlongHost : HostRows {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  static constexpr int blocks = 0;  // a matter of GPUs

  SoftmaxAlongHost(const SoftmaxRows<T, F>& rows, const ReducePlan& plan) : rows_(rows), groups_(plan) {}

  std::int64_t items() const { return groups_.items(); }

  void operator()(std::int64_t item) const {
    groups_.for_each(item, [this](std::int64_t kept, std::int64_t part) { take(kept, part); });
  }

 private:
  using Block = A[F::inputs][chunk];

  void take(std::int64_t kept, std::int64_t part) const {
    const PartRange range = rows_.parts.range(part);
    const State state = rows_.pass == SoftmaxPass::apply ? join_parts(kept) : add_up(kept, range);
    if (rows_.pass == SoftmaxPass::states) {
      rows_.partial(kept, part) = state;
    } else {
      write(kept, range, F::row(state));
    }
  }

  State join_parts(std::int64_t kept) const {
    State state = F::identity();
    for (std::int64_t part = 0; part < rows_.parts.parts; ++part) state = F()(state, rows_.partial(kept, part));
    return state;
  }

  State add_up(std::int64_t kept, const PartRange& range) const {
    State states[Cascade::most_levels] = {};
    const auto join = [&](int level, int to, bool first) {
      states[to] = first ? states[level] : F()(states[to], states[level]);
    };
    std::int64_t terms = 0;
    for (int first = 0; first < range.columns; first += chunk) {
      alignas(64) Block block;
      load(block, kept, range.first_column + first, std::min(chunk, range.columns - first));
      if (Cascade::begins(terms)) states[0] = F::identity();
      F().add(states[0], block);
      Cascade::carry(++terms, join);
    }
    return states[Cascade::finish(terms, join)];
  }

  void write(std::int64_t kept, const PartRange& range, const typename F::Row& row) const {
    for (int first = 0; first < range.columns; first += chunk) {
      const int count = std::min(chunk, range.columns - first);
      alignas(64) Block block;
      load(block, kept, range.first_column + first, count);
      alignas(64) A results[chunk];
      PORTOPS_NO_UNROLL
      for (int i = 0; i < chunk; ++i) {
        A values[F::inputs];
        for (int k = 0; k < F::inputs; ++k) values[k] = block[k][i];
        results[i] = F()(row, values);
      }
      HostRows::store<T>(rows_.at(rows_.out, kept, range.first_column + first), results, rows_.out.column_stride,
                         count);
    }
  }

  /// Reads columns of all inputs, and fills the block up.
  void load(Block& block, std::int64_t kept, std::int64_t column, int count) const {
    for (int k = 0; k < F::inputs; ++k) {
      HostRows::load<T>(block[k], rows_.at(rows_.in[k], kept, column), rows_.in[k].column_stride, count);
      std::fill(block[k] + count, block[k] + chunk, F::fill());
    }
  }

  SoftmaxRows<T, F> rows_;
  HostGroups groups_;
};

/// Softmax down columns on a host: a thread takes some columns, row by row, twice.
template <class T, class F>
class SoftmaxDownHost : HostRows {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  static constexpr int blocks = 0;

  SoftmaxDownHost(const SoftmaxRows<T, F>& rows, const ReducePlan& plan) : rows_(rows), tiles_(plan, chunk) {}

  std::int64_t items() const { return tiles_.items(); }

  void operator()(std::int64_t item) const {
    const HostTile tile = tiles_.locate(rows_.parts, item);
    States states[Cascade::most_levels];
    const States& all = rows_.pass == SoftmaxPass::apply ? join_parts(states, tile) : add_up(states, tile);
    if (rows_.pass == SoftmaxPass::states) {
      for (int i = 0; i < tile.count; ++i) rows_.partial(result_of(tile) + i, tile.part) = all.get(i);
    } else {
      write(all, tile);
    }
  }

 private:
  /// Rows that are taken in together.
  static constexpr int batch = 8;
  using Rows = A[F::inputs][batch][chunk];

  /// A struct of numbers for each column, number by number, so that neighbours can be computed together.
  template <class Struct>
  struct OfColumns {
    static constexpr int numbers = static_cast<int>(sizeof(Struct) / sizeof(A));
    using Numbers = std::array<A, numbers>;

    Struct get(int i) const {
      Numbers values;
      for (int n = 0; n < numbers; ++n) values[static_cast<std::size_t>(n)] = number[n][i];
      return std::bit_cast<Struct>(values);
    }
    void set(int i, const Struct& of_column) {
      const auto values = std::bit_cast<Numbers>(of_column);
      for (int n = 0; n < numbers; ++n) number[n][i] = values[static_cast<std::size_t>(n)];
    }

    alignas(64) A number[numbers][chunk];
  };
  using States = OfColumns<State>;

  std::int64_t result_of(const HostTile& tile) const { return tile.kept * rows_.parts.columns + tile.column; }

  const States& join_parts(States (&states)[Cascade::most_levels], const HostTile& tile) const {
    for (int i = 0; i < chunk; ++i) {
      State state = F::identity();
      for (std::int64_t part = 0; i < tile.count && part < rows_.parts.parts; ++part) {
        state = F()(state, rows_.partial(result_of(tile) + i, part));
      }
      states[0].set(i, state);
    }
    return states[0];
  }

  /// What the rows of the tile come to: one of the levels.
  const States& add_up(States (&states)[Cascade::most_levels], const HostTile& tile) const {
    const auto join = [&](int level, int to, bool first) {
      if (first) {
        states[to] = states[level];
        return;
      }
      for (int i = 0; i < chunk; ++i) states[to].set(i, F()(states[to].get(i), states[level].get(i)));
    };
    std::int64_t terms = 0;
    for (std::int64_t run = 0; run < tile.range.runs; run += batch) {
      alignas(64) Rows rows;
      for (int r = 0; r < batch; ++r) load(rows, r, tile, run + r);
      States& sums = states[0];
      if (Cascade::begins(terms)) {
        for (int i = 0; i < chunk; ++i) sums.set(i, F::identity());
      }
      PORTOPS_NO_UNROLL
      for (int i = 0; i < chunk; ++i) {
        A values[F::inputs][batch];
        for (int k = 0; k < F::inputs; ++k) {
          for (int r = 0; r < batch; ++r) values[k][r] = rows[k][r][i];
        }
        State state = sums.get(i);
        F().add(state, values);
        sums.set(i, state);
      }
      Cascade::carry(++terms, join);
    }
    return states[Cascade::finish(terms, join)];
  }

  void write(const States& states, const HostTile& tile) const {
    OfColumns<typename F::Row> of_columns;
    for (int i = 0; i < chunk; ++i) of_columns.set(i, F::row(states.get(i)));
    for (std::int64_t run = 0; run < tile.range.runs; ++run) {
      alignas(64) A row[F::inputs][1][chunk];
      load(row, 0, tile, run);
      alignas(64) A results[chunk];
      PORTOPS_NO_UNROLL
      for (int i = 0; i < chunk; ++i) {
        A values[F::inputs];
        for (int k = 0; k < F::inputs; ++k) values[k] = row[k][0][i];
        results[i] = F()(of_columns.get(i), values);
      }
      HostRows::store<T>(at(rows_.out, tile, run), results, rows_.out.column_stride, tile.count);
    }
  }

  template <class E>
  E* at(const RowOperand<E>& operand, const HostTile& tile, std::int64_t run) const {
    return rows_.at(operand, tile.kept, tile.column) + rows_.axes.run_offset(operand, tile.range.first_run + run);
  }

  /// Reads a row of all inputs as the r-th one, filled up; one beyond the last is nothing but what fills.
  template <int rows>
  void load(A (&to)[F::inputs][rows][chunk], int r, const HostTile& tile, std::int64_t run) const {
    for (int k = 0; k < F::inputs; ++k) {
      const int count = run < tile.range.runs ? tile.count : 0;
      if (count > 0) HostRows::load<T>(to[k][r], at(rows_.in[k], tile, run), rows_.in[k].column_stride, count);
      std::fill(to[k][r] + count, to[k][r] + chunk, F::fill());
    }
  }

  SoftmaxRows<T, F> rows_;
  HostTiles tiles_;
};

}  // namespace portops::impl
