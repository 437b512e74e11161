// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_tiles.hpp"
#include "ops/convolution/conv2d/depthwise/staged_pixels.hpp"
#include "ops/convolution/conv2d/depthwise/walked_rows.hpp"

#include <cstdint>

namespace portops::impl {

/// A depthwise convolution tile by tile: a team has the weight of a block of channels and the pixels that a tile
/// reaches in scratch. A thread goes down the rows of these with the sums of some columns. `last`: neighbouring
/// channels are neighbours in memory; else the sums go by way of scratch too.
template <Backend B, class T, int K, int step, bool last>
class ConvolveDepthwiseTiles {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = sizeof(A) == 8 ? 1 : K < 7 ? 3 : 2;
  std::int64_t first_team = 0;

  explicit ConvolveDepthwiseTiles(const DepthwiseCall& call)
      : tiles_(call, sizeof(T), DepthwiseTiles::most_scratch_bytes - weight_bytes, !last),
        from_(call.from, tiles_.from(), call.windows.images, call.windows.channels, call.windows.height,
              call.windows.width),
        staged_to_(call.to, tiles_.to(), call.windows.images, call.windows.channels, call.windows.out_height,
                   call.windows.out_width),
        count_(static_cast<std::uint32_t>(tiles_.count())),
        weight_(call.weight),
        to_(call.to),
        bias_(static_cast<const T*>(call.bias)),
        bias_stride_(call.bias_stride),
        channels_(static_cast<std::int32_t>(call.windows.channels)),
        top_(static_cast<std::int32_t>(call.windows.top)),
        left_(static_cast<std::int32_t>(call.windows.left)),
        to_height_(static_cast<std::int32_t>(call.windows.out_height)),
        to_width_(static_cast<std::int32_t>(call.windows.out_width)) {}

  std::int64_t teams() const { return tiles_.count() * tiles_.channel_blocks().value(); }
  int threads() const { return tiles_.threads(); }
  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    return weight_bytes + Staged::bytes(tiles_.from()) + (last ? 0 : Staged::bytes(tiles_.to()));
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto index = static_cast<std::uint32_t>(first_team + team.league_rank());
    const std::uint32_t block = count_.quotient(index);
    const TilePlace tile = tiles_(index - block * count_.value());
    const std::int32_t first = static_cast<std::int32_t>(block) * DepthwiseTiles::channels;
    auto* const pixels = static_cast<T*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), 16));
    T* const sums = pixels + Staged::bytes(tiles_.from()) / sizeof(T);
    auto* const weight = reinterpret_cast<A*>(sums + (last ? 0 : Staged::bytes(tiles_.to()) / sizeof(T)));
    read_weight(team, first, weight);
    from_.read(team, pixels, first, {tile.image, tile.i * step - top_, tile.j * step - left_});
    wait_for_copies_to_scratch();
    team.team_barrier();
    const int lane = team.team_rank() % DepthwiseTiles::channels, warp = team.team_rank() / DepthwiseTiles::channels;
    const TilePlace part = tiles_.part(warp, R);
    const std::int32_t image = tile.image + part.image, i = tile.i + part.i, j = tile.j + part.j;
    const std::int32_t channel = first + lane;
    const std::int32_t below = to_height_ - i, rows = below < tiles_.rows() ? below : tiles_.rows();
    if (image < tiles_.images() && channel < channels_ && rows > 0 && j < to_width_) {
      const T* const from = pixels + Staged::place(tiles_.from(), {part.image, part.i * step, part.j * step}) + lane;
      if constexpr (last) {
        walk(from, weight + lane, channel, rows, to_width_ - j, to_.data + to_.offset(image, channel, i, j),
             to_.stride[2], to_.stride[3]);
      } else {
        walk(from, weight + lane, channel, rows, R, sums + Staged::place(tiles_.to(), part) + lane,
             tiles_.to().columns * Staged::pitch, Staged::pitch);
      }
    }
    if constexpr (!last) {
      team.team_barrier();
      staged_to_.write(team, sums, first, tile);
    }
  }

 private:
  using Staged = StagedPixels<T, last>;
  using Rows = WalkedRows<K, step>;
  static constexpr int R = DepthwiseTiles::columns(step), count = (R - 1) * step + K;
  static constexpr int weight_pitch = DepthwiseTiles::channels + 1;
  static constexpr std::size_t weight_bytes = sizeof(A) * K * K * weight_pitch;

  /// The sums of `rows` rows of R columns, of which `columns` are written to `to`, from where their windows begin on.
  KOKKOS_FORCEINLINE_FUNCTION void walk(const T* from, const A* weight, std::int32_t channel, std::int32_t rows,
                                        std::int32_t columns, T* to, std::int32_t row_of_to,
                                        std::int32_t column_of_to) const {
    A factor[K][K];
    PORTOPS_UNROLL
    for (int k = 0; k < K; ++k) {
      PORTOPS_UNROLL
      for (int l = 0; l < K; ++l) factor[k][l] = weight[(k * K + l) * weight_pitch];
    }
    const A bias = bias_ != nullptr ? static_cast<A>(bias_[channel * bias_stride_]) : A(0);
    const int row_of_from = tiles_.from().columns * Staged::pitch;
    A sum[Rows::slots][R] = {};
    Rows::walk(rows, [&](std::int32_t t, int phase) {
      A value[count];
      PORTOPS_UNROLL
      for (int n = 0; n < count; ++n) value[n] = static_cast<A>(from[n * Staged::pitch]);
      from += row_of_from;
      PORTOPS_UNROLL
      for (int k = 0; k < K; ++k) {
        if (!Rows::has_tap(phase, k)) continue;
        // Large windows gain from leaving out the rows that are not there.
        if (K > 3 && static_cast<std::uint32_t>(t - k) > static_cast<std::uint32_t>((rows - 1) * step)) continue;
        PORTOPS_UNROLL
        for (int r = 0; r < R; ++r) {
          A& its = sum[Rows::slot(phase, k)][r];
          PORTOPS_UNROLL
          for (int l = 0; l < K; ++l) its = Kokkos::fma(factor[k][l], value[r * step + l], its);
        }
      }
      if (!Rows::has_tap(phase, K - 1)) return;
      A(&done)[R] = sum[Rows::slot(phase, K - 1)];
      if (t >= K - 1) {
        PORTOPS_UNROLL
        for (int r = 0; r < R; ++r) {
          if (r < columns) to[r * column_of_to] = static_cast<T>(done[r] + bias);
        }
        to += row_of_to;
      }
      PORTOPS_UNROLL
      for (int r = 0; r < R; ++r) done[r] = A(0);
    });
  }

  /// Neighbouring threads read neighbouring taps: so lies the weight.
  KOKKOS_FORCEINLINE_FUNCTION void read_weight(const Team& team, std::int32_t first, A* weight) const {
    for (int at = team.team_rank(); at < K * K * DepthwiseTiles::channels; at += team.team_size()) {
      const int c = at / (K * K), tap = at - c * K * K;
      if (first + c >= channels_) continue;
      weight[tap * weight_pitch + c] = static_cast<A>(
          weight_.data[(first + c) * weight_.stride[0] + tap / K * weight_.stride[2] + tap % K * weight_.stride[3]]);
    }
  }

  DepthwiseTiles tiles_;
  Staged from_, staged_to_;
  Divisor count_;
  Tensor32<const T> weight_;
  Tensor32<T> to_;
  const T* bias_;
  std::int64_t bias_stride_;
  std::int32_t channels_, top_, left_, to_height_, to_width_;
};

}  // namespace portops::impl
