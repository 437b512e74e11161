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
/// terms in the order in which ReduceAlong does.
template <class T, class F>
class ReduceTiles {
 public:
  using A = Arithmetic<T>;
  static constexpr int threads = reduce_along_threads;
  static constexpr int blocks = sizeof(T) == 8 ? 4 : 5;
  std::int64_t first_team = 0;

  static bool suits(const ReducePlan& plan) {
    return has_single_rows(plan) && has_close_rows(plan, ElementTypeOf<T>::value);
  }

  ReduceTiles(const F& f, const ReducePlan& plan)
      : f_(f),
        x_(reinterpret_cast<const T*>(plan.operand[reduction_x].data)),
        out_(reinterpret_cast<T*>(plan.operand[reduction_out].data)),
        out_step_(plan.operand[reduction_out].stride[0]),
        kept_(plan.kept),
        columns_(static_cast<int>(plan.columns)),
        step_(static_cast<int>(plan.operand[reduction_x].column_stride)),
        row_(static_cast<int>(plan.operand[reduction_x].stride[0])),
        reach_(static_cast<int>(reach_of_row(plan))),
        pack_(plan.pack),
        head_(static_cast<int>(reinterpret_cast<std::uintptr_t>(x_) % gpu_pack_bytes / sizeof(T))),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))) {
    // Multiples of 8, so that all tiles are aligned alike; fewer rows than there is room for where teams would be few.
    constexpr std::int64_t enough_teams = 512, few_rows = 16;
    const std::int64_t most = (most_elements - pack) / row_ / 8 * 8;
    tile_rows_ = static_cast<int>(std::clamp<std::int64_t>(ceil_div(kept_, enough_teams * 8) * 8, few_rows, most));
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
      const int rows = rows_of(tile), lane = team.team_rank() & (lanes() - 1);
      PORTOPS_NO_UNROLL
      for (int first = 0; first < rows; first += threads >> lane_bits_) {
        const int row = first + row_of(team.team_rank());
        const Partial<A> value = reduce<width>(scratch, row, row < rows, lane);
        if (row < rows && lane == 0) out_[(tile * tile_rows_ + row) * out_step_] = static_cast<T>(f_.finish(value));
      }
    });
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

  /// What a lane's packs of `width` add up to, of a row of the tile.
  template <int width>
  KOKKOS_FORCEINLINE_FUNCTION A add_up(const T* scratch, int row, bool active, int lane) const {
    constexpr int at_once = width <= 2 ? 4 : 2;
    A sums[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) sums[i] = f_.identity();
    const T* from = scratch + head_ + row * row_ + lane * width * step_;
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
  KOKKOS_FORCEINLINE_FUNCTION Partial<A> reduce(const T* scratch, int row, bool active, int lane) const {
    const A total = join_over_lanes(add_up<width>(scratch, row, active, lane), lanes(), f_.join());
    if constexpr (F::rescales) {
      const bool safe = f_.is_safe(total);
      if (any_lane(active && !safe)) {
        const Partial<A> rescaled = rescale<width>(scratch, row, active, lane);
        if (!safe) return rescaled;
      }
    }
    return {A(1), total};
  }

  template <int width>
  KOKKOS_FUNCTION Partial<A> rescale(const T* scratch, int row, bool active, int lane) const {
    const T* const from = scratch + head_ + row * row_;
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
  int columns_;
  int step_;   ///< from a column to the next one
  int row_;    ///< from a row to the next one
  int reach_;  ///< from a row's first element to behind its last one
  int pack_;
  int head_;  ///< elements before x from where packs are aligned
  int lane_bits_;
  int tile_rows_ = 0;
};

}  // namespace portops::impl
