// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/lanes/atomic_pack.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/sparse_rows/row_order_functors.hpp"
#include "ops/sparse_rows/row_tensors.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// table[place of row i] += factor · row i, for all rows on a GPU, which sorts nothing: additions are atomic, in an
/// order that differs from run to run. A team takes some columns of a block of rows that follow one another. Rows of
/// one place in a block are added up first, so that a place which most rows have is not waited for by all of them.
template <Backend B, class T, int N>
class AddRows {
  static constexpr int underway = N == 1 ? 4 : 2;  ///< packs of a thread

 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 0;
  static constexpr int threads = 256;
  std::int64_t first_team = 0;

  /// The table is the operand behind the values. T is f32 or f64, so that sums are rounded to it anyway.
  AddRows(const SparseRows& sparse, T factor)
      : places_(sparse),
        columns_(sparse),
        values_(sparse.operand[0]),
        table_(sparse.operand[1]),
        factor_(factor),
        packs_(ceil_div(columns_.count, N)),
        tiles_(ceil_div(packs_, N == 1 ? 64 : 16)),
        width_(static_cast<int>(ceil_div(packs_, tiles_))),
        rows_(sparse.n <= few ? std::min(32, threads * underway / width_) : most_rows),
        by_width_(static_cast<std::uint32_t>(width_)) {}

  std::int64_t teams() const { return ceil_div(places_.n, rows_) * tiles_; }
  std::size_t scratch_bytes() const { return sizeof(Block); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto& block = *scratch_of<Block>(team);
    const std::int64_t index = first_team + team.league_rank();
    const std::int64_t block_number = quotient(index, tiles_);
    const std::int64_t first_row = block_number * rows_, first_pack = (index - block_number * tiles_) * width_;
    const int width = static_cast<int>(Kokkos::min(packs_ - first_pack, std::int64_t{width_}));
    const int items = rows_ * width_;
    Item item[underway];
    const auto read_items = [&](int first) {
      PORTOPS_UNROLL
      for (int k = 0; k < underway; ++k) {
        const int number = first + k * threads;
        item[k].row = static_cast<int>(by_width_.quotient(static_cast<std::uint32_t>(number)));
        const int pack = number - item[k].row * width_;
        item[k].column = (first_pack + pack) * N;
        if (number >= items || pack >= width || first_row + item[k].row >= places_.n) {
          item[k].row = none;
        } else {
          read(item[k].sum, item[k].column, first_row + item[k].row);
        }
      }
    };
    int first = team.team_rank();
    read_items(first);  // while places are on their way
    list(team, block, first_row);
    PORTOPS_NO_UNROLL
    while (true) {
      PORTOPS_UNROLL
      for (int k = 0; k < underway; ++k) {
        if (item[k].row != none && block.is_first[item[k].row] != 0) add(item[k], block, first_row);
      }
      first += threads * underway;
      if (first >= items) return;
      read_items(first);
    }
  }

 private:
  static constexpr std::int64_t few = 65536;  ///< rows: of more, larger blocks, in which more rows have one place
  static constexpr int most_rows = 128;
  static constexpr int none = -1;

  /// A pack of columns of a row.
  struct Item {
    int row;
    std::int64_t column;
    T sum[N];
  };

  struct Block {
    std::int64_t place[most_rows];
    int next[most_rows];  ///< the next row that has this one's place, or none
    int is_first[most_rows];
  };

  KOKKOS_FORCEINLINE_FUNCTION void list(const Team& team, Block& block, std::int64_t first_row) const {
    const int own = team.team_rank();
    if (own < rows_) {
      const std::int64_t row = first_row + own;
      block.place[own] = row < places_.n ? places_.place_of(row, places_.locate(row)) : places_.height;
    }
    team.team_barrier();
    if (own < rows_) {
      const std::int64_t place = block.place[own];
      int next = none;
      bool is_first = place < places_.height;
      for (int other = rows_ - 1; other >= 0; --other) {
        if (block.place[other] != place) continue;
        if (other > own) next = other;
        if (other < own) is_first = false;
      }
      block.next[own] = next;
      block.is_first[own] = is_first ? 1 : 0;
    }
    team.team_barrier();
  }

  KOKKOS_FORCEINLINE_FUNCTION void read(T (&values)[N], std::int64_t column, std::int64_t row) const {
    const T* const from = values_.at(columns_, column) + places_.locate(row).row * values_.row_stride;
    read_columns<B, T, N>(values, from, 1, N);
  }

  /// Adds an item, and those of its place's other rows, to the table.
  KOKKOS_FORCEINLINE_FUNCTION void add(Item& item, const Block& block, std::int64_t first_row) const {
    PORTOPS_NO_UNROLL
    for (int next = block.next[item.row]; next != none; next = block.next[next]) {
      T values[N];
      read(values, item.column, first_row + next);
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) item.sum[i] += values[i];
    }
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) item.sum[i] *= factor_;
    add_atomically(table_.at(columns_, item.column) + block.place[item.row] * table_.row_stride, item.sum);
  }

  PlacesOfRows places_;
  RowColumns columns_;
  RowTensor<const T> values_;
  RowTensor<T> table_;
  T factor_;
  std::int64_t packs_;  ///< of a row
  std::int64_t tiles_;  ///< of a row's packs, width_ or fewer each
  int width_;
  int rows_;  ///< of a block: of few in all, those that a team reads at once
  Divisor by_width_;
};

}  // namespace portops::impl
