// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/column_access.hpp"
#include "core/divisor_of.hpp"
#include "core/macros.hpp"
#include "core/spaces.hpp"
#include "core/tile_shape.hpp"
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

/// Fills x_grad on a GPU: an item is a pack of 16 bytes of dense memory, or an element where there is none.
template <class Word, bool dense, class Index>
class FillDiagonals {
 public:
  /// Teams that should fit a multiprocessor at once, which limits the registers of a thread.
  static constexpr int blocks = sizeof(Index) == 4 ? 6 : 4;

  explicit FillDiagonals(const DiagonalPlan& plan) : rows_(plan), size_(plan.size) {
    const auto misaligned = reinterpret_cast<std::uintptr_t>(plan.x_grad) % gpu_pack_bytes / sizeof(Word);
    const std::int64_t head = dense ? static_cast<std::int64_t>((pack - misaligned) % pack) : size_;
    head_ = std::min(head, size_);
    packs_ = (size_ - head_) / pack;
  }

  std::int64_t items() const { return packs_ + (size_ - packs_ * pack); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    if (item < packs_) return fill<pack>(head_ + item * pack);
    const std::int64_t edge = item - packs_;
    fill<1>(edge < head_ ? edge : edge + packs_ * pack);
  }

 private:
  static constexpr int pack = gpu_pack_bytes / static_cast<int>(sizeof(Word));

  /// Elements [at, at + N).
  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void fill(std::int64_t at) const {
    auto row = static_cast<Index>(rows_.by_columns.quotient(static_cast<Index>(at)));
    Index column = static_cast<Index>(at) - row * rows_.columns;
    if constexpr (N == 1) {
      const auto hits = rows_.hits(row);
      const bool hit = column >= hits.begin && column < hits.end;
      const Word value = hit ? rows_.out_grad(row)[column * rows_.out_column_stride] : Word(0);
      (dense ? rows_.x_grad[at] : rows_.x_grad_row(row)[column * rows_.x_column_stride]) = value;
    } else {
      struct alignas(gpu_pack_bytes) Pack {
        Word element[N];
      };
      Pack result;
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) result.element[i] = Word(0);
      // `column` is that of the pack's first element: negative in the rows behind its first one.
      PORTOPS_NO_UNROLL
      for (; column > -N; column -= rows_.columns, ++row) {
        const auto hits = rows_.hits(row);
        if (hits.begin >= column + N || hits.end <= column) continue;
        const Word* const from = rows_.out_grad(row);
        PORTOPS_UNROLL
        for (int i = 0; i < N; ++i) {
          const Index own = column + i;
          if (own >= hits.begin && own < hits.end) result.element[i] = from[own * rows_.out_column_stride];
        }
      }
      *reinterpret_cast<Pack*>(in_device_memory(rows_.x_grad + at)) = result;
    }
  }

  DiagonalRows<Word, Index> rows_;
  std::int64_t size_;
  std::int64_t head_;
  std::int64_t packs_;
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
