// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copy_run.hpp"
#include "core/lanes/cascade.hpp"
#include "core/lanes/softmax_functions.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/reduce/host_rows.hpp"
#include "ops/softmaxes/softmax_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

namespace portops::impl {

/// Numbers of the arithmetic that a thread keeps on its stack, where the terms of a sum are worth keeping.
template <class A>
inline constexpr int softmax_kept = host_kept_bytes / static_cast<int>(sizeof(A));

/// Writes `count` columns of out.
template <class T, class F>
void store_columns(const SoftmaxRows<T, F>& rows, T* to, const Arithmetic<T> (&values)[HostRows::chunk], int count) {
  const std::int64_t stride = rows.out.column_stride;
  if (rows.streaming && stride == 1 && count == HostRows::chunk) {
    host::store<T, HostRows::chunk>(to, values, true);
  } else {
    HostRows::store<T>(to, values, stride, count);
  }
}

/// Softmax, or another functor of SoftmaxOfNumbers' kind, along rows on a host: a thread takes a part of a row, block
/// by block, twice; or once, if it can keep the terms.
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
    host::end_of_streaming();
  }

 private:
  static constexpr int lanes = 16;
  using Block = A[F::inputs][chunk];

  void take(std::int64_t kept, std::int64_t part) const {
    const PartRange range = rows_.parts.range(part);
    if constexpr (F::has_terms) {
      if (rows_.pass == SoftmaxPass::whole) {
        if (range.columns <= softmax_kept<A>) return take_once(kept, range);
        if constexpr (std::is_same_v<T, A>) {
          if (range.columns <= host_whole_columns && rows_.out.column_stride == 1) return take_in_out(kept, range);
        }
      }
    }
    const SoftmaxRow row = rows_.row(kept, 0, range.first_column);
    State state = F::identity();
    if constexpr (F::collects) {
      state = rows_.pass == SoftmaxPass::apply ? join_parts(kept) : add_up(kept, range);
      if (rows_.pass == SoftmaxPass::states) {
        rows_.partial(kept, part) = state;
        return;
      }
    }
    if constexpr (F::writes) {
      write(kept, range, rows_.f.row(state, row));
    } else {
      if (part == 0) finish_row(rows_.f, state, row);
    }
  }

  /// Keeps the terms: of a row filled up to whole lanes.
  void take_once(std::int64_t kept, const PartRange& range) const {
    const int columns = range.columns, filled = static_cast<int>(ceil_div(columns, lanes)) * lanes;
    const auto filled_from = [&](int first) { return std::min(chunk, filled - first); };
    const std::int64_t stride = rows_.in[0].column_stride;
    const T* const in = rows_.at(rows_.in[0], kept, range.first_column);
    alignas(64) A terms[softmax_kept<A> / chunk][chunk];
    alignas(64) A lane[lanes];
    std::fill_n(lane, lanes, F::fill());
    for (int first = 0; first < columns; first += chunk) {
      A(&own)[chunk] = terms[first / chunk];
      const int count = std::min(chunk, columns - first);
      HostRows::load<T>(own, in + first * stride, stride, count);
      std::fill(own + count, own + filled_from(first), F::fill());
      fold_lanes(lane, own, filled_from(first), Larger());
    }
    const A largest = join_array(lane, Larger()), shift = F::shift(largest);
    const A sum = add_terms(columns, [&](int first, A(&sums)[lanes]) {
      A(&own)[chunk] = terms[first / chunk];
      const int count = filled_from(first);
      PORTOPS_NO_UNROLL
      for (int i = 0; i < count; i += lanes) {
        for (int k = 0; k < lanes; ++k) own[i + k] = F::kept_term(own[i + k], shift);
      }
      fold_lanes(sums, own, count, Plus());
    });
    const A factor = F::row({largest, sum}).factor;
    for (int first = 0; first < columns; first += chunk) {
      for (int i = 0; i < filled_from(first); ++i) terms[first / chunk][i] *= factor;
    }
    store_row(rows_.at(rows_.out, kept, range.first_column), terms, columns);
  }

  /// Keeps the terms of a longer row where its results go, which are of the same type.
  void take_in_out(std::int64_t kept, const PartRange& range) const {
    const auto count_from = [&](int first) { return std::min(chunk, range.columns - first); };
    T* const out = rows_.at(rows_.out, kept, range.first_column);
    alignas(64) Block block;
    alignas(64) A lane[lanes];
    std::fill_n(lane, lanes, F::fill());
    for (int first = 0; first < range.columns; first += chunk) {
      load(block, kept, range.first_column + first, count_from(first));
      fold_lanes(lane, block[0], chunk, Larger());
    }
    const A largest = join_array(lane, Larger()), shift = F::shift(largest);
    const A sum = add_terms(range.columns, [&](int first, A(&sums)[lanes]) {
      load(block, kept, range.first_column + first, count_from(first));
      PORTOPS_NO_UNROLL
      for (int i = 0; i < chunk; ++i) block[0][i] = F::kept_term(block[0][i], shift);
      fold_lanes(sums, block[0], chunk, Plus());
      HostRows::store<T>(out + first, block[0], 1, count_from(first));
    });
    const A factor = F::row({largest, sum}).factor;
    for (int i = 0; i < range.columns; ++i) out[i] *= factor;
  }

  /// The sum of a row's terms: add(first, sums) adds those of the chunk from `first` on to as many as are side by side.
  template <class Add>
  static A add_terms(int columns, const Add& add) {
    alignas(64) A sums[Cascade::most_levels][lanes];
    const auto join = [&](int level, int to, bool first) {
      for (int i = 0; i < lanes; ++i) sums[to][i] = first ? sums[level][i] : sums[to][i] + sums[level][i];
    };
    const auto chunks = static_cast<int>(ceil_div(columns, chunk));
    for (int k = 0; k < chunks; ++k) {
      if (Cascade::begins(k)) std::fill_n(sums[0], lanes, A(0));
      add(k * chunk, sums[0]);
      Cascade::carry(k + 1, join);
    }
    return sum_of(sums[Cascade::finish(chunks, join)]);
  }

  /// Writes a row, a long one past the caches where that is wanted.
  void store_row(T* to, const A (&values)[softmax_kept<A> / chunk][chunk], int columns) const {
    const std::int64_t stride = rows_.out.column_stride;
    if constexpr (std::is_same_v<T, A>) {
      if (stride == 1) return host::copy_run(to, &values[0][0], columns, rows_.streaming);
    }
    for (int first = 0; first < columns; first += chunk) {
      store_columns(rows_, to + first * stride, values[first / chunk], std::min(chunk, columns - first));
    }
  }

  /// Joins numbers, of which there are whole lanes, to as many as are side by side.
  template <class Functor>
  static void fold_lanes(A (&to)[lanes], const A* numbers, int count, const Functor& functor) {
    PORTOPS_NO_UNROLL
    for (int first = 0; first < count; first += lanes) {
      for (int i = 0; i < lanes; ++i) to[i] = functor(to[i], numbers[first + i]);
    }
  }

  State join_parts(std::int64_t kept) const {
    State state = F::identity();
    for (std::int64_t part = 0; part < rows_.parts.parts; ++part) state = rows_.f(state, rows_.partial(kept, part));
    return state;
  }

  State add_up(std::int64_t kept, const PartRange& range) const {
    State states[Cascade::most_levels] = {};
    const auto join = [&](int level, int to, bool first) {
      states[to] = first ? states[level] : rows_.f(states[to], states[level]);
    };
    std::int64_t terms = 0;
    for (int first = 0; first < range.columns; first += chunk) {
      alignas(64) Block block;
      load(block, kept, range.first_column + first, std::min(chunk, range.columns - first));
      if (Cascade::begins(terms)) states[0] = F::identity();
      rows_.f.add(states[0], block);
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
        results[i] = rows_.f(row, values, first + i);
      }
      store_columns(rows_, rows_.at(rows_.out, kept, range.first_column + first), results, count);
    }
  }

  /// Reads columns of all inputs, and fills the block up.
  void load(Block& block, std::int64_t kept, std::int64_t column, int count) const {
    for (int k = 0; k < F::inputs; ++k) {
      HostRows::load<T>(block[k], rows_.at(rows_.in[k], kept, column), rows_.in[k].column_stride, count);
      std::fill(block[k] + count, block[k] + chunk, F::fill(k));
    }
  }

  SoftmaxRows<T, F> rows_;
  HostGroups groups_;
};

/// The same down columns: a thread takes some columns, row by row, twice; or once, if it can keep the terms.
template <class T, class F>
class SoftmaxDownHost : HostRows {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  static constexpr int blocks = 0;

  SoftmaxDownHost(const SoftmaxRows<T, F>& rows, const ReducePlan& plan) : rows_(rows), tiles_(plan, chunk) {}

  std::int64_t items() const { return tiles_.items(); }

  void operator()(std::int64_t item) const {
    take(tiles_.locate(rows_.parts, item));
    host::end_of_streaming();
  }

 private:
  void take(const HostTile& tile) const {
    if constexpr (F::has_terms) {
      if (rows_.pass == SoftmaxPass::whole && tile.range.runs <= softmax_kept<A> / chunk) return take_once(tile);
    }
    if constexpr (F::collects) {
      States states[Cascade::most_levels];
      const States& all = rows_.pass == SoftmaxPass::apply ? join_parts(states, tile) : add_up(states, tile);
      if (rows_.pass == SoftmaxPass::states) {
        for (int i = 0; i < tile.count; ++i) rows_.partial(result_of(tile) + i, tile.part) = all.get(i);
      } else {
        finish(tile, [&](int i) { return all.get(i); });
      }
    } else {
      finish(tile, [](int) { return F::identity(); });
    }
  }

  /// What is done with the states of columns.
  template <class StateOf>
  void finish(const HostTile& tile, const StateOf& state_of) const {
    const auto row = [&](int i) { return rows_.row(tile.kept, tile.column + i, tile.range.first_run); };
    if constexpr (F::writes) {
      OfColumns<typename F::Row> of_columns;
      const typename F::Row first = rows_.f.row(state_of(0), row(0));
      for (int i = 0; i < chunk; ++i) {
        of_columns.set(i, i > 0 && i < tile.count ? rows_.f.row(state_of(i), row(i)) : first);
      }
      write(of_columns, tile);
    } else if (tile.part == 0) {
      for (int i = 0; i < tile.count; ++i) finish_row(rows_.f, state_of(i), row(i));
    }
  }

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

  void take_once(const HostTile& tile) const {
    alignas(64) A terms[softmax_kept<A> / chunk][1][1][chunk];
    const auto rows = static_cast<int>(tile.range.runs);
    alignas(64) A largest[chunk];
    std::fill_n(largest, chunk, F::fill());
    for (int r = 0; r < rows; ++r) {
      load(terms[r], 0, tile, r);
      for (int i = 0; i < chunk; ++i) largest[i] = Larger()(largest[i], terms[r][0][0][i]);
    }
    alignas(64) A shift[chunk];
    for (int i = 0; i < chunk; ++i) shift[i] = F::shift(largest[i]);
    alignas(64) A sums[Cascade::most_levels][chunk];
    const auto join = [&](int level, int to, bool first) {
      for (int i = 0; i < chunk; ++i) sums[to][i] = first ? sums[level][i] : sums[to][i] + sums[level][i];
    };
    for (int r = 0; r < rows; ++r) {
      A(&own)[chunk] = terms[r][0][0];
      if (Cascade::begins(r)) std::fill_n(sums[0], chunk, A(0));
      PORTOPS_NO_UNROLL
      for (int i = 0; i < chunk; ++i) {
        own[i] = F::kept_term(own[i], shift[i]);
        sums[0][i] += own[i];
      }
      Cascade::carry(r + 1, join);
    }
    A(&factor)[chunk] = sums[Cascade::finish(rows, join)];
    for (int i = 0; i < chunk; ++i) factor[i] = F::row({largest[i], factor[i]}).factor;
    for (int r = 0; r < rows; ++r) {
      A(&own)[chunk] = terms[r][0][0];
      for (int i = 0; i < chunk; ++i) own[i] *= factor[i];
      store_columns(rows_, at(rows_.out, tile, r), own, tile.count);
    }
  }

  std::int64_t result_of(const HostTile& tile) const { return tile.kept * rows_.parts.columns + tile.column; }

  const States& join_parts(States (&states)[Cascade::most_levels], const HostTile& tile) const {
    for (int i = 0; i < chunk; ++i) {
      State state = F::identity();
      for (std::int64_t part = 0; i < tile.count && part < rows_.parts.parts; ++part) {
        state = rows_.f(state, rows_.partial(result_of(tile) + i, part));
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
      for (int i = 0; i < chunk; ++i) states[to].set(i, rows_.f(states[to].get(i), states[level].get(i)));
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
        rows_.f.add(state, values);
        sums.set(i, state);
      }
      Cascade::carry(++terms, join);
    }
    return states[Cascade::finish(terms, join)];
  }

  template <class Rows>
  void write(const Rows& of_columns, const HostTile& tile) const {
    for (std::int64_t run = 0; run < tile.range.runs; ++run) {
      alignas(64) A row[F::inputs][1][chunk];
      load(row, 0, tile, run);
      alignas(64) A results[chunk];
      PORTOPS_NO_UNROLL
      for (int i = 0; i < chunk; ++i) {
        A values[F::inputs];
        for (int k = 0; k < F::inputs; ++k) values[k] = row[k][0][i];
        results[i] = rows_.f(of_columns.get(i), values, static_cast<int>(run));
      }
      store_columns(rows_, at(rows_.out, tile, run), results, tile.count);
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
      std::fill(to[k][r] + count, to[k][r] + chunk, F::fill(k));
    }
  }

  SoftmaxRows<T, F> rows_;
  HostTiles tiles_;
};

}  // namespace portops::impl
