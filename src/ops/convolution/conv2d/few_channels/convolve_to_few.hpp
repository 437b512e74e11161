// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/other_lane.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_tiles.hpp"
#include "ops/convolution/conv2d/depthwise/staged_pixels.hpp"
#include "ops/convolution/conv2d/depthwise/walked_rows.hpp"

#include <cstdint>

namespace portops::impl {

/// A convolution to few channels, tile by tile: a team goes through the blocks of 32 channels of `from`, whose pixels,
/// as far as a tile reaches them, it has in scratch, with their weights. A thread has a channel and goes down the rows
/// with the sums of some columns; a warp adds these up over its channels, a row of them at a time, and each of its
/// threads keeps one.
template <Backend B, class T, int K, bool last>
class ConvolveToFew {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = sizeof(A) == 8 ? 1 : K < 7 ? 3 : 2;
  std::int64_t first_team = 0;

  explicit ConvolveToFew(const DepthwiseCall& call)
      : to_channels_(static_cast<std::int32_t>(call.windows.out_channels)),
        tiles_(call, sizeof(T),
               DepthwiseTiles::most_scratch_bytes - weight_bytes() - sum_bytes(DepthwiseTiles::most_threads), false),
        from_(call.from, tiles_.from(), call.windows.images, call.windows.channels, call.windows.height,
              call.windows.width),
        weight_(call.weight),
        to_(call.to),
        weights_(static_cast<std::uint32_t>(call.windows.out_channels * K * K)),
        channels_(static_cast<std::int32_t>(call.windows.channels)),
        top_(static_cast<std::int32_t>(call.windows.top)),
        left_(static_cast<std::int32_t>(call.windows.left)),
        to_height_(static_cast<std::int32_t>(call.windows.out_height)),
        to_width_(static_cast<std::int32_t>(call.windows.out_width)) {}

  std::int64_t teams() const { return tiles_.count(); }
  int threads() const { return tiles_.threads(); }
  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    return Staged::bytes(tiles_.from()) + weight_bytes() + sum_bytes(tiles_.threads());
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const TilePlace tile = tiles_(static_cast<std::uint32_t>(first_team + team.league_rank()));
    auto* const pixels = static_cast<T*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), 16));
    auto* const weight = reinterpret_cast<A*>(pixels + Staged::bytes(tiles_.from()) / sizeof(T));
    A* const sums = weight + K * K * to_channels_ * weight_pitch + team.team_rank();
    const int lane = team.team_rank() % DepthwiseTiles::channels, warp = team.team_rank() / DepthwiseTiles::channels;
    const TilePlace part = tiles_.part(warp, R);
    const std::int32_t image = tile.image + part.image, i = tile.i + part.i, j = tile.j + part.j;
    const std::int32_t below = to_height_ - i, rows = below < tiles_.rows() ? below : tiles_.rows();
    const bool has_part = image < tiles_.images() && rows > 0 && j < to_width_;
    const T* const from = pixels + Staged::place(tiles_.from(), part) + lane;
    for (std::int32_t first = 0; first < channels_; first += DepthwiseTiles::channels) {
      if (first > 0) team.team_barrier();
      read_weight(team, first, weight);
      from_.read(team, pixels, first, {tile.image, tile.i - top_, tile.j - left_});
      wait_for_copies_to_scratch();
      team.team_barrier();
      PORTOPS_NO_UNROLL
      for (int c = 0; has_part && c < to_channels_; ++c) {
        const A sum = walk(from, weight + c * K * K * weight_pitch + lane, lane, rows);
        A& its = sums[c * team.team_size()];
        its = first == 0 ? sum : its + sum;
      }
    }
    const std::int32_t row = row_of(lane), column = j + column_of(lane);
    if (!has_part || row >= rows || column >= to_width_) return;
    for (int c = 0; c < to_channels_; ++c) {
      to_.data[to_.offset(image, c, i + row, column)] = static_cast<T>(sums[c * team.team_size()]);
    }
  }

 private:
  using Staged = StagedPixels<T, last>;
  using Rows = WalkedRows<K, 1>;
  static constexpr int R = DepthwiseTiles::columns(1), count = R - 1 + K;
  static constexpr int weight_pitch = DepthwiseTiles::channels + 1;
  static_assert(R == 4, "a warp's threads are four columns of eight rows");

  KOKKOS_FUNCTION std::size_t weight_bytes() const { return sizeof(A) * K * K * weight_pitch * to_channels_; }
  KOKKOS_FUNCTION std::size_t sum_bytes(int threads) const { return sizeof(A) * threads * to_channels_; }

  /// The pixel whose sum a thread keeps.
  KOKKOS_FORCEINLINE_FUNCTION static int row_of(int lane) { return lane % 8; }
  KOKKOS_FORCEINLINE_FUNCTION static int column_of(int lane) { return lane / 8; }

  /// The sum over all channels of the pixel that this thread keeps.
  KOKKOS_FORCEINLINE_FUNCTION A walk(const T* from, const A* weight, int lane, std::int32_t rows) const {
    A factor[K][K];
    PORTOPS_UNROLL
    for (int k = 0; k < K; ++k) {
      PORTOPS_UNROLL
      for (int l = 0; l < K; ++l) factor[k][l] = weight[(k * K + l) * weight_pitch];
    }
    const int row_of_from = tiles_.from().columns * Staged::pitch;
    A sum[Rows::slots][R] = {}, kept(0);
    Rows::walk(rows, [&](std::int32_t t, int phase) {
      A value[count];
      PORTOPS_UNROLL
      for (int n = 0; n < count; ++n) value[n] = static_cast<A>(from[n * Staged::pitch]);
      from += row_of_from;
      PORTOPS_UNROLL
      for (int k = 0; k < K; ++k) {
        PORTOPS_UNROLL
        for (int r = 0; r < R; ++r) {
          A& its = sum[Rows::slot(phase, k)][r];
          PORTOPS_UNROLL
          for (int l = 0; l < K; ++l) its = Kokkos::fma(factor[k][l], value[r + l], its);
        }
      }
      A(&done)[R] = sum[Rows::slot(phase, K - 1)];
      if (t >= K - 1) {
        const A total = sum_of_column(done, lane);
        if (row_of(lane) == t - (K - 1)) kept = total;
      }
      PORTOPS_UNROLL
      for (int r = 0; r < R; ++r) done[r] = A(0);
    });
    return kept;
  }

  /// The sum over a warp of this thread's column.
  KOKKOS_FORCEINLINE_FUNCTION static A sum_of_column(const A (&of)[R], int lane) {
    const bool right = lane >= 16, odd = lane / 8 % 2 != 0;
    A pair[2];
    PORTOPS_UNROLL
    for (int r = 0; r < 2; ++r) pair[r] = (right ? of[2 + r] : of[r]) + of_other_lane(right ? of[r] : of[2 + r], 16);
    const A one = (odd ? pair[1] : pair[0]) + of_other_lane(odd ? pair[0] : pair[1], 8);
    return sum_over_lanes(one, 8);
  }

  /// Zeros for channels that there are not. Neighbouring threads read neighbouring taps.
  KOKKOS_FORCEINLINE_FUNCTION void read_weight(const Team& team, std::int32_t first, A* weight) const {
    const auto of_channel = static_cast<int>(weights_.value());
    for (int at = team.team_rank(); at < of_channel * DepthwiseTiles::channels; at += team.team_size()) {
      const auto lane = static_cast<int>(weights_.quotient(static_cast<std::uint32_t>(at)));
      const int rest = at - lane * of_channel, c = rest / (K * K), tap = rest - c * K * K;
      A value(0);
      if (first + lane < channels_) {
        value = static_cast<A>(weight_.data[weight_.offset(c, first + lane, tap / K, tap % K)]);
      }
      weight[rest * weight_pitch + lane] = value;
    }
  }

  std::int32_t to_channels_;
  DepthwiseTiles tiles_;
  Staged from_;
  Tensor32<const T> weight_;
  Tensor32<T> to_;
  Divisor weights_;  ///< of a channel of `from`
  std::int32_t channels_, top_, left_, to_height_, to_width_;
};

}  // namespace portops::impl
