// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/conv2d/few_channels/from_few_tiles.hpp"

#include <cstdint>

namespace portops::impl {

/// On GPUs, where x has few channels, as before a first layer: out = bias + weight · columns, by a FromFewPlan. A team
/// has the weight of its output channels in scratch, and what a tile reads of x; a thread the sums of a strip.
template <Backend B, class T>
class ConvolveFromFew {
  using Tiles = FromFewTiles<T>;

 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = FromFewPlan::threads;
  static constexpr int blocks = 4;
  std::int64_t first_team = 0;

  ConvolveFromFew(const FromFewPlan& plan, const Tensor4& x, const Tensor4& weight, const ConvolutionOut& to)
      : tiles_(plan, x),
        weight_(weight),
        out_(to.out),
        bias_(static_cast<const T*>(to.bias)),
        bias_stride_(to.bias_stride),
        all_tiles_(plan.tiles()),
        parts_(static_cast<std::uint32_t>(plan.parts)),
        part_outs_(static_cast<std::uint32_t>(plan.part_outs())),
        is_dense_(plan.has_packs && plan.windows.stride_x == 1 && plan.windows.dilation_x == 1) {}

  std::int64_t teams() const { return all_tiles_ * parts_.value(); }
  std::size_t scratch_bytes() const {
    return (static_cast<std::size_t>(tiles_.column) * part_outs_.value() +
            static_cast<std::size_t>(tiles_.patch_size)) *
           sizeof(A);
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto index = static_cast<std::uint32_t>(first_team + team.league_rank());
    const std::uint32_t number = parts_.quotient(index);
    const auto first_out = static_cast<std::int32_t>((index - number * parts_.value()) * part_outs_.value());
    const typename Tiles::Tile tile = tiles_.tile_of(number);
    A* const weight = scratch_of<A>(team);
    A* const patch = weight + tiles_.column * static_cast<std::int32_t>(part_outs_.value());
    const int thread = team.team_rank();
    stage_weight(first_out, thread, weight);
    tiles_.stage(tile, thread, patch);
    team.team_barrier();
    const typename Tiles::Strip its = tiles_.strip_of(thread);
    const std::int32_t in_part = tiles_.lane_of(thread) * own_outs;
    if (!its.exists || first_out + in_part >= tiles_.outs || tile.x + its.column >= tiles_.out_width) return;
    for (int round = 0; round < tiles_.rounds; ++round) {
      const std::int32_t y = tile.y + round * tiles_.rows + its.row;
      if (y >= tiles_.out_height) return;
      A sum[strip][own_outs];
      begin(first_out + in_part, sum);
      const A* const from = patch + tiles_.window_of(its, round);
      is_dense_ ? add_up<true>(weight + in_part, from, sum) : add_up<false>(weight + in_part, from, sum);
      const PixelPlace at{tile.image, y, tile.x + its.column};
      write(at, first_out + in_part, sum);
    }
  }

 private:
  static constexpr int strip = Tiles::strip, own_outs = Tiles::own_outs;
  using Outs = typename Tiles::Outs;
  /// What a thread reads of the weight at once: scratch is aligned to no more.
  static constexpr int some_factors = 8 / static_cast<int>(sizeof(A));
  using Factors = Word<A, some_factors>;

  /// Element by element of windows, those of the team's output channels; zeros beyond these.
  KOKKOS_FORCEINLINE_FUNCTION void stage_weight(std::int32_t first_out, int thread, A* to) const {
    const std::int32_t all = tiles_.column * static_cast<std::int32_t>(part_outs_.value());
    for (std::int32_t i = thread; i < all; i += threads) {
      const std::uint32_t element = part_outs_.quotient(static_cast<std::uint32_t>(i));
      const std::int32_t out = first_out + i - static_cast<std::int32_t>(element * part_outs_.value());
      const typename Tiles::Element its = tiles_.element_of(element);
      to[i] = out < tiles_.outs ? static_cast<A>(weight_.data[weight_.offset(out, its.channel, its.k, its.l)]) : A(0);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void begin(std::int32_t first_out, A (&sum)[strip][own_outs]) const {
    PORTOPS_UNROLL
    for (int m = 0; m < own_outs; ++m) {
      const std::int32_t out = first_out + m < tiles_.outs ? first_out + m : tiles_.outs - 1;
      const A bias = bias_ != nullptr ? static_cast<A>(bias_[out * bias_stride_]) : A(0);
      PORTOPS_UNROLL
      for (int p = 0; p < strip; ++p) sum[p][m] = bias;
    }
  }

  /// `dense`: a strip's pixels read neighbouring numbers, so that from tap to tap one of them is new.
  template <bool dense>
  KOKKOS_FORCEINLINE_FUNCTION void add_up(const A* factors, const A* from, A (&sum)[strip][own_outs]) const {
    const auto part = static_cast<std::int32_t>(part_outs_.value());
    const auto width = static_cast<std::int32_t>(tiles_.kernel_width.value());
    const std::int32_t distance = dense ? 1 : tiles_.pixel_distance(), tap_step = dense ? 1 : tiles_.tap_step();
    for (std::int32_t left = tiles_.column; left > 0; from += tiles_.channel_distance()) {
      const A* line = from;
      for (std::int32_t tap = static_cast<std::int32_t>(tiles_.taps.value()); tap > 0;
           tap -= width, left -= width, line += tiles_.row_step()) {
        A x[strip];
        PORTOPS_UNROLL
        for (int p = 0; p + 1 < strip; ++p) x[p + 1] = dense ? line[p] : A(0);
        const A* at = line;
        for (std::int32_t l = 0; l < width; ++l, at += tap_step, factors += part) {
          Factors factor[own_outs / some_factors];
          PORTOPS_UNROLL
          for (int i = 0; i < own_outs / some_factors; ++i) {
            factor[i] = *reinterpret_cast<const Factors*>(factors + i * some_factors);
          }
          PORTOPS_UNROLL
          for (int p = 0; p < strip; ++p) {
            x[p] = dense && p + 1 < strip ? x[p + 1] : at[p * distance];
            PORTOPS_UNROLL
            for (int m = 0; m < own_outs; ++m) {
              sum[p][m] = Kokkos::fma(factor[m / some_factors][m % some_factors], x[p], sum[p][m]);
            }
          }
        }
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(const PixelPlace& at, std::int32_t first_out,
                                         const A (&sum)[strip][own_outs]) const {
    PORTOPS_UNROLL
    for (int p = 0; p < strip; ++p) {
      const std::int32_t column = at.j + p * tiles_.pixel_step;
      if (column >= tiles_.out_width) continue;
      T* const to = out_.data + out_.offset(at.image, first_out, at.i, column);
      if (tiles_.has_packs) {
        Outs outs;
        PORTOPS_UNROLL
        for (int m = 0; m < own_outs; ++m) outs.set(m, static_cast<T>(sum[p][m]));
        *reinterpret_cast<Outs*>(to) = outs;
      } else {
        PORTOPS_UNROLL
        for (int m = 0; m < own_outs; ++m) {
          if (first_out + m < tiles_.outs) to[m * out_.stride[1]] = static_cast<T>(sum[p][m]);
        }
      }
    }
  }

  Tiles tiles_;
  Tensor32<const T> weight_;
  Tensor32<T> out_;
  const T* bias_;
  std::int64_t bias_stride_;
  std::int64_t all_tiles_;
  Divisor parts_, part_outs_;
  bool is_dense_;
};

}  // namespace portops::impl
