// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/cascade.hpp"
#include "ops/normalization/norm_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace portops::impl {

/// What states that come one after the other are joined to, by a tree.
template <class F>
class StateCascade {
 public:
  using State = typename F::State;

  /// Calls add(state) with the state that takes in what comes next.
  template <class Add>
  void next(const Add& add) {
    if (Cascade::begins(terms_)) states_[0] = F::identity();
    add(states_[0]);
    Cascade::carry(++terms_, [this](int level, int to, bool first) { join(level, to, first); });
  }
  State total() {
    if (terms_ == 0) return F::identity();
    return states_[Cascade::finish(terms_, [this](int level, int to, bool first) { join(level, to, first); })];
  }

 private:
  void join(int level, int to, bool first) { states_[to] = first ? states_[level] : F()(states_[to], states_[level]); }

  State states_[Cascade::most_levels] = {};
  std::int64_t terms_ = 0;
};

/// Adds columns [first, first + columns) of a row, whose operands begin at these offsets, to a state, chunk by chunk.
template <class T, class F>
void add_row(const NormRows<T, F>& rows, const std::int64_t (&in_at)[F::inputs],
             const std::int64_t (&side_at)[NormRows<T, F>::most_sides], std::int64_t first, std::int64_t columns,
             StateCascade<F>& states) {
  using A = Arithmetic<T>;
  constexpr int chunk = HostRows::chunk;
  for (std::int64_t column = first; column < first + columns; column += chunk) {
    const int count = static_cast<int>(std::min<std::int64_t>(chunk, first + columns - column));
    alignas(64) A in[F::inputs][chunk], sides[NormRows<T, F>::most_sides][chunk];
    for (int k = 0; k < F::inputs; ++k) {
      const std::int64_t stride = rows.in[k].column_stride;
      HostRows::load<T>(in[k], rows.in[k].data + in_at[k] + column * stride, stride, count);
      std::fill(in[k] + count, in[k] + chunk, A(0));
    }
    for (int k = 0; k < F::sides; ++k) {
      rows.side[k].load_chunk(sides[k], side_at[k] + column * rows.side[k].operand.column_stride, count);
    }
    states.next([&](typename F::State& state) { F().add(state, in, sides, count); });
  }
}

/// Results whose columns are reduced, on a host: a thread takes a part of one.
template <class T, class F>
class NormReduceAlongHost {
 public:
  using State = typename F::State;
  static constexpr int blocks = 0;

  NormReduceAlongHost(const NormRows<T, F>& rows, const NormPlan& plan, State* partials)
      : rows_(rows), plan_(plan), partials_(partials) {}

  std::int64_t items() const { return plan_.rows.kept * plan_.parts; }

  void operator()(std::int64_t item) const {
    const std::int64_t kept = item / plan_.parts, part = item - kept * plan_.parts;
    const std::int64_t pack = rows_.pack, end = std::min((part + 1) * plan_.part_terms, plan_.terms);
    StateCascade<F> states;
    for (std::int64_t term = part * plan_.part_terms; term < end;) {
      const std::int64_t run = term / plan_.row_packs;
      const std::int64_t first = term - run * plan_.row_packs, packs = std::min(plan_.row_packs - first, end - term);
      std::int64_t in_at[F::inputs], side_at[NormRows<T, F>::most_sides];
      for (int k = 0; k < F::inputs; ++k) in_at[k] = at(rows_.in[k], kept, run);
      for (int k = 0; k < F::sides; ++k) side_at[k] = at(rows_.side[k].operand, kept, run);
      add_row(rows_, in_at, side_at, first * pack, packs * pack, states);
      term += packs;
    }
    partials_[part * plan_.rows.kept + kept] = states.total();
  }

 private:
  template <class E>
  std::int64_t at(const RowOperand<E>& operand, std::int64_t kept, std::int64_t run) const {
    return rows_.axes.kept_offset(operand, kept) + rows_.axes.run_offset(operand, run);
  }

  NormRows<T, F> rows_;
  NormPlan plan_;
  State* partials_;
};

/// Results whose columns are kept, on a host: a thread takes a chunk of columns, row by row.
template <class T, class F>
class NormReduceDownHost {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  static constexpr int blocks = 0;

  NormReduceDownHost(const NormRows<T, F>& rows, const NormPlan& plan, State* partials)
      : rows_(rows), parts_(plan.rows), tiles_(plan.rows, chunk), results_(plan.rows.results()), partials_(partials) {}

  std::int64_t items() const { return tiles_.items(); }

  void operator()(std::int64_t item) const {
    const HostTile tile = tiles_.locate(parts_, item);
    States levels[Cascade::most_levels];
    const auto join = [&](int level, int to, bool first) {
      if (first) {
        levels[to] = levels[level];
        return;
      }
      for (int i = 0; i < chunk; ++i) levels[to].set(i, F()(levels[to].get(i), levels[level].get(i)));
    };
    std::int64_t terms = 0;
    for (std::int64_t run = 0; run < tile.range.runs; run += batch) {
      if (Cascade::begins(terms)) {
        for (int i = 0; i < chunk; ++i) levels[0].set(i, F::identity());
      }
      add_rows(levels[0], tile, run);
      Cascade::carry(++terms, join);
    }
    const States& total = levels[Cascade::finish(terms, join)];
    State* const to = partials_ + tile.part * results_ + tile.kept * parts_.columns + tile.column;
    for (int i = 0; i < tile.count; ++i) to[i] = total.get(i);
  }

 private:
  static constexpr int chunk = HostRows::chunk, batch = 8;

  /// The states of columns, number by number, so that neighbours can be computed together.
  struct States {
    static constexpr int numbers = static_cast<int>(sizeof(State) / sizeof(A));
    using Numbers = std::array<A, numbers>;

    State get(int i) const {
      Numbers values;
      for (int n = 0; n < numbers; ++n) values[static_cast<std::size_t>(n)] = number[n][i];
      return std::bit_cast<State>(values);
    }
    void set(int i, const State& state) {
      const auto values = std::bit_cast<Numbers>(state);
      for (int n = 0; n < numbers; ++n) number[n][i] = values[static_cast<std::size_t>(n)];
    }

    alignas(64) A number[numbers][chunk];
  };

  /// Takes in a batch of rows, or as many as there are.
  void add_rows(States& states, const HostTile& tile, std::int64_t first) const {
    constexpr int sides = NormRows<T, F>::most_sides;
    const int there = static_cast<int>(std::min<std::int64_t>(batch, tile.range.runs - first));
    alignas(64) A in[F::inputs][batch][chunk], side[sides][batch][chunk];
    for (int r = 0; r < batch; ++r) {
      const int count = r < there ? tile.count : 0;
      for (int k = 0; k < F::inputs; ++k) {
        if (count > 0) {
          HostRows::load<T>(in[k][r], rows_.in[k].data + at(rows_.in[k], tile, first + r), rows_.in[k].column_stride,
                            count);
        }
        std::fill(in[k][r] + count, in[k][r] + chunk, A(0));
      }
      for (int k = 0; k < F::sides; ++k) {
        if (count > 0) {
          rows_.side[k].load_chunk(side[k][r], at(rows_.side[k].operand, tile, first + r), count);
        } else {
          std::fill_n(side[k][r], chunk, A(0));
        }
      }
    }
    PORTOPS_NO_UNROLL
    for (int i = 0; i < chunk; ++i) {
      A values[F::inputs][batch], beside[sides][batch];
      for (int r = 0; r < batch; ++r) {
        for (int k = 0; k < F::inputs; ++k) values[k][r] = in[k][r][i];
        for (int k = 0; k < F::sides; ++k) beside[k][r] = side[k][r][i];
      }
      State state = states.get(i);
      F().add(state, values, beside, there);
      states.set(i, state);
    }
  }

  template <class E>
  std::int64_t at(const RowOperand<E>& operand, const HostTile& tile, std::int64_t run) const {
    return rows_.axes.kept_offset(operand, tile.kept) + tile.column * operand.column_stride +
           rows_.axes.run_offset(operand, tile.range.first_run + run);
  }

  NormRows<T, F> rows_;
  RowParts parts_;
  HostTiles tiles_;
  std::int64_t results_;
  State* partials_;
};

}  // namespace portops::impl
