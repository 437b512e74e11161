// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/sparse_rows/row_order.hpp"
#include "ops/sparse_rows/row_tensors.hpp"

#include <type_traits>

// Adds up the rows of each place, where they are many in all.
//
// Sorted rows are cut into chunks of equal length. Where the place changes within a chunk, there is a sum. A sum whose
// place does not go on beyond the chunk goes to the sink. The others, at most two in each chunk, are rows of the next
// level, and so on: the tree is fixed by the sorted places alone, so that every backend adds in the same order. Threads
// walk down chunks, below; on GPUs they take runs of one place, sum_runs.hpp, of fewer rows and of crossing sums, and
// the last levels are one kernel, sum_crossings.hpp.

namespace portops::impl {

/// Sums that cross the ends of chunks: rows 2c and 2c + 1 are that of chunk c's first place, which began before it, and
/// that of its last place, which goes on behind it.
template <class A, class Index>
struct CrossingSums {
  A* values = nullptr;      ///< contiguous rows
  Index* places = nullptr;  ///< none where there is no such sum

  /// Some of `columns` of the first of chunk's two sums (0), or of the second (1).
  template <Backend B, int N>
  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t chunk, int which, std::int64_t columns, std::int64_t column,
                                         const A (&sum)[N], [[maybe_unused]] int count) const {
    A* const to = values + (2 * chunk + which) * columns + column;
    if constexpr (B == Backend::cuda && N > 1) {
      constexpr int width = 16 / static_cast<int>(sizeof(A));
      PORTOPS_UNROLL
      for (int i = 0; i < N; i += width) {
        Pack<A, width> part;
        PORTOPS_UNROLL
        for (int j = 0; j < width; ++j) part.element[j] = sum[i + j];
        *reinterpret_cast<Pack<A, width>*>(to + i) = part;
      }
    } else {
      for (int i = 0; i < N && i < count; ++i) to[i] = sum[i];
    }
  }
};

/// Some columns of a row on a GPU: a pack in accesses of 16 bytes.
template <Backend B, class S, class A, int N>
KOKKOS_FORCEINLINE_FUNCTION void load_row(A (&values)[N], const S* from) {
  if constexpr (N * sizeof(S) > 16) {
    copy_pack<B, A, N>(values, from);
  } else {
    read_columns<B, S, N>(values, from, 1, N);
  }
}

/// A negative zero changes no number that is added to it.
template <class A>
inline constexpr A no_sum = A(-0.0);

/// Adds the sum of a batch of rows to that of those before, and begins anew.
template <class A, int N>
KOKKOS_FORCEINLINE_FUNCTION void take_batch(A (&sum)[N], A (&of_batch)[N]) {
  PORTOPS_UNROLL
  for (int i = 0; i < N; ++i) {
    sum[i] += of_batch[i];
    of_batch[i] = no_sum<A>;
  }
}

/// An item is some columns of a chunk. A GPU has a batch of rows under way at once, whatever places they have.
///
/// `Sink` does something with the sums. sink.at(column) is what it needs to know of some columns, a Sink::Columns, and
/// `sink(columns, place, sum, count)`, with `const A (&sum)[N]`, takes `count` of them for a place; what it reads for
/// that sink.prefetch(columns, place) brings into a GPU's cache, for a batch together, or each sum would wait for it
/// anew. Where `crossing`, the rows are
/// sums that cross the ends of chunks.
template <Backend B, class T, class Index, int N, class Sink, bool crossing>
class SumRows {
 public:
  using A = Arithmetic<T>;
  /// The element type of the rows.
  using S = std::conditional_t<crossing, A, T>;
  static constexpr int blocks = N > 4 ? 2 : 3;  ///< a batch of wide packs takes many registers

  /// `position` says which row is the i-th, `places` its place; `none` is the place of rows that count for nothing.
  SumRows(const RowColumns& columns, std::int64_t rows, std::int64_t chunk, const RowTensor<const S>& values,
          const Index* position, const Index* places, Index none, const CrossingSums<A, Index>& next, const Sink& sink)
      : columns_(columns),
        rows_(rows),
        chunk_(chunk),
        values_(values),
        position_(position),
        places_(places),
        none_(none),
        next_(next),
        packs_((columns.count + N - 1) / N),
        by_packs_(packs_),
        sink_(sink) {}

  std::int64_t items() const { return ceil_div(rows_, chunk_) * packs_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    Walk walk;
    walk.chunk = by_packs_.quotient(item);
    walk.column = (item - walk.chunk * packs_) * N;
    const std::int64_t left = columns_.count - walk.column;
    walk.count = static_cast<int>(left < N ? left : N);
    const std::int64_t begin = walk.chunk * chunk_;
    const std::int64_t end = begin + chunk_ < rows_ ? begin + chunk_ : rows_;
    walk.place = places_[begin];
    walk.began_before = begin > 0 && walk.place != none_ && places_[begin - 1] == walk.place;
    walk.first_place = none_;
    walk.source = values_.at(columns_, walk.column);
    walk.target = sink_.at(walk.column);
    walk.clear();
    for (std::int64_t first = begin; first < end; first += batch) add_batch(walk, first, end);
    finish(walk, end);
  }

 private:
  static constexpr int batch = crossing ? static_cast<int>(SparseRows::crossing_chunk) : SparseRows::batch;

  struct Walk {
    std::int64_t chunk;
    std::int64_t column;
    int count;
    const S* source;  ///< the columns of row 0
    typename Sink::Columns target;
    Index place;        ///< whose rows are being added up
    bool began_before;  ///< its first row is in a chunk before
    Index first_place;  ///< that of the chunk's sum whose rows began before, once it is written
    A sum[N];
    A of_batch[N];

    KOKKOS_FORCEINLINE_FUNCTION void clear() {
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) sum[i] = of_batch[i] = no_sum<A>;
    }
  };

  KOKKOS_FORCEINLINE_FUNCTION Index row(std::int64_t i) const {
    return position_ != nullptr ? position_[i] : static_cast<Index>(i);
  }

  KOKKOS_FORCEINLINE_FUNCTION const S* row_at(const Walk& walk, Index row) const {
    return walk.source + static_cast<std::int64_t>(row) * values_.row_stride;
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_batch(Walk& walk, std::int64_t first, std::int64_t end) const {
    if constexpr (B == Backend::cuda) {
      // All places and positions, then all rows, then the sums: each step waits for memory once.
      Index place[batch];
      Index rows[batch];
      PORTOPS_UNROLL
      for (int j = 0; j < batch; ++j) place[j] = first + j < end ? places_[first + j] : none_;
      PORTOPS_UNROLL
      for (int j = 0; j < batch; ++j) rows[j] = first + j < end ? row(first + j) : 0;
      A values[batch][N];
      PORTOPS_UNROLL
      for (int j = 0; j < batch; ++j) {
        if (place[j] != none_) load_row<B>(values[j], row_at(walk, rows[j]));
      }
      PORTOPS_UNROLL
      for (int j = 0; j < batch; ++j) {
        if (place[j] != none_) sink_.prefetch(walk.target, static_cast<std::int64_t>(place[j]));
      }
      PORTOPS_UNROLL
      for (int j = 0; j < batch; ++j) {
        if (first + j < end) add_row(walk, place[j], values[j]);
      }
    } else {
      const std::int64_t stop = first + batch < end ? first + batch : end;
      A values[N] = {};
      for (std::int64_t i = first; i < stop; ++i) {
        const Index place = places_[i];
        if (place != none_) {
          read_columns<B, S, N>(values, row_at(walk, row(i)), values_.column_stride[0], walk.count);
        }
        add_row(walk, place, values);
      }
    }
    take_batch(walk.sum, walk.of_batch);
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_row(Walk& walk, Index place, const A (&values)[N]) const {
    if (place != walk.place) {
      take_batch(walk.sum, walk.of_batch);
      close(walk);
      walk.place = place;
      walk.clear();
    }
    if (place == none_) return;
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) walk.of_batch[i] += values[i];
  }

  /// The place's last row has been added.
  KOKKOS_FORCEINLINE_FUNCTION void close(Walk& walk) const {
    if (walk.place == none_) return;
    if (walk.began_before && next_.values != nullptr) {
      write_crossing(walk, 0, walk.sum);
      walk.first_place = walk.place;
    } else {
      sink_(walk.target, static_cast<std::int64_t>(walk.place), walk.sum, walk.count);
    }
    walk.began_before = false;
  }

  KOKKOS_FORCEINLINE_FUNCTION void finish(Walk& walk, std::int64_t end) const {
    Index last_place = none_;
    if (next_.values != nullptr && walk.place != none_ && end < rows_ && places_[end] == walk.place) {
      // Where the whole chunk has one place, its sum is the first of the two, and the second adds nothing.
      last_place = walk.place;
      if (walk.began_before) {
        close(walk);
        walk.clear();
      }
      write_crossing(walk, 1, walk.sum);
    } else {
      close(walk);
    }
    if (next_.values != nullptr && walk.column == 0) {
      next_.places[2 * walk.chunk] = walk.first_place;
      next_.places[2 * walk.chunk + 1] = last_place;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write_crossing(const Walk& walk, int which, const A (&sum)[N]) const {
    next_.template write<B, N>(walk.chunk, which, columns_.count, walk.column, sum, walk.count);
  }

  RowColumns columns_;
  std::int64_t rows_;
  std::int64_t chunk_;  ///< rows of it
  RowTensor<const S> values_;
  const Index* position_;
  const Index* places_;
  Index none_;
  CrossingSums<A, Index> next_;  ///< of the next level
  std::int64_t packs_;
  IndexDivisor by_packs_;
  Sink sink_;
};

}  // namespace portops::impl
