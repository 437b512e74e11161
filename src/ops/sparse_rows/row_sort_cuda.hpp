// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/team_scan.hpp"
#include "core/lanes/warp.hpp"
#include "ops/sparse_rows/row_order_functors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

// The stable radix sort of up to half a million rows on a GPU: a team has a tile of rows, and moves them by a digit of
// their places, the lowest first. CUB's sort has tiles of 8,000 rows, so that a hundred thousand are at work on a tenth
// of a GPU; it is for more rows than these.

namespace portops::impl {

/// How rows are sorted, and how many rows of each tile have each digit.
class RowSort {
 public:
  static constexpr int threads = 256, most_rows_of_thread = 8;
  /// With fewer digits a thread would add up many shares of each one's counts.
  static constexpr int least_digit_bits = 5, most_digit_bits = 8;

  static bool suits(const SparseRows& sparse) {
    return sparse.narrow() && sparse.n <= most_tiles * threads * most_rows_of_thread;
  }

  RowSort(const SparseRows& sparse, void* counts)
      : rows_of_thread_(sparse.n <= most_tiles * threads * most_rows_of_thread / 2 ? most_rows_of_thread / 2
                                                                                   : most_rows_of_thread),
        tiles_(static_cast<int>(ceil_div(sparse.n, rows_of_thread_ * threads))),
        passes_(static_cast<int>(ceil_div(bits_of_places(sparse), most_digit_bits))),
        digit_bits_(std::max(static_cast<int>(ceil_div(bits_of_places(sparse), passes_)), least_digit_bits)),
        counts_(static_cast<std::int32_t*>(counts)) {}

  int rows_of_thread() const { return rows_of_thread_; }
  std::size_t bytes() const { return sizeof(std::int32_t) * passes_ * (std::size_t{1} << digit_bits_) * tiles_; }

  KOKKOS_FORCEINLINE_FUNCTION int passes() const { return passes_; }
  KOKKOS_FORCEINLINE_FUNCTION int tiles() const { return tiles_; }
  KOKKOS_FORCEINLINE_FUNCTION int tile_rows() const { return rows_of_thread_ * threads; }
  KOKKOS_FORCEINLINE_FUNCTION int digits() const { return 1 << digit_bits_; }
  KOKKOS_FORCEINLINE_FUNCTION int digit_bits() const { return digit_bits_; }
  KOKKOS_FORCEINLINE_FUNCTION int digit(std::uint32_t place, int pass) const {
    return static_cast<int>(place >> pass * digit_bits_ & ((1u << digit_bits_) - 1));
  }
  /// How many of the rows that come into a tile before a pass have each digit.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t* counts(int pass, int tile) const {
    return counts_ + ((pass * tiles_ + tile) << digit_bits_);
  }

 private:
  /// Two tiles for each multiprocessor of the largest GPUs: each tile's team reads the counts of all.
  static constexpr std::int64_t most_tiles = gpu_teams_at_once;

  int rows_of_thread_, tiles_, passes_, digit_bits_;
  std::int32_t* counts_;
};

/// Reads the places, and counts the digits of the first pass. The counts of the others become 0.
class CountFirstDigits {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<Backend::cuda>>::member_type;
  static constexpr int blocks = 1;
  static constexpr int threads = 1024;
  std::int64_t first_team = 0;

  CountFirstDigits(const RowSort& sort, const ReadPlaces<std::uint32_t>& read) : sort_(sort), read_(read) {}

  std::int64_t teams() const { return sort_.tiles(); }
  std::size_t scratch_bytes() const { return sizeof(std::int32_t) << RowSort::most_digit_bits; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const counts = scratch_of<std::int32_t>(team);
    const int tile = static_cast<int>(first_team) + team.league_rank(), digits = sort_.digits();
    for (int d = team.team_rank(); d < digits; d += threads) counts[d] = 0;
    team.team_barrier();
    const std::int64_t begin = std::int64_t{tile} * sort_.tile_rows();
    const std::int64_t end = Kokkos::min(begin + sort_.tile_rows(), read_.rows.n);
    for (std::int64_t row = begin + team.team_rank(); row < end; row += threads) {
      Kokkos::atomic_inc(&counts[sort_.digit(read_(row), 0)]);
    }
    team.team_barrier();
    for (int d = team.team_rank(); d < digits; d += threads) {
      sort_.counts(0, tile)[d] = counts[d];
      for (int pass = 1; pass < sort_.passes(); ++pass) sort_.counts(pass, tile)[d] = 0;
    }
  }

 private:
  RowSort sort_;
  ReadPlaces<std::uint32_t> read_;
};

/// Rows, by their places and where they lie.
struct RowKeys {
  std::uint32_t* places;
  std::uint32_t* positions;
};

/// Moves the rows behind all those of lower digits and those before them of the same digit, and counts the digits of
/// the next pass. A tile's rows are brought together by digit first, so that a warp writes runs of neighbours.
template <int rows_of_thread>
class MoveByDigit {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<Backend::cuda>>::member_type;
  static constexpr int blocks = 2;
  static constexpr int threads = RowSort::threads;
  std::int64_t first_team = 0;

  MoveByDigit(const RowSort& sort, std::int64_t n, int pass, const RowKeys& from, const RowKeys& to)
      : sort_(sort), n_(static_cast<int>(n)), pass_(pass), is_last_(pass + 1 == sort.passes()), from_(from), to_(to) {}

  std::int64_t teams() const { return sort_.tiles(); }
  std::size_t scratch_bytes() const { return sizeof(Scratch); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = scratch_of<Scratch>(team);
    const int tile = static_cast<int>(first_team) + team.league_rank();
    const int rank = team.team_rank(), own_warp = rank / warp, lane = rank % warp;
    // A warp has neighbouring rows. Behind the last one are none: they count as rows of the highest digit.
    const int first = tile * tile_rows + own_warp * warp * rows_of_thread + lane;
    std::uint32_t place[rows_of_thread], position[rows_of_thread];
    PORTOPS_UNROLL
    for (int k = 0; k < rows_of_thread; ++k) {
      const int row = first + k * warp;
      place[k] = row < n_ ? from_.places[row] : ~0u;
      position[k] = row < n_ ? from_.positions[row] : 0;
    }
    add_counts(*scratch, tile, rank);
    int before[rows_of_thread];  // how many of the warp's rows before this one have its digit
    count_before(before, place, scratch->of_warp[own_warp], lane);
    team.team_barrier();
    find_begins(team, *scratch);
    PORTOPS_UNROLL
    for (int k = 0; k < rows_of_thread; ++k) {
      const int digit = sort_.digit(place[k], pass_);
      const int at = scratch->begin[digit] + scratch->of_warp[own_warp][digit] + before[k];
      scratch->rows.place[at] = place[k];
      scratch->rows.position[at] = position[k];
    }
    team.team_barrier();
    int to[rows_of_thread];
    PORTOPS_UNROLL
    for (int k = 0; k < rows_of_thread; ++k) {
      const int at = rank + k * threads;
      place[k] = scratch->rows.place[at];
      position[k] = scratch->rows.position[at];
      to[k] = at + scratch->shift[sort_.digit(place[k], pass_)];
    }
    const int left = n_ - tile * tile_rows;
    PORTOPS_UNROLL
    for (int k = 0; k < rows_of_thread; ++k) {
      if (rank + k * threads >= left) continue;
      to_.places[to[k]] = place[k];
      to_.positions[to[k]] = position[k];
    }
    if (is_last_) return;
    PORTOPS_UNROLL
    for (int k = 0; k < rows_of_thread; ++k) {
      if (rank + k * threads >= left) continue;
      std::int32_t* const counts = sort_.counts(pass_ + 1, static_cast<unsigned>(to[k]) / tile_rows);
      Kokkos::atomic_inc(&counts[sort_.digit(place[k], pass_ + 1)]);
    }
  }

 private:
  static constexpr int warp = 32, warps = threads / warp, most_digits = 1 << RowSort::most_digit_bits;
  static constexpr int tile_rows = threads * rows_of_thread;
  static_assert(threads >= most_digits);

  /// Of as many digits as one access of 16 bytes has counts.
  struct alignas(16) Counts {
    static constexpr int digit_bits = 2, digits = 1 << digit_bits;
    std::int32_t of[digits];
  };
  /// What each thread has counted, of each digit in some tiles.
  struct Sums {
    std::int32_t before[threads * Counts::digits];  ///< rows in tiles before
    std::int32_t all[threads * Counts::digits];
  };
  /// The tile's rows by digit.
  struct Rows {
    std::uint32_t place[tile_rows];
    std::uint32_t position[tile_rows];
  };
  struct Scratch {
    union {
      Sums sums;
      Rows rows;
    };
    std::int32_t begin[most_digits];  ///< where in the tile a digit's rows begin
    std::int32_t shift[most_digits];  ///< from there to where they go
    std::int32_t of_scan[2][warps];
    std::uint16_t of_warp[warps][most_digits];  ///< rows of a warp, then of the warps before
  };

  /// Each thread adds up the counts of some neighbouring digits in some of the tiles.
  KOKKOS_FORCEINLINE_FUNCTION void add_counts(Scratch& scratch, int tile, int rank) const {
    const int share_bits = sort_.digit_bits() - Counts::digit_bits, share = rank & ((1 << share_bits) - 1);
    const int groups = threads >> share_bits;
    Counts before = {}, all = {};
    PORTOPS_UNROLL_BY_4
    for (int other = rank >> share_bits; other < sort_.tiles(); other += groups) {
      const auto counts = *reinterpret_cast<const Counts*>(sort_.counts(pass_, other) + share * Counts::digits);
      PORTOPS_UNROLL
      for (int k = 0; k < Counts::digits; ++k) {
        before.of[k] += other < tile ? counts.of[k] : 0;
        all.of[k] += counts.of[k];
      }
    }
    PORTOPS_UNROLL
    for (int k = 0; k < Counts::digits; ++k) {
      scratch.sums.before[rank * Counts::digits + k] = before.of[k];
      scratch.sums.all[rank * Counts::digits + k] = all.of[k];
    }
  }

  /// Counts the warp's rows of each digit, too.
  KOKKOS_FORCEINLINE_FUNCTION void count_before(int (&before)[rows_of_thread],
                                                const std::uint32_t (&place)[rows_of_thread], std::uint16_t* of_warp,
                                                int lane) const {
    for (int d = lane; d < sort_.digits(); d += warp) of_warp[d] = 0;
    unsigned lanes[rows_of_thread];  // with this one's digit
    PORTOPS_UNROLL
    for (int k = 0; k < rows_of_thread; ++k) {
      lanes[k] = lanes_with<RowSort::most_digit_bits>(static_cast<std::uint32_t>(sort_.digit(place[k], pass_)));
    }
    warp_barrier();
    PORTOPS_UNROLL
    for (int k = 0; k < rows_of_thread; ++k) {
      const int digit = sort_.digit(place[k], pass_), of_row = lanes_before(lanes[k], lane), so_far = of_warp[digit];
      before[k] = so_far + of_row;
      warp_barrier();
      if (of_row == 0) of_warp[digit] = static_cast<std::uint16_t>(so_far + bits_in(lanes[k]));
      warp_barrier();
    }
  }

  /// Where the rows of each digit begin in the tile and go to, and those of each warp behind them.
  KOKKOS_FORCEINLINE_FUNCTION void find_begins(const Team& team, Scratch& scratch) const {
    const int digits = sort_.digits(), digit = team.team_rank();
    const bool has_digit = digit < digits;
    std::int32_t before = 0, all = 0, own = 0;
    if (has_digit) {
      PORTOPS_UNROLL_BY_4
      for (int at = digit; at < threads * Counts::digits; at += digits) {
        before += scratch.sums.before[at];
        all += scratch.sums.all[at];
      }
      PORTOPS_UNROLL
      for (int w = 0; w < warps; ++w) {
        const std::uint16_t its = scratch.of_warp[w][digit];
        scratch.of_warp[w][digit] = static_cast<std::uint16_t>(own);
        own += its;
      }
    }
    const std::int32_t of_lower = sum_of_threads_before<threads>(team, scratch.of_scan[0], all);
    const std::int32_t begin = sum_of_threads_before<threads>(team, scratch.of_scan[1], own);
    if (has_digit) {
      scratch.begin[digit] = begin;
      scratch.shift[digit] = of_lower + before - begin;
    }
    team.team_barrier();
  }

  RowSort sort_;
  int n_;
  int pass_;
  bool is_last_;
  RowKeys from_, to_;
};

}  // namespace portops::impl
