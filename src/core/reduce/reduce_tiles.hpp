// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/lanes.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/reduce/close_rows.hpp"
#include "core/reduce/rescale.hpp"

#include <algorithm>
#include <bit>

namespace portops::impl {

/// Reduces short rows on a GPU that lie close together; see has_close_rows(). A team copies a tile of them into its
/// scratch, by packs that may reach from a row into the next one. There a group of lanes takes each row, and adds its
/// terms in the order in which ReduceAlong does. Or small matrices, one behind the other, down their columns: what is
/// said of a row here is then said of a column, but in memory it is a matrix that is a row; see has_close_matrices().
template <class T, class F>
class ReduceTiles {
 public:
  using A = Arithmetic<T>;
  static constexpr int threads = reduce_along_threads;
  static constexpr int blocks = sizeof(T) == 8 ? 4 : 5;
  std::int64_t first_team = 0;

  static bool suits(const ReducePlan& plan) {
    constexpr ElementType type = ElementTypeOf<T>::value;
    return (has_single_rows(plan) && has_close_rows(plan, type)) || has_close_matrices(plan, type);
  }

  ReduceTiles(const F& f, const ReducePlan& plan)
      : f_(f),
        x_(reinterpret_cast<const T*>(plan.operand[reduction_x].data)),
        out_(reinterpret_cast<T*>(plan.operand[reduction_out].data)),
        out_step_(plan.operand[reduction_out].stride[0]),
        kept_(plan.kept),
        row_(static_cast<int>(plan.operand[reduction_x].stride[0])),
        head_(static_cast<int>(reinterpret_cast<std::uintptr_t>(x_) % gpu_pack_bytes / sizeof(T))) {
    const ReducePlan::Operand& x = plan.operand[reduction_x];
    if (plan.direction == Direction::along) {
      columns_ = static_cast<int>(plan.columns);
      step_ = static_cast<int>(x.column_stride);
      reach_ = static_cast<int>(reach_of_row(plan));
      pack_ = plan.pack;
      lane_bits_ = std::countr_zero(static_cast<unsigned>(plan.lanes));
    } else {
      columns_ = static_cast<int>(plan.runs);
      step_ = static_cast<int>(plan.columns);
      reach_ = columns_ * step_;
      results_ = static_cast<int>(plan.columns);
      by_results_ = Divisor(static_cast<std::uint32_t>(results_));
      out_result_step_ = plan.operand[reduction_out].column_stride;
    }
    // As many as leave all tiles aligned alike; fewer rows than there is room for where teams would be few.
    constexpr std::int64_t enough_teams = 512, few_rows = 16;
    const std::int64_t some = rows_aligned_alike(row_, sizeof(T)), most = (most_elements - pack) / row_ / some * some;
    tile_rows_ = static_cast<int>(
        std::clamp<std::int64_t>(ceil_div(kept_, enough_teams * some) * some, std::min(few_rows, most), most));
  }

  std::int64_t teams() const { return ceil_div(kept_, tile_rows_); }
  static constexpr std::size_t scratch_bytes() { return most_elements * sizeof(T); }

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    T* const scratch = scratch_of<T>(team);
    const std::int64_t tile = first_team + team.league_rank();
    copy(tile, team.team_rank(), scratch);
    team.team_barrier();
    with_access<pack>(pack_, true, [&](auto access) {
      constexpr int width = decltype(access)::width;
      const int results = results_of(tile), lane = team.team_rank() & (lanes() - 1);
      PORTOPS_NO_UNROLL
      for (int first = 0; first < results; first += threads >> lane_bits_) {
        const int result = first + row_of(team.team_rank());
        const Place place = place_of(result);
        const Partial<A> value = reduce<width>(first_term(scratch, place), result < results, lane);
        if (result < results && lane == 0) *out_at(tile, place) = static_cast<T>(f_.finish(value));
      }
    });
  }

  /// A result's row in its tile, and which one of the row's it is.
  struct Place {
    int row, of_row;
  };
  KOKKOS_FORCEINLINE_FUNCTION int results_of(std::int64_t tile) const { return rows_of(tile) * results_; }
  KOKKOS_FORCEINLINE_FUNCTION Place place_of(int result) const {
    if (results_ == 1) return {result, 0};
    const auto row = static_cast<int>(by_results_.quotient(static_cast<std::uint32_t>(result)));
    return {row, result - row * results_};
  }
  KOKKOS_FORCEINLINE_FUNCTION const T* first_term(const T* scratch, const Place& place) const {
    return scratch + head_ + place.row * row_ + place.of_row;
  }
  KOKKOS_FORCEINLINE_FUNCTION T* out_at(std::int64_t tile, const Place& place) const {
    return out_ + (tile * tile_rows_ + place.row) * out_step_ + place.of_row * out_result_step_;
  }

  /// A thread's packs of a tile, into scratch. All loads are under way before the first one is waited for.
  KOKKOS_FORCEINLINE_FUNCTION void copy(std::int64_t tile, int thread, T* scratch) const {
    // From here on elements are counted from where the tile's packs begin; [begin, end) exist.
    const T* const from = pinned(x_ + tile * tile_rows_ * row_ - head_);
    const int begin = tile == 0 ? head_ : 0, end = head_ + (rows_of(tile) - 1) * row_ + reach_;
    Word<T, pack> words[batch];
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      const int at = (b * threads + thread) * pack;
      if (at >= begin && at + pack <= end) ColumnAccess<pack, true>::load(words[b], from + at, 1, pack);
    }
    // The elements around whole packs: those of the first row, and those of the last one.
    const int first_whole = (begin + pack - 1) / pack * pack, last_whole = end / pack * pack;
    const int before = begin + thread, behind = (last_whole > begin ? last_whole : begin) + thread;
    if (before < first_whole && before < end) scratch[before] = from[before];
    if (behind < end) scratch[behind] = from[behind];
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      const int at = (b * threads + thread) * pack;
      if (at >= begin && at + pack <= end) {
        *reinterpret_cast<Halves*>(scratch + at) = Kokkos::bit_cast<Halves>(words[b]);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION int rows_of(std::int64_t tile) const {
    const std::int64_t left = kept_ - tile * tile_rows_;
    return left < tile_rows_ ? static_cast<int>(left) : tile_rows_;
  }

  /// The row of a thread's group, of as many as the team takes at once. Groups of a warp take rows so far apart that,
  /// if their length is odd, neither they nor their lanes meet in the same banks.
  KOKKOS_FORCEINLINE_FUNCTION int row_of(int thread) const {
    constexpr int warp = 32, warp_bits = 5, most_bits = 3;  // as there are 8 warps
    const int bits = lane_bits_ < most_bits ? lane_bits_ : most_bits;
    const int of_warp = thread / warp, group = thread % warp >> lane_bits_;
    return (of_warp & ((1 << bits) - 1)) + (group << bits) + ((of_warp >> bits) << (warp_bits - lane_bits_ + bits));
  }

  /// What a lane's packs of `width` add up to, of the row of a tile that begins at `from`.
  template <int width>
  KOKKOS_FORCEINLINE_FUNCTION A add_up(const T* from, bool active, int lane) const {
    constexpr int at_once = width <= 2 ? 4 : 2;
    A sums[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) sums[i] = f_.identity();
    from += lane * width * step_;
    const int distance = (width << lane_bits_) * step_;
    int packs = active ? (columns_ / width - lane + lanes() - 1) >> lane_bits_ : 0;
    PORTOPS_NO_UNROLL
    for (; packs >= at_once; packs -= at_once) add_packs<at_once>(from, distance, sums);
    PORTOPS_NO_UNROLL
    for (; packs > 0; --packs) add_packs<1>(from, distance, sums);
    return join_array(sums, f_.join());
  }

 private:
  /// Adds the next packs of a lane.
  template <int count, int width>
  KOKKOS_FORCEINLINE_FUNCTION void add_packs(const T*& from, int distance, A (&sums)[width]) const {
    T elements[count][width];
    PORTOPS_UNROLL
    for (int b = 0; b < count; ++b) {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) elements[b][i] = from[i * step_];
      from += distance;
    }
    PORTOPS_UNROLL
    for (int b = 0; b < count; ++b) {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) sums[i] = f_.add(sums[i], static_cast<A>(elements[b][i]));
    }
  }

  static constexpr int pack = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = reduce_tile_bytes / gpu_pack_bytes / threads;  ///< packs of a thread
  static constexpr std::int64_t most_elements = reduce_tile_bytes / sizeof(T);

  /// Scratch is aligned to half a pack.
  struct Halves {
    Word<T, pack / 2> half[2];
  };

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }

  /// A row; all lanes of its group get the result, and all threads of a warp must call.
  template <int width>
  KOKKOS_FORCEINLINE_FUNCTION Partial<A> reduce(const T* from, bool active, int lane) const {
    const A total = join_over_lanes(add_up<width>(from, active, lane), lanes(), f_.join());
    if constexpr (F::rescales) {
      const bool safe = f_.is_safe(total);
      if (any_lane(active && !safe)) {
        const Partial<A> rescaled = rescale<width>(from, active, lane);
        if (!safe) return rescaled;
      }
    }
    return {A(1), total};
  }

  template <int width>
  KOKKOS_FUNCTION Partial<A> rescale(const T* from, bool active, int lane) const {
    return rescaled_sum<A>(f_, [&](A value, const auto& join, const auto& term) {
      PORTOPS_NO_UNROLL
      for (int first = lane * width; first < (active ? columns_ : 0); first += width << lane_bits_) {
        A of_pack = term(static_cast<A>(from[first * step_]));
        PORTOPS_NO_UNROLL
        for (int i = first + 1; i < first + width; ++i) of_pack = join(of_pack, term(static_cast<A>(from[i * step_])));
        value = join(value, of_pack);
      }
      return join_over_lanes(value, lanes(), join);
    });
  }

  F f_;
  const T* x_;
  T* out_;
  std::int64_t out_step_;
  std::int64_t kept_;
  int row_;   ///< from a row to the next one
  int head_;  ///< elements before x from where packs are aligned
  int columns_;
  int step_;         ///< from a column to the next one
  int reach_;        ///< from a row's first element to behind its last one
  int results_ = 1;  ///< of a row: the columns of a matrix
  Divisor by_results_ = Divisor(1);
  std::int64_t out_result_step_ = 0;
  int pack_ = 1;
  int lane_bits_ = 0;
  int tile_rows_ = 0;
};

}  // namespace portops::impl
