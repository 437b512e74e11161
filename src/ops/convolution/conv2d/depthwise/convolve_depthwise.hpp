// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_reach.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_units.hpp"
#include "ops/convolution/pixel_sampling.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// The sums of a strip of `to`.
template <class T, int K, Reach reach, int P>
class DepthwiseStrip {
 public:
  using A = Arithmetic<T>;
  static constexpr int window = K, channels = P;
  // As many as share what they read, or as leave all reads of a column under way at once; half as many of pairs: a
  // thread has registers for no more.
  static constexpr int rows = (reach == Reach::neighbours ? 8 : reach == Reach::every_other || K == 3 ? 4 : 2) / P;

  explicit DepthwiseStrip(const DepthwiseCall& call)
      : down_(call.windows.stride_y, call.windows.top, call.windows.dilation_y, call.windows.height),
        across_(call.windows.stride_x, call.windows.left, call.windows.dilation_x, call.windows.width),
        from_(call.from),
        to_(call.to),
        bias_(static_cast<const T*>(call.bias)),
        bias_stride_(call.bias_stride),
        to_height_(static_cast<std::int32_t>(call.windows.out_height)) {}

  static DepthwiseUnits units(const DepthwiseCall& call) { return {call.windows, rows}; }

  /// weight(k, l, to) gives those of the channels. The strip begins at (i, j).
  template <class Weight>
  KOKKOS_FORCEINLINE_FUNCTION void compute(std::int32_t image, std::int32_t channel, std::int32_t i, std::int32_t j,
                                           const Weight& weight) const {
    if (i + rows <= to_height_ && down_.is_inside(i, i + rows, K)) {
      compute_strip<true>(image, channel, i, j, weight);
    } else {
      compute_strip<false>(image, channel, i, j, weight);
    }
  }

 private:
  /// `inside`: the strip is one of `rows` pixels, whose windows have their rows in the image.
  template <bool inside, class Weight>
  KOKKOS_FORCEINLINE_FUNCTION void compute_strip(std::int32_t image, std::int32_t channel, std::int32_t i,
                                                 std::int32_t j, const Weight& weight) const {
    A sum[rows][P] = {};
    StripRows<T, K, reach, P, rows, inside> strip(down_, i, from_.stride[2]);
    const T* const from = from_.data + from_.offset(image, channel, 0, 0);
    PORTOPS_UNROLL
    for (int l = 0; l < K; ++l) {
      const std::int32_t column = across_(j, l);
      if (reach == Reach::turned && column == AxisReach<reach>::nothing) continue;
      strip.read(from, column, from_.stride[3]);
      PORTOPS_UNROLL
      for (int k = 0; k < K; ++k) {
        A factor[P];
        weight(k, l, factor);
        PORTOPS_UNROLL
        for (int n = 0; n < rows; ++n) {
          if (!strip.has(n, k)) continue;
          PORTOPS_UNROLL
          for (int p = 0; p < P; ++p) sum[n][p] = Kokkos::fma(factor[p], strip.value(n, k)[p], sum[n][p]);
        }
      }
    }
    if (bias_ != nullptr) {
      PORTOPS_UNROLL
      for (int p = 0; p < P; ++p) {
        const A bias = static_cast<A>(bias_[(channel + p) * bias_stride_]);
        PORTOPS_UNROLL
        for (int n = 0; n < rows; ++n) sum[n][p] += bias;
      }
    }
    T* const to = to_.data + to_.offset(image, channel, i, j);
    PORTOPS_UNROLL
    for (int n = 0; n < rows; ++n) {
      if (inside || i + n < to_height_) write_neighbours<T, P>(to + n * to_.stride[2], sum[n]);
    }
  }

  AxisReach<reach> down_, across_;
  Tensor32<const T> from_;
  Tensor32<T> to_;
  const T* bias_;
  std::int64_t bias_stride_;
  std::int32_t to_height_;
};

/// The sums of x_grad where strides are 2 and nothing is dilated. Pixels of x that lie two apart are reached by the
/// same taps, and the four next to each other by all of them: a thread has blocks of 2 × 2 pixels, one under the other,
/// whose pixels of out_grad they share. Block (i, j) has the pixels (2 i + p − top, 2 j + q − left) with p and q of 0
/// and 1.
template <class T, int K, int P>
class DepthwiseBlocks {
 public:
  using A = Arithmetic<T>;
  static constexpr int window = K, channels = P;
  static constexpr int rows = P == 1 ? 4 : 2;

  explicit DepthwiseBlocks(const DepthwiseCall& call)
      : down_(1, taps - 1, 1, call.windows.height),
        across_(1, taps - 1, 1, call.windows.width),
        from_(call.from),
        to_(call.to),
        top_(static_cast<std::int32_t>(call.windows.top)),
        left_(static_cast<std::int32_t>(call.windows.left)),
        to_height_(static_cast<std::int32_t>(call.windows.out_height)),
        to_width_(static_cast<std::int32_t>(call.windows.out_width)) {}

  static DepthwiseUnits units(const DepthwiseCall& call) {
    Windows blocks = call.windows;
    blocks.out_height = count(call.windows.top, call.windows.out_height);
    blocks.out_width = count(call.windows.left, call.windows.out_width);
    return {blocks, rows};
  }

  template <class Weight>
  KOKKOS_FORCEINLINE_FUNCTION void compute(std::int32_t image, std::int32_t channel, std::int32_t i, std::int32_t j,
                                           const Weight& weight) const {
    const std::int32_t first = i + (top_ >> 1), column = j + (left_ >> 1);
    if (down_.is_inside(first, first + rows, taps)) {
      compute_blocks<true>(image, channel, first, column, weight);
    } else {
      compute_blocks<false>(image, channel, first, column, weight);
    }
  }

 private:
  static constexpr int taps = (K + 1) / 2;  ///< that reach one pixel, at most

  /// Along an axis.
  static std::int64_t count(std::int64_t before, std::int64_t extent) {
    return ((before + extent - 1) >> 1) - (before >> 1) + 1;
  }

  template <bool inside, class Weight>
  KOKKOS_FORCEINLINE_FUNCTION void compute_blocks(std::int32_t image, std::int32_t channel, std::int32_t i,
                                                  std::int32_t j, const Weight& weight) const {
    A sum[rows][2][2][P] = {};
    StripRows<T, taps, Reach::neighbours, P, rows, inside> strip(down_, i, from_.stride[2]);
    const T* const from = from_.data + from_.offset(image, channel, 0, 0);
    PORTOPS_UNROLL
    for (int c = 0; c < taps; ++c) {
      strip.read(from, across_(j, c), from_.stride[3]);
      PORTOPS_UNROLL
      for (int q = 0; q < 2; ++q) {
        const int l = 2 * (taps - 1 - c) + q;
        if (l >= K) continue;
        PORTOPS_UNROLL
        for (int k = 0; k < K; ++k) {
          A factor[P];
          weight(k, l, factor);
          PORTOPS_UNROLL
          for (int n = 0; n < rows; ++n) {
            PORTOPS_UNROLL
            for (int p = 0; p < P; ++p) {
              A& its = sum[n][k % 2][q][p];
              its = Kokkos::fma(factor[p], strip.value(n, taps - 1 - k / 2)[p], its);
            }
          }
        }
      }
    }
    PORTOPS_UNROLL
    for (int n = 0; n < rows; ++n) {
      PORTOPS_UNROLL
      for (int p = 0; p < 2; ++p) {
        const std::int32_t y = 2 * (i + n) + p - top_;
        if (y < 0 || y >= to_height_) continue;
        PORTOPS_UNROLL
        for (int q = 0; q < 2; ++q) {
          const std::int32_t x = 2 * j + q - left_;
          if (x < 0 || x >= to_width_) continue;
          write_neighbours<T, P>(to_.data + to_.offset(image, channel, y, x), sum[n][p][q]);
        }
      }
    }
  }

  AxisReach<Reach::neighbours> down_, across_;
  Tensor32<const T> from_;
  Tensor32<T> to_;
  std::int32_t top_, left_, to_height_, to_width_;
};

/// Channel by channel: an item a strip, of one channel. Neighbouring items are neighbouring columns.
template <class T, class Strip>
class ConvolveDepthwisePlanes {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  explicit ConvolveDepthwisePlanes(const DepthwiseCall& call)
      : strip_(call),
        units_(Strip::units(call)),
        weight_(call.weight),
        channels_(static_cast<std::uint32_t>(call.windows.channels)) {}

  std::int64_t items() const { return units_.count() * channels_.value(); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const auto [of_planes, i, j] = units_.in_plane(static_cast<std::uint32_t>(index));
    const std::uint32_t image = channels_.quotient(of_planes);
    const auto channel = static_cast<std::int32_t>(of_planes - image * channels_.value());
    const T* const weight = weight_.data + channel * weight_.stride[0];
    strip_.compute(static_cast<std::int32_t>(image), channel, i, j, [&](int k, int l, A(&to)[1]) {
      to[0] = static_cast<A>(weight[k * weight_.stride[2] + l * weight_.stride[3]]);
    });
  }

 private:
  Strip strip_;
  DepthwiseUnits units_;
  Tensor32<const T> weight_;
  Divisor channels_;
};

/// Where channels are neighbours: a team takes a block of channels and some strips of them. Neighbouring threads are
/// neighbouring channels. The weight of these lies in scratch, tap by tap.
template <Backend B, class T, class Strip>
class ConvolveDepthwiseChannels {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = ChannelBlocks::threads;
  static constexpr int blocks = 0;
  std::int64_t first_team = 0;

  explicit ConvolveDepthwiseChannels(const DepthwiseCall& call)
      : strip_(call),
        units_(Strip::units(call)),
        block_(call.windows.channels, P, true),
        weight_(call.weight),
        pitch_(block_.packs() + 1) {
    // A team reads the weight once for several rounds of its threads, where there are teams enough.
    constexpr std::int64_t enough_teams = 1056, most_rounds = 4;
    const std::int64_t rounds = ceil_div(units_.count(), block_.slots());
    rounds_ = static_cast<int>(std::clamp<std::int64_t>(rounds * block_.blocks() / enough_teams, 1, most_rounds));
    parts_ = Divisor(static_cast<std::uint32_t>(ceil_div(rounds, rounds_)));
  }

  std::int64_t teams() const { return std::int64_t{parts_.value()} * block_.blocks(); }
  std::size_t scratch_bytes() const { return sizeof(A) * K * K * P * static_cast<std::size_t>(pitch_); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto index = static_cast<std::uint32_t>(first_team + team.league_rank());
    const std::uint32_t block = parts_.quotient(index), part = index - block * parts_.value();
    const std::int32_t first = static_cast<std::int32_t>(block) * block_.channels();
    A* const weight = scratch_of<A>(team);
    read_weight(team, first, weight);
    team.team_barrier();
    const int pack = block_.pack_of(team.team_rank());
    const std::int32_t channel = first + pack * P;
    if (channel >= block_.all()) return;
    std::int64_t unit = std::int64_t{part} * rounds_ * block_.slots() + block_.slot_of(team.team_rank());
    for (int round = 0; round < rounds_ && unit < units_.count(); ++round, unit += block_.slots()) {
      const auto [image, i, j] = units_.in_plane(static_cast<std::uint32_t>(unit));
      strip_.compute(static_cast<std::int32_t>(image), channel, i, j, [&](int k, int l, A(&to)[P]) {
        PORTOPS_UNROLL
        for (int p = 0; p < P; ++p) to[p] = weight[((k * K + l) * P + p) * pitch_ + pack];
      });
    }
  }

 private:
  static constexpr int K = Strip::window, P = Strip::channels;

  /// Neighbouring threads read neighbouring taps: so lies the weight. In scratch the channels of a tap are neighbours,
  /// the first of all packs before the second ones, and an odd number apart from those of the next tap: threads meet in
  /// few banks.
  KOKKOS_FORCEINLINE_FUNCTION void read_weight(const Team& team, std::int32_t first, A* weight) const {
    for (int at = team.team_rank(); at < K * K * block_.channels(); at += threads) {
      const int c = at / (K * K), tap = at - c * K * K;
      if (first + c >= block_.all()) continue;
      weight[(tap * P + c % P) * pitch_ + c / P] = static_cast<A>(
          weight_.data[(first + c) * weight_.stride[0] + tap / K * weight_.stride[2] + tap % K * weight_.stride[3]]);
    }
  }

  Strip strip_;
  DepthwiseUnits units_;
  ChannelBlocks block_;
  Tensor32<const T> weight_;
  int pitch_;   ///< of a tap's channels in scratch
  int rounds_;  ///< of units
  Divisor parts_;
};

}  // namespace portops::impl
