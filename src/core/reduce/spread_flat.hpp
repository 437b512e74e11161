// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/reduce/spread_rows.hpp"

#include <algorithm>

namespace portops::impl {

/// How far an address is from the one before it at which a pack can lie.
template <class T>
int elements_beyond_pack(const void* address) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) % gpu_pack_bytes / sizeof(T));
}

/// y = f(x, value of the row) on a GPU where rows lie one behind the other in x and y: over their memory as a whole, by
/// tiles whose packs may reach from a row into the next ones. A team computes the values of its tile's rows once, in
/// scratch, while its elements of x are under way. `x_packs`: x has packs where y has.
template <Backend B, class T, class F, bool x_packs>
class SpreadFlat {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 6;

  SpreadFlat(const F& f, const ReducePlan& plan)
      : f_(f),
        x_(reinterpret_cast<const T*>(plan.operand[spread_x].data)),
        y_(reinterpret_cast<T*>(plan.operand[spread_y].data)),
        out_(plan.operand[spread_out]),
        out_grad_(plan.operand[spread_out_grad]),
        size_(plan.kept * plan.columns),
        columns_(plan.columns),
        by_columns_(columns_),
        period_(static_cast<int>(std::min(columns_, divisible))),
        by_period_(static_cast<std::uint32_t>(period_)),
        head_(elements_beyond_pack<T>(y_)),
        packs_(columns_ < many_columns ? 1 : most_packs) {}

  std::int64_t teams() const { return ceil_div(size_ + head_, tile()); }
  std::int64_t first_team = 0;
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(tile() / period_ + 2) * sizeof(Row); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const rows = scratch_of<Row>(team);
    // Packs are aligned in y: the first tile starts before its first element. From here on, elements are counted from
    // the tile's start, and [begin, end) are those that exist.
    const std::int64_t start = (first_team + team.league_rank()) * tile() - head_;
    const int begin = start < 0 ? head_ : 0;
    const int end = size_ - start < tile() ? static_cast<int>(size_ - start) : tile();
    const T* const x = pinned(x_ + start);
    const int own = team.team_rank() * pack;
    Word<T, pack> loaded[most_packs];
    PORTOPS_UNROLL
    for (int p = 0; p < most_packs; ++p) {
      const int at = own + p * threads * pack;
      if (at >= begin && at + pack <= end) InX::load(loaded[p], x + at, 1, pack);
    }

    // The tile's first row, and where in it the tile's start is: a row too long for 32 bits is taken for one whose end
    // is as near.
    const std::int64_t first = start + begin;
    const std::int64_t first_row = by_columns_.quotient(first);
    int column = static_cast<int>(first - first_row * columns_) - begin;
    if (columns_ > divisible) {
      const std::int64_t left = (first_row + 1) * columns_ - first;
      column = period_ - static_cast<int>(left < period_ ? left : period_) - begin;
    }

    const int last_row = row_of(column + end - 1);
    for (int r = team.team_rank(); r <= last_row; r += threads) {
      const std::int64_t row = first_row + r;
      rows[r] = f_.row(static_cast<A>(out_.data[row * out_.stride[0]]),
                       static_cast<A>(out_grad_.data[row * out_grad_.stride[0]]));
    }
    team.team_barrier();

    T* const y = pinned(y_ + start);
    PORTOPS_UNROLL
    for (int p = 0; p < most_packs; ++p) {
      const int at = own + p * threads * pack;
      if (at >= begin && at + pack <= end) {
        Word<T, pack> results;
        map(rows, column + at, loaded[p], results);
        InY::store(y + at, results, 1, pack);
      } else {
        PORTOPS_NO_UNROLL
        for (int i = at < begin ? begin : at; i < at + pack && i < end; ++i) {
          y[i] = static_cast<T>(f_(static_cast<A>(x[i]), rows[row_of(column + i)]));
        }
      }
    }
  }

 private:
  static constexpr int pack = gpu_pack_bytes / static_cast<int>(sizeof(T));
  using InX = ColumnAccess<pack, x_packs>;
  using InY = ColumnAccess<pack, true>;
  /// Packs of a thread, a team's width apart: one where rows of few columns would be too many for the scratch.
  static constexpr int most_packs = 2;
  static constexpr int many_columns = 4;
  /// The most that is divided, so that sums of a few need no more than 32 bits.
  static constexpr std::int64_t divisible = std::int64_t{1} << 29;

  KOKKOS_FORCEINLINE_FUNCTION int tile() const { return threads * pack * packs_; }

  /// The row, counted from the tile's first, of an element that is counted from that one's start.
  KOKKOS_FORCEINLINE_FUNCTION int row_of(int element) const {
    return static_cast<int>(by_period_.quotient(static_cast<std::uint32_t>(element)));
  }

  /// Maps a pack, the first element of which is counted from the start of the tile's first row.
  KOKKOS_FORCEINLINE_FUNCTION void map(const Row* rows, int element, const Word<T, pack>& in,
                                       Word<T, pack>& results) const {
    int row = row_of(element);
    int left = (row + 1) * period_ - element;
    Row value = rows[row];
    if (period_ >= pack) {
      // It reaches into the next row, or not.
      Row next = value;
      if (left < pack) next = rows[row + 1];
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        if (i == left) value = next;
        results.set(i, static_cast<T>(f_(static_cast<A>(in[i]), value)));
      }
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        if (i == left) {
          value = rows[++row];
          left += period_;
        }
        results.set(i, static_cast<T>(f_(static_cast<A>(in[i]), value)));
      }
    }
  }

  F f_;
  const T* x_;
  T* y_;
  RowOperand<const T> out_;
  RowOperand<const T> out_grad_;
  std::int64_t size_;
  std::int64_t columns_;
  IndexDivisor by_columns_;
  int period_;  ///< columns, or less: what a row is taken to have
  Divisor by_period_;
  int head_;  ///< elements before y from where packs are aligned
  int packs_;
};

}  // namespace portops::impl
