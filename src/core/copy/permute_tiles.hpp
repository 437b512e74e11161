// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/tile_permutation.hpp"
#include "core/exec/cuda/kernel_order.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/lanes.hpp"
#include "core/types/macros.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// to = from over the tiles of a TilePermutation, on a GPU. A team takes tiles one after the other: it reads one in the
/// order in which its words lie in `from`, and writes it in that of `to`. Where a thread's words of a tile lie is
/// worked out once; while it writes a tile, its words of the next one are under way.
template <class Word>
class PermuteTiles {
 public:
  static constexpr int threads = 512;
  static constexpr int blocks = 2;
  static constexpr int per_thread = sizeof(Word) == 8 ? 4 : 8;
  static constexpr int most_words = per_thread * threads;
  /// Of 48 KiB, of which Kokkos takes 8 bytes a thread.
  static_assert(2 * most_scratch(most_words) * sizeof(Word) <= (48 << 10) - 8 * threads - 64);
  static_assert(most_scratch(most_words) <= 1 << 16, "a place in scratch has 16 bits");
  std::int64_t first_team = 0;

  /// Where the first word of a tile lies on each side.
  struct Place {
    std::int64_t from, to;
  };

  PermuteTiles(const CopyPlan& plan, const TilePermutation& tiles)
      : from_(reinterpret_cast<const Word*>(plan.from.data)),
        to_(reinterpret_cast<Word*>(plan.to.data)),
        rank_(tiles.rank),
        volume_(static_cast<std::uint32_t>(tiles.volume)),
        tiles_(static_cast<std::uint32_t>(tiles.tiles())),
        scratch_(tiles.scratch) {
    for (int i = 0; i < rank_; ++i) {
      const TilePermutation::Axis& axis = tiles.axis[i];
      grid_.count[i] = Divisor(static_cast<std::uint32_t>(axis.tiles()));
      grid_.tile[i] = axis.tile;
      grid_.last[i] = axis.extent - axis.tile;
      grid_.from[i] = axis.from;
      grid_.to[i] = axis.to;
      add(writing_, axis, axis.to);
      add(reading_, tiles.axis[tiles.in_from[i]], tiles.axis[tiles.in_from[i]].from);
    }
  }

  std::int64_t teams() const { return std::min<std::int64_t>(tiles_, gpu_teams_at_once); }
  std::size_t scratch_bytes() const { return 2 * static_cast<std::size_t>(scratch_) * sizeof(Word); }

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    let_next_kernel_start();
    Word* scratch = scratch_of<Word>(team);
    Word* other = scratch + scratch_;
    auto tile = static_cast<std::uint32_t>(team.league_rank());
    Place place = locate(tile);
    Part part(*this, team.team_rank(), place);
    while (tile < tiles_) {
      tile += static_cast<std::uint32_t>(team.league_size());
      const Place next = locate(tile);
      part.put(scratch);
      // Of two halves of the scratch: who waits here for the next tile has written this one.
      wait_for_team();
      if (tile < tiles_) part.load(next);
      part.write(scratch, place);
      place = next;
      Word* const used = scratch;
      scratch = other;
      other = used;
    }
  }

  std::uint32_t tiles() const { return tiles_; }

  KOKKOS_FORCEINLINE_FUNCTION Place locate(std::uint32_t tile) const {
    Place place{0, 0};
    PORTOPS_NO_UNROLL
    for (int i = 0; i < rank_; ++i) {
      const std::uint32_t outer = grid_.count[i].quotient(tile);
      std::int64_t first = static_cast<std::int64_t>(tile - outer * grid_.count[i].value()) * grid_.tile[i];
      first = first < grid_.last[i] ? first : grid_.last[i];
      place.from += first * grid_.from[i];
      place.to += first * grid_.to[i];
      tile = outer;
    }
    return place;
  }

  /// What one thread does of a team's tiles: it loads words of a tile, puts them into the scratch, and writes others
  /// from there to where the tile's first word lies in `to`.
  class Part {
   public:
    KOKKOS_FORCEINLINE_FUNCTION Part(const PermuteTiles& kernel, int thread, const Place& place)
        : kernel_(kernel), thread_(static_cast<std::uint32_t>(thread)) {
      PORTOPS_UNROLL
      for (int k = 0; k < per_thread; ++k) {
        if (!kernel_.is_inside(k * threads)) break;
        locate(kernel_.reading_, word(k), from_at_[k], scratch_at_[k]);
        load_word(k, place);
      }
      PORTOPS_UNROLL
      for (int k = 0; k < per_thread; ++k) {
        if (!kernel_.is_inside(k * threads)) break;
        std::uint32_t at;
        locate(kernel_.writing_, word(k), to_at_[k], at);
        scratch_at_[k] |= at << 16;
      }
    }

    KOKKOS_FORCEINLINE_FUNCTION void load(const Place& place) {
      PORTOPS_UNROLL
      for (int k = 0; k < per_thread; ++k) load_word(k, place);
    }

    KOKKOS_FORCEINLINE_FUNCTION void put(Word* scratch) const {
      PORTOPS_UNROLL
      for (int k = 0; k < per_thread; ++k) {
        if (kernel_.is_inside(word(k))) scratch[scratch_at_[k] & 0xffff] = own_[k];
      }
    }

    KOKKOS_FORCEINLINE_FUNCTION void write(const Word* scratch, const Place& place) const {
      PORTOPS_UNROLL
      for (int k = 0; k < per_thread; ++k) {
        if (kernel_.is_inside(word(k)))
          in_device_memory(kernel_.to_)[place.to + to_at_[k]] = scratch[scratch_at_[k] >> 16];
      }
    }

   private:
    KOKKOS_FORCEINLINE_FUNCTION std::uint32_t word(int k) const {
      return thread_ + static_cast<std::uint32_t>(k * threads);
    }
    KOKKOS_FORCEINLINE_FUNCTION void load_word(int k, const Place& place) {
      if (kernel_.is_inside(word(k))) own_[k] = in_device_memory(kernel_.from_)[place.from + from_at_[k]];
    }

    const PermuteTiles& kernel_;
    std::uint32_t thread_;
    Word own_[per_thread];
    int from_at_[per_thread], to_at_[per_thread];
    std::uint32_t scratch_at_[per_thread];  ///< where a word is read into, and above it where another is written from
  };

 private:
  /// A team's barrier is a fence as well, which would wait until what has been written of the last tile has arrived.
  KOKKOS_FORCEINLINE_FUNCTION static void wait_for_team() {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
  }

  /// The axes of a tile in one order, the fastest first: how far a step is in memory, and in the scratch.
  struct Axes {
    int rank = 0;
    Divisor extent[max_rank];
    int stride[max_rank];
    int scratch[max_rank];
  };
  /// How many tiles lie along each axis, and where they begin.
  struct Grid {
    Divisor count[max_rank];
    int tile[max_rank];
    std::int64_t last[max_rank];  ///< where the last one does
    std::int64_t from[max_rank], to[max_rank];
  };
  static void add(Axes& axes, const TilePermutation::Axis& axis, std::int64_t stride) {
    if (axis.tile == 1) return;
    axes.extent[axes.rank] = Divisor(static_cast<std::uint32_t>(axis.tile));
    axes.stride[axes.rank] = static_cast<int>(stride);
    axes.scratch[axes.rank++] = axis.scratch;
  }

  KOKKOS_FORCEINLINE_FUNCTION bool is_inside(std::uint32_t word) const { return word < volume_; }

  /// Where a word of a tile lies: in memory, from the tile's first one on, and in the scratch.
  KOKKOS_FORCEINLINE_FUNCTION static void locate(const Axes& axes, std::uint32_t word, int& memory,
                                                 std::uint32_t& scratch) {
    memory = 0;
    scratch = 0;
    PORTOPS_NO_UNROLL
    for (int i = 0; i < axes.rank; ++i) {
      const std::uint32_t outer = axes.extent[i].quotient(word);
      const auto along = static_cast<int>(word - outer * axes.extent[i].value());
      memory += along * axes.stride[i];
      scratch += static_cast<std::uint32_t>(along * axes.scratch[i]);
      word = outer;
    }
  }

  const Word* from_;
  Word* to_;
  int rank_;
  std::uint32_t volume_, tiles_;
  int scratch_;
  Axes reading_, writing_;
  Grid grid_;
};

}  // namespace portops::impl
