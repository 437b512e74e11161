// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/rearrangement.hpp"
#include "core/exec/cuda/kernel_order.hpp"
#include "core/exec/spaces.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// Rearranges on GPUs where one side has short rows without gaps, as the windows of a weight are, and the other one has
/// neighbours along rows. A team takes some rows of a batch through its scratch, in which they lie as on the first
/// side; all of memory is read and written in packs.
template <Backend B, class From, class To>
class RearrangeShortRows {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 4;
  std::int64_t first_team = 0;

  /// Rows of an odd number of elements: threads that are rows apart then meet in few of the same banks.
  static bool suits(const Rearrangement& what) {
    return what.height == 1 && what.width % 2 == 1 && what.width > 1 && what.width <= longest_row &&
           what.rows % common_pack == 0 &&
           ((is_short(what, what.from) && is_long(what.to)) || (is_long(what.from) && is_short(what, what.to))) &&
           has_packs(what, what.from, sizeof(From)) && has_packs(what, what.to, sizeof(To));
  }

  explicit RearrangeShortRows(const Rearrangement& what)
      : what_(what),
        from_(static_cast<const From*>(what.from.data)),
        to_(static_cast<To*>(what.to.data)),
        is_from_short_(what.from.row != 1),
        row_(static_cast<int>(what.width)),
        tiles_(ceil_div(what.rows * what.width, most_elements)) {
    // Whole packs of both sides.
    tile_rows_ = static_cast<int>(ceil_div(ceil_div(what.rows, tiles_), std::int64_t{common_pack}) * common_pack);
    tiles_ = ceil_div(what.rows, std::int64_t{tile_rows_});
    by_tiles_ = IndexDivisor(tiles_);
    by_packs_ = Divisor(static_cast<std::uint32_t>(tile_rows_ / (is_from_short_ ? to_pack : from_pack)));
  }

  std::int64_t teams() const { return what_.batches * tiles_; }
  KOKKOS_FUNCTION std::size_t scratch_bytes() const { return static_cast<std::size_t>(tile_rows_ * row_) * sizeof(To); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    let_next_kernel_start();
    const std::int64_t tile = first_team + team.league_rank();
    const std::int64_t batch = by_tiles_.quotient(tile), first_row = (tile - batch * tiles_) * tile_rows_;
    const std::int64_t left = what_.rows - first_row;
    const int rows = left < tile_rows_ ? static_cast<int>(left) : tile_rows_;
    auto* const scratch = static_cast<To*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), gpu_pack_bytes));
    const From* const from = from_ + batch * what_.from.batch + first_row * what_.from.row;
    To* const to = to_ + batch * what_.to.batch + first_row * what_.to.row;
    const int thread = team.team_rank();
    if (is_from_short_) {
      read_run(from, rows, thread, scratch);
      team.team_barrier();
      write_lines(to, rows, thread, scratch);
    } else {
      read_lines(from, rows, thread, scratch);
      team.team_barrier();
      write_run(to, rows, thread, scratch);
    }
  }

 private:
  static constexpr int from_pack = gpu_pack_bytes / static_cast<int>(sizeof(From));
  static constexpr int to_pack = gpu_pack_bytes / static_cast<int>(sizeof(To));
  static constexpr int common_pack = std::max(from_pack, to_pack);
  static_assert(sizeof(To) <= sizeof(From), "packs of `from` are stored to scratch that is aligned to 16 bytes");
  static constexpr int longest_row = 63;
  /// Of a tile, with the rows that fill up its last pack.
  static constexpr int elements = 16 * threads;
  static constexpr std::int64_t most_elements = elements - longest_row * common_pack;
  static constexpr int most_from_packs = elements / from_pack / threads, most_to_packs = elements / to_pack / threads;

  static bool is_short(const Rearrangement& what, const Rearrangement::Side& side) {
    return side.x == 1 && side.row == what.width;
  }
  static bool is_long(const Rearrangement::Side& side) { return side.row == 1; }
  /// Whether packs are aligned, in each batch and, along rows, in each column.
  static bool has_packs(const Rearrangement& what, const Rearrangement::Side& side, std::size_t element) {
    const auto pack = static_cast<std::int64_t>(gpu_pack_bytes / element);
    return reinterpret_cast<std::uintptr_t>(side.data) % gpu_pack_bytes == 0 &&
           (what.batches == 1 || side.batch % pack == 0) && (side.row != 1 || side.x % pack == 0);
  }

  /// Packs of all rows, one after the other.
  KOKKOS_FORCEINLINE_FUNCTION void read_run(const From* from, int rows, int thread, To* scratch) const {
    const int packs = rows * row_ / from_pack;
    Word<From, from_pack> own[most_from_packs];
    PORTOPS_UNROLL
    for (int k = 0; k < most_from_packs; ++k) {
      const int pack = thread + k * threads;
      if (pack < packs) ColumnAccess<from_pack, true>::load(own[k], from + pack * from_pack, 1, from_pack);
    }
    PORTOPS_UNROLL
    for (int k = 0; k < most_from_packs; ++k) {
      const int pack = thread + k * threads;
      if (pack >= packs) break;
      Word<To, from_pack> words;
      PORTOPS_UNROLL
      for (int i = 0; i < from_pack; ++i) words.set(i, static_cast<To>(own[k][i]));
      *reinterpret_cast<Word<To, from_pack>*>(scratch + pack * from_pack) = words;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void write_run(To* to, int rows, int thread, const To* scratch) const {
    const int packs = rows * row_ / to_pack;
    PORTOPS_UNROLL
    for (int k = 0; k < most_to_packs; ++k) {
      const int pack = thread + k * threads;
      if (pack >= packs) break;
      const auto words = *reinterpret_cast<const Word<To, to_pack>*>(scratch + pack * to_pack);
      ColumnAccess<to_pack, true>::store(to + pack * to_pack, words, 1, to_pack);
    }
  }

  /// A pack of a column: the column, and the first row.
  struct Place {
    int column, row;
  };
  KOKKOS_FORCEINLINE_FUNCTION Place place(int index, int pack) const {
    const auto column = static_cast<int>(by_packs_.quotient(static_cast<std::uint32_t>(index)));
    return {column, (index - column * static_cast<int>(by_packs_.value())) * pack};
  }

  /// Packs of the rows of a column, column by column.
  KOKKOS_FORCEINLINE_FUNCTION void read_lines(const From* from, int rows, int thread, To* scratch) const {
    Word<From, from_pack> own[most_from_packs];
    PORTOPS_UNROLL
    for (int k = 0; k < most_from_packs; ++k) {
      const Place at = place(thread + k * threads, from_pack);
      if (at.column < row_ && at.row < rows) {
        ColumnAccess<from_pack, true>::load(own[k], from + at.column * what_.from.x + at.row, 1, from_pack);
      }
    }
    PORTOPS_UNROLL
    for (int k = 0; k < most_from_packs; ++k) {
      const Place at = place(thread + k * threads, from_pack);
      if (at.column >= row_ || at.row >= rows) continue;
      PORTOPS_UNROLL
      for (int i = 0; i < from_pack; ++i) scratch[(at.row + i) * row_ + at.column] = static_cast<To>(own[k][i]);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void write_lines(To* to, int rows, int thread, const To* scratch) const {
    PORTOPS_UNROLL
    for (int k = 0; k < most_to_packs; ++k) {
      const Place at = place(thread + k * threads, to_pack);
      if (at.column >= row_ || at.row >= rows) continue;
      Word<To, to_pack> words;
      PORTOPS_UNROLL
      for (int i = 0; i < to_pack; ++i) words.set(i, scratch[(at.row + i) * row_ + at.column]);
      ColumnAccess<to_pack, true>::store(to + at.column * what_.to.x + at.row, words, 1, to_pack);
    }
  }

  Rearrangement what_;
  const From* from_;
  To* to_;
  bool is_from_short_;
  int row_, tile_rows_ = 0;
  std::int64_t tiles_;
  IndexDivisor by_tiles_;
  Divisor by_packs_;  ///< packs of a column, on the side that has neighbours along rows
};

}  // namespace portops::impl
