// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/add_over_lanes.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/conv2d/few_channels/from_few_tiles.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// On GPUs, where x has few channels: the sums of weight_grad over the chunks of a FromFewPlan, which lie chunk by
/// chunk in the order of weight_grad's elements. A team takes some elements of windows and some output channels; a
/// thread multiplies the strips that are its own, with a sum for each product.
template <Backend B, class T>
class FromFewWeightGrad {
  using Tiles = FromFewTiles<T>;

 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = FromFewPlan::threads;
  static constexpr int blocks = 2;
  std::int64_t first_team = 0;

  FromFewWeightGrad(const FromFewPlan& plan, const Tensor4& x, const Tensor4& out_grad, A* sums)
      : tiles_(plan, x),
        out_grad_(out_grad),
        sums_(sums),
        all_tiles_(plan.tiles()),
        chunk_tiles_(plan.chunk_tiles()),
        chunks_(plan.chunks()),
        parts_(static_cast<std::uint32_t>(plan.parts)),
        element_parts_(static_cast<std::uint32_t>(plan.element_parts())),
        part_outs_(plan.part_outs()),
        part_elements_(static_cast<std::int32_t>(plan.part_elements())) {}

  std::int64_t teams() const { return chunks_ * parts_.value() * element_parts_.value(); }
  std::size_t scratch_bytes() const {
    return std::max(static_cast<std::size_t>(tiles_.patch_size) * sizeof(A), sizeof(WarpSums));
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto index = static_cast<std::uint32_t>(first_team + team.league_rank());
    const std::uint32_t line = element_parts_.quotient(index), chunk = parts_.quotient(line);
    const auto narrow = [](std::uint32_t number) { return static_cast<std::int32_t>(number); };
    const std::int32_t first_element = narrow(index - line * element_parts_.value()) * part_elements_;
    const std::int32_t first_out = narrow(line - chunk * parts_.value()) * part_outs_;
    const std::int32_t left = tiles_.column - first_element;
    const std::int32_t count = left < part_elements_ ? left : part_elements_;
    const int thread = team.team_rank(), share = tiles_.lane_of(thread);
    const typename Tiles::Strip its = tiles_.strip_of(thread);
    const std::int32_t own_out = first_out + share * own_outs;
    std::int32_t place[elements];
    PORTOPS_UNROLL
    for (int e = 0; e < elements; ++e) {
      place[e] = tiles_.place_in_window(
          tiles_.element_of(static_cast<std::uint32_t>(first_element + (e < count ? e : count - 1))));
    }
    A* const patch = scratch_of<A>(team);
    A sum[own_sums] = {};
    const std::int64_t begin = chunk * chunk_tiles_, after = begin + chunk_tiles_;
    const std::int64_t end = after < all_tiles_ ? after : all_tiles_;
    PORTOPS_NO_UNROLL
    for (std::int64_t number = begin; number < end; ++number) {
      const typename Tiles::Tile tile = tiles_.tile_of(static_cast<std::uint32_t>(number));
      // What comes from memory is on its way before anything is waited for.
      Grads grads[strip], next[strip];
      read(tile, its, 0, own_out, next);
      team.team_barrier();
      tiles_.stage(tile, thread, patch);
      team.team_barrier();
      PORTOPS_NO_UNROLL
      for (int round = 0; round < tiles_.rounds; ++round) {
        PORTOPS_UNROLL
        for (int p = 0; p < strip; ++p) grads[p] = next[p];
        if (round + 1 < tiles_.rounds) read(tile, its, round + 1, own_out, next);
        // Nothing is multiplied with what is not there: x may be infinite.
        const int pixels = pixels_of(tile, its, round);
        const A* const from = patch + tiles_.window_of(its, round);
        if (pixels == strip) {
          multiply(grads, from, place, count, sum, strip);
        } else if (pixels > 0) {
          multiply(grads, from, place, count, sum, pixels);
        }
      }
    }
    team.team_barrier();
    auto& warp_sums = *reinterpret_cast<WarpSums*>(patch);
    // A warp has all lanes, or one.
    const int sharing = tiles_.has_packs ? warps : warps / tiles_.lanes;  // warps that have sums of a lane
    add_over_lanes<own_sums, warp / 2>(sum, thread % warp, tiles_.has_packs ? tiles_.lanes : 1,
                                       warp_sums.sum[thread / warp % sharing][share]);
    team.team_barrier();
    for (std::int32_t i = thread; i < part_outs_ * count; i += threads) {
      const std::int32_t out = i / count, e = i - out * count;
      if (first_out + out >= tiles_.outs) break;
      const std::int32_t own = out / own_outs, of_own = e * own_outs + out - own * own_outs;
      A total = warp_sums.sum[0][own][of_own];
      for (int other = 1; other < sharing; ++other) total += warp_sums.sum[other][own][of_own];
      const std::int64_t row = std::int64_t{chunk} * tiles_.outs + first_out + out;
      sums_[row * tiles_.column + first_element + e] = total;
    }
  }

 private:
  static constexpr int strip = Tiles::strip, own_outs = Tiles::own_outs;
  static constexpr int elements = FromFewPlan::most_elements, own_sums = elements * own_outs;
  static constexpr int warp = 32, warps = threads / warp, most_lanes = FromFewPlan::most_lanes;
  using Grads = typename Tiles::Outs;
  struct WarpSums {
    A sum[warps][most_lanes][own_sums];
  };

  /// How many pixels a strip has in a round.
  KOKKOS_FORCEINLINE_FUNCTION int pixels_of(const typename Tiles::Tile& tile, const typename Tiles::Strip& its,
                                            int round) const {
    if (!its.exists || tile.y + round * tiles_.rows + its.row >= tiles_.out_height) return 0;
    const std::int32_t left = tiles_.out_width - tile.x - its.column;
    int pixels = 0;
    PORTOPS_UNROLL
    for (int p = 0; p < strip; ++p) pixels += p * tiles_.pixel_step < left ? 1 : 0;
    return pixels;
  }

  /// out_grad of a strip in a round, or nothing.
  KOKKOS_FORCEINLINE_FUNCTION void read(const typename Tiles::Tile& tile, const typename Tiles::Strip& its, int round,
                                        std::int32_t first_out, Grads (&grads)[strip]) const {
    const int pixels = first_out < tiles_.outs ? pixels_of(tile, its, round) : 0;
    const std::int32_t y = tile.y + round * tiles_.rows + its.row;
    PORTOPS_UNROLL
    for (int p = 0; p < strip; ++p) {
      grads[p] = Grads(T(0.0f));
      if (p >= pixels) continue;
      const std::int32_t x = tile.x + its.column + p * tiles_.pixel_step;
      const T* const from = out_grad_.data + out_grad_.offset(tile.image, first_out, y, x);
      if (tiles_.has_packs) {
        grads[p] = *reinterpret_cast<const Grads*>(from);
      } else {
        PORTOPS_UNROLL
        for (int m = 0; m < own_outs; ++m) {
          if (first_out + m < tiles_.outs) grads[p].set(m, from[m * out_grad_.stride[1]]);
        }
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Grads (&grads)[strip], const A* from,
                                            const std::int32_t (&place)[elements], std::int32_t count,
                                            A (&sum)[own_sums], int pixels) const {
    const A* of_pixel[strip];
    PORTOPS_UNROLL
    for (int p = 0; p < strip; ++p) of_pixel[p] = from + p * tiles_.pixel_distance();
    PORTOPS_UNROLL
    for (int e = 0; e < elements; ++e) {
      if (e >= count) break;
      PORTOPS_UNROLL
      for (int p = 0; p < strip; ++p) {
        if (p >= pixels) break;
        const A x = of_pixel[p][place[e]];
        PORTOPS_UNROLL
        for (int m = 0; m < own_outs; ++m) {
          sum[e * own_outs + m] = Kokkos::fma(static_cast<A>(grads[p][m]), x, sum[e * own_outs + m]);
        }
      }
    }
  }

  Tiles tiles_;
  Tensor32<const T> out_grad_;
  A* sums_;
  std::int64_t all_tiles_, chunk_tiles_, chunks_;
  Divisor parts_, element_parts_;
  std::int32_t part_outs_, part_elements_;
};

}  // namespace portops::impl
