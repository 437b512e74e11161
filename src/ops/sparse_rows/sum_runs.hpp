// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sparse_rows/sum_rows.hpp"

#include <bit>
#include <type_traits>

namespace portops::impl {

/// The sums of SumRows on a GPU: a thread takes some columns of a run, rows of one place in one chunk. Most runs are
/// short, so that all rows are under way at once. There is a thread for each row; those that do not begin a run do
/// nothing. The order of additions is that of SumRows.
template <Backend B, class T, class Index, int N, class Sink, bool crossing>
class SumRuns {
 public:
  using A = Arithmetic<T>;
  /// The element type of the rows.
  using S = std::conditional_t<crossing, A, T>;
  static constexpr int blocks = crossing ? 1 : 4;

  /// The rows, of which there are several sets where sums cross chunks again.
  struct Level {
    std::int64_t rows;
    const S* values;
    const Index* places;
    CrossingSums<A, Index> next;
  };

  /// As SumRows.
  SumRuns(const RowColumns& columns, std::int64_t rows, std::int64_t chunk, const RowTensor<const S>& values,
          const Index* position, const Index* places, Index none, const CrossingSums<A, Index>& next, const Sink& sink)
      : columns_(columns),
        chunk_bits_(std::countr_zero(static_cast<std::uint64_t>(chunk))),
        values_(values),
        position_(position),
        none_(none),
        level_{rows, values.data, places, next},
        packs_(columns.count / N),
        by_packs_(packs_),
        sink_(sink) {}

  std::int64_t items() const { return level_.rows * packs_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t i = by_packs_.quotient(item);
    add_run(level_, i, item - i * packs_, item == i * packs_);
  }

  /// A pack of the columns of the run that begins with row i, if one does. The next level's places are the same for
  /// each: one pack `writes_places`.
  KOKKOS_FORCEINLINE_FUNCTION void add_run(const Level& level, std::int64_t i, std::int64_t pack,
                                           bool writes_places) const {
    const std::int64_t chunk = i >> chunk_bits_, begin = chunk << chunk_bits_;
    const std::int64_t whole_end = begin + (std::int64_t{1} << chunk_bits_);
    const std::int64_t end = whole_end < level.rows ? whole_end : level.rows;
    const Index place = level.places[i];
    const bool has_place = place != none_;
    const bool follows = has_place && i > 0 && level.places[i - 1] == place;
    const bool has_next = level.next.values != nullptr;
    if (writes_places && has_next) {
      if (i == begin) level.next.places[2 * chunk] = follows ? place : none_;
      if (i == end - 1) level.next.places[2 * chunk + 1] = has_place && goes_on(level, end, place) ? place : none_;
    }
    if (!has_place || (follows && i > begin)) return;
    const std::int64_t column = pack * N;
    const auto target = sink_.at(column);
    sink_.prefetch(target, static_cast<std::int64_t>(place));
    // Strides are those of all levels' rows.
    const S* const source = level.values + values_.offset(columns_, column);
    A sum[N];
    const bool crosses_end = add_rows(level, sum, i, end, place, source) && goes_on(level, end, place);
    if (!has_next || (!follows && !crosses_end)) {
      sink_(target, static_cast<std::int64_t>(place), sum, N);
      return;
    }
    level.next.template write<B, N>(chunk, follows ? 0 : 1, columns_.count, column, sum, N);
    if (follows && crosses_end) {
      PORTOPS_UNROLL
      for (int k = 0; k < N; ++k) sum[k] = no_sum<A>;
      level.next.template write<B, N>(chunk, 1, columns_.count, column, sum, N);
    }
  }

 private:
  static constexpr std::int64_t batch = crossing ? SparseRows::crossing_chunk : SparseRows::batch;
  static constexpr int underway = 4;  ///< rows
  static_assert(batch % underway == 0);

  KOKKOS_FORCEINLINE_FUNCTION static bool goes_on(const Level& level, std::int64_t end, Index place) {
    return end < level.rows && level.places[end] == place;
  }

  KOKKOS_FORCEINLINE_FUNCTION const S* row_at(const S* source, std::int64_t i) const {
    const std::int64_t row = position_ != nullptr ? static_cast<std::int64_t>(position_[i]) : i;
    return source + row * values_.row_stride;
  }

  /// sum = the rows from i on, to the last one before `end` that has the place; tells whether that is the chunk's last.
  KOKKOS_FORCEINLINE_FUNCTION bool add_rows(const Level& level, A (&sum)[N], std::int64_t i, std::int64_t end,
                                            Index place, const S* source) const {
    A of_batch[N];
    load_row<B>(of_batch, row_at(source, i));
    std::int64_t at = i + 1;
    const auto has_place = [&](std::int64_t row) { return row < end && level.places[row] == place; };
    if (!has_place(at)) {
      PORTOPS_UNROLL
      for (int k = 0; k < N; ++k) sum[k] = of_batch[k];
      return at == end;
    }
    PORTOPS_UNROLL
    for (int k = 0; k < N; ++k) sum[k] = no_sum<A>;
    PORTOPS_NO_UNROLL
    while (has_place(at)) {
      // Up to the next batch, some rows under way: each step waits for memory once.
      if (at % batch == 0) take_batch(sum, of_batch);
      const std::int64_t stop = at / batch * batch + batch;
      PORTOPS_NO_UNROLL
      while (at < stop) {
        A values[underway][N];
        bool takes[underway];
        PORTOPS_UNROLL
        for (int j = 0; j < underway; ++j) takes[j] = at + j < stop && has_place(at + j);
        PORTOPS_UNROLL
        for (int j = 0; j < underway; ++j) {
          if (takes[j]) load_row<B>(values[j], row_at(source, at + j));
        }
        PORTOPS_UNROLL
        for (int j = 0; j < underway; ++j) {
          if (!takes[j]) continue;
          PORTOPS_UNROLL
          for (int k = 0; k < N; ++k) of_batch[k] += values[j][k];
        }
        at += underway;
        if (!takes[underway - 1]) break;
      }
      at = at < stop ? at : stop;
    }
    take_batch(sum, of_batch);
    return level.places[end - 1] == place;
  }

  RowColumns columns_;
  int chunk_bits_;
  RowTensor<const S> values_;
  const Index* position_;
  Index none_;
  Level level_;
  std::int64_t packs_;
  IndexDivisor by_packs_;
  Sink sink_;
};

}  // namespace portops::impl
