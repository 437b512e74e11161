// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divisor_of.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/types/macros.hpp"
#include "ops/trace/diagonal_plan.hpp"

#include <algorithm>

namespace portops::impl {

/// What the kernels over a DiagonalPlan share. Elements are words: no bit of them changes, and a zero is none set.
/// Index, which counts rows and columns, may be int where the plan is small.
template <class Word, class Index>
class DiagonalRows {
 public:
  explicit DiagonalRows(const DiagonalPlan& plan)
      : columns(static_cast<Index>(plan.columns)),
        by_columns(make_divisor(columns)),
        x_column_stride(plan.x_column_stride),
        out_column_stride(plan.out_column_stride),
        x_grad(reinterpret_cast<Word*>(plan.x_grad)),
        out_grad_(reinterpret_cast<const Word*>(plan.out_grad)),
        rank_(plan.rank),
        crosses_(plan.crosses),
        shift_(static_cast<Index>(plan.shift)),
        first_(plan.first),
        second_(plan.second) {
    for (int axis = 0; axis < rank_; ++axis) {
      extent_[axis] = plan.extent[axis];
      x_stride_[axis] = plan.x_stride[axis];
      out_stride_[axis] = plan.out_stride[axis];
    }
  }

  /// The columns [begin, end) in which a row has elements of diagonals.
  struct Hits {
    Index begin;
    Index end;
  };
  KOKKOS_FORCEINLINE_FUNCTION Hits hits(Index row) const {
    const Index target = first_.position(row) + shift_;
    if (crosses_) return target >= 0 && target < columns ? Hits{target, target + 1} : Hits{0, 0};
    return second_.position(row) == target ? Hits{0, columns} : Hits{0, 0};
  }

  /// Where out_grad has what a row's hits take, by their columns.
  KOKKOS_FORCEINLINE_FUNCTION const Word* out_grad(std::int64_t row) const {
    return out_grad_ + offset(out_stride_, row);
  }
  KOKKOS_FORCEINLINE_FUNCTION Word* x_grad_row(std::int64_t row) const { return x_grad + offset(x_stride_, row); }

  Index columns;
  DivisorOf<Index> by_columns;
  std::int64_t x_column_stride;
  std::int64_t out_column_stride;
  Word* x_grad;

 private:
  struct MatrixAxis {
    MatrixAxis(const DiagonalPlan::MatrixAxis& from)  // NOLINT: implicit for brevity
        : extent(static_cast<Index>(from.extent)),
          by_below(make_divisor(static_cast<Index>(from.below))),
          by_extent(make_divisor(extent)) {}
    KOKKOS_FORCEINLINE_FUNCTION Index position(Index row) const {
      const auto along = static_cast<Index>(by_below.quotient(row));
      return along - static_cast<Index>(by_extent.quotient(along)) * extent;
    }
    Index extent;
    DivisorOf<Index> by_below, by_extent;
  };

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t offset(const std::int64_t (&stride)[max_rank], std::int64_t row) const {
    std::int64_t result = 0;
    PORTOPS_NO_UNROLL
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      const std::int64_t outer = axis > 0 ? quotient(row, extent_[axis]) : 0;
      result += (row - outer * extent_[axis]) * stride[axis];
      row = outer;
    }
    return result;
  }

  const Word* out_grad_;
  int rank_;
  bool crosses_;
  Index shift_;
  MatrixAxis first_, second_;
  std::int64_t extent_[max_rank] = {};
  std::int64_t x_stride_[max_rank] = {};
  std::int64_t out_stride_[max_rank] = {};
};

/// Fills dense memory on a GPU: a team clears a tile of it and then writes the elements of diagonals in the tile's
/// rows, while the tile is still in a cache.
template <class Word, class Index>
class FillDenseDiagonals {
 public:
  static constexpr int blocks = 8;
  static constexpr int threads = 256;

  explicit FillDenseDiagonals(const DiagonalPlan& plan) : rows_(plan), size_(static_cast<Index>(plan.size)) {
    const auto misaligned = reinterpret_cast<std::uintptr_t>(plan.x_grad) % gpu_pack_bytes / sizeof(Word);
    before_ = static_cast<int>(misaligned);
    // Threads side by side take a row's elements where it can have many.
    while (!plan.crosses && lanes_ < 32 && lanes_ < plan.columns) lanes_ *= 2;
  }

  std::int64_t teams() const { return ceil_div(std::int64_t{size_} + before_, std::int64_t{tile}); }
  std::int64_t first_team = 0;
  std::size_t scratch_bytes() const { return 0; }

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t tile = first_team + team.league_rank();
    clear(tile, team.team_rank());
    team.team_barrier();
    write_diagonals(tile, team.team_rank());
  }

  KOKKOS_FORCEINLINE_FUNCTION void clear(std::int64_t number, int thread) const {
    const Index from = begin_of(number);
    struct alignas(gpu_pack_bytes) Zeros {
      Word element[pack];
    };
    PORTOPS_UNROLL
    for (int p = 0; p < packs; ++p) {
      const Index at = from + (p * threads + thread) * pack;
      if (at >= 0 && at <= size_ - pack) {
        *reinterpret_cast<Zeros*>(in_device_memory(rows_.x_grad + at)) = Zeros{};
      } else {
        for (int i = 0; i < pack; ++i) {
          if (at + i >= 0 && at + i < size_) rows_.x_grad[at + i] = Word(0);
        }
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write_diagonals(std::int64_t number, int thread) const {
    const Index from = begin_of(number);
    const Index begin = from > 0 ? from : 0;
    const Index end = size_ - from > tile ? from + tile : size_;
    const auto last = static_cast<Index>(rows_.by_columns.quotient(end - 1));
    auto row = static_cast<Index>(rows_.by_columns.quotient(begin)) + static_cast<Index>(thread / lanes_);
    for (; row <= last; row += threads / lanes_) write_row(row, begin, end, thread % lanes_);
  }

 private:
  static constexpr int pack = gpu_pack_bytes / static_cast<int>(sizeof(Word));
  static constexpr int packs = 2;  ///< of a thread
  static constexpr int tile = threads * packs * pack;

  /// The first element of a tile: tiles are counted from the aligned address at or before that of element 0.
  KOKKOS_FORCEINLINE_FUNCTION Index begin_of(std::int64_t number) const {
    return static_cast<Index>(number * tile - before_);
  }

  /// Every lanes_-th of the row's elements of diagonals in [begin, end) of the memory.
  KOKKOS_FORCEINLINE_FUNCTION void write_row(Index row, Index begin, Index end, int lane) const {
    const auto hits = rows_.hits(row);
    if (hits.begin >= hits.end) return;
    const Index first = row * rows_.columns;
    const Word* const from = rows_.out_grad(row);
    const Index least = begin - first > hits.begin ? begin - first : hits.begin;
    const Index most = end - first < hits.end ? end - first : hits.end;
    for (Index column = least + lane; column < most; column += lanes_) {
      rows_.x_grad[first + column] = from[column * rows_.out_column_stride];
    }
  }

  DiagonalRows<Word, Index> rows_;
  Index size_;
  int before_;     ///< elements from the first tile's beginning to the first element
  int lanes_ = 1;  ///< threads that share a row; a power of two
};

/// Fills other memory on a GPU, an item an element.
template <class Word>
class FillDiagonals {
 public:
  static constexpr int blocks = 4;

  explicit FillDiagonals(const DiagonalPlan& plan) : rows_(plan), size_(plan.size) {}

  std::int64_t items() const { return size_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t row = rows_.by_columns.quotient(item);
    const std::int64_t column = item - row * rows_.columns;
    const auto hits = rows_.hits(row);
    const bool hit = column >= hits.begin && column < hits.end;
    rows_.x_grad_row(row)[column * rows_.x_column_stride] =
        hit ? rows_.out_grad(row)[column * rows_.out_column_stride] : Word(0);
  }

 private:
  DiagonalRows<Word, std::int64_t> rows_;
  std::int64_t size_;
};

/// Fills x_grad on a host: an item is a run of elements, row by row.
template <class Word>
class FillDiagonalsHost {
 public:
  static constexpr int blocks = 0;  // a matter of GPUs

  explicit FillDiagonalsHost(const DiagonalPlan& plan) : rows_(plan), size_(plan.size) {}

  std::int64_t items() const { return ceil_div(size_, run); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((fill(item * run, std::min(size_, (item + 1) * run));))
  }

 private:
  static constexpr std::int64_t run = (std::int64_t{1} << 17) / static_cast<std::int64_t>(sizeof(Word));

  void fill(std::int64_t at, std::int64_t end) const {
    std::int64_t row = at / rows_.columns;
    std::int64_t column = at - row * rows_.columns;
    for (; at < end; ++row) {
      const std::int64_t next = std::min(rows_.columns, column + end - at);
      fill_row(row, column, next);
      at += next - column;
      column = 0;
    }
  }

  /// Columns [begin, end) of a row.
  void fill_row(std::int64_t row, std::int64_t begin, std::int64_t end) const {
    Word* const to = rows_.x_grad_row(row);
    const std::int64_t stride = rows_.x_column_stride;
    const auto hits = rows_.hits(row);
    const std::int64_t hit_begin = std::clamp(hits.begin, begin, end);
    const std::int64_t hit_end = std::clamp(hits.end, hit_begin, end);
    clear(to, stride, begin, hit_begin);
    if (hit_begin < hit_end) {
      const Word* const from = rows_.out_grad(row);
      for (std::int64_t c = hit_begin; c < hit_end; ++c) to[c * stride] = from[c * rows_.out_column_stride];
    }
    clear(to, stride, hit_end, end);
  }

  static void clear(Word* to, std::int64_t stride, std::int64_t begin, std::int64_t end) {
    if (stride == 1) {
      std::fill(to + begin, to + end, Word(0));
    } else {
      for (std::int64_t c = begin; c < end; ++c) to[c * stride] = Word(0);
    }
  }

  DiagonalRows<Word, std::int64_t> rows_;
  std::int64_t size_;
};

}  // namespace portops::impl
