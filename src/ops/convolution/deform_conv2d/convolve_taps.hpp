// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/other_lane.hpp"
#include "core/lanes/scratch_word.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/deform_conv2d/pixel_samples.hpp"
#include "ops/convolution/deform_conv2d/taps_pack.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// On GPUs, for groups of 8 to 16 channels, whose packs of N lie side by side in x: out = bias + weight · columns,
/// without columns in memory. A team takes a group, whose weight it stages in scratch, for a chunk of the pixels of all
/// images. Of a pixel's channels, pack_lanes neighbouring threads take a pack each; a thread has the sums of two pixels
/// and of up to own_outs output channels in registers, tap by tap. Numbers have 32 bits: see fits_pixels().
template <Backend B, class T, int N, int own_outs, int pack_lanes>
class ConvolveTaps {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 2;
  std::int64_t first_team = 0;

  ConvolveTaps(const ImageStep& step, const Tensor4& weight, const ConvolutionOut& to)
      : samples_(step),
        pixels_(step.windows),
        x_(step.x),
        weight_(weight),
        out_(to.out),
        bias_(static_cast<const T*>(to.bias)),
        bias_stride_(to.bias_stride) {
    const Windows& w = step.windows;
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    const auto divisor = [](std::int64_t number) { return Divisor(static_cast<std::uint32_t>(number)); };
    const std::int64_t pixels = w.images * w.pixels(), rounds = ceil_div(pixels, std::int64_t{slots * own_pixels});
    const std::int64_t wanted_chunks = std::max<std::int64_t>(1, gpu_teams_at_once / w.groups);
    chunk_rounds_ = narrow(std::min(ceil_div(rounds, wanted_chunks), most_rounds));
    teams_ = w.groups * ceil_div(rounds, std::int64_t{chunk_rounds_});
    groups_ = divisor(w.groups);
    deformable_channels_ = divisor(w.deformable_channels());
    taps_ = divisor(w.taps());
    kernel_width_ = divisor(w.kernel_width);
    all_pixels_ = narrow(pixels);
    group_channels_ = narrow(w.group_channels());
    group_outs_ = narrow(w.group_out_channels());
    writes_words_ = w.group_out_channels() % width == 0 && has_channel_packs<T>(to.out, width);
  }

  std::int64_t teams() const { return teams_; }
  std::size_t scratch_bytes() const { return sizeof(A) * static_cast<std::size_t>(taps_.value()) * tap_weights; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto index = static_cast<std::uint32_t>(first_team + team.league_rank());
    const std::uint32_t chunk = groups_.quotient(index);
    const auto group = static_cast<std::int32_t>(index - chunk * groups_.value());
    A* const weight = scratch_of<A>(team);
    stage_weight(team, group, weight);
    team.team_barrier();
    const std::int32_t pixels_of_round = slots * own_pixels;
    std::int32_t first = static_cast<std::int32_t>(chunk) * chunk_rounds_ * pixels_of_round;
    PORTOPS_NO_UNROLL
    for (std::int32_t round = 0; round < chunk_rounds_; ++round, first += pixels_of_round) {
      if (first >= all_pixels_) return;
      convolve(team, group, first, weight);
    }
  }

 private:
  using Shift = typename PixelSamples<T>::Shift;
  static constexpr int slots = threads / pack_lanes, own_pixels = 2;
  static constexpr std::int64_t most_rounds = 16;
  static constexpr int tap_weights = own_outs * pack_lanes * N;
  /// Output channels whose sums a thread has in the end, and those that it writes at once.
  static constexpr int kept_outs = own_outs / pack_lanes, width = std::min(kept_outs, 4);

  /// Tap by tap, for each output channel those of all packs, 0 where there are none.
  KOKKOS_FORCEINLINE_FUNCTION void stage_weight(const Team& team, std::int32_t group, A* to) const {
    const std::int32_t all = static_cast<std::int32_t>(taps_.value()) * tap_weights;
    for (std::int32_t i = team.team_rank(); i < all; i += threads) {
      const std::int32_t tap = i / tap_weights, of_tap = i - tap * tap_weights;
      const std::int32_t out = of_tap / (pack_lanes * N), channel = of_tap - out * (pack_lanes * N);
      const auto k = static_cast<std::int32_t>(kernel_width_.quotient(static_cast<std::uint32_t>(tap)));
      const std::int32_t l = tap - k * static_cast<std::int32_t>(kernel_width_.value());
      const bool exists = out < group_outs_ && channel < group_channels_;
      to[i] = exists ? static_cast<A>(weight_.data[weight_.offset(group * group_outs_ + out, channel, k, l)]) : A(0);
    }
  }

  /// The pixels from `first` on of which the team's threads take two each.
  KOKKOS_FORCEINLINE_FUNCTION void convolve(const Team& team, std::int32_t group, std::int32_t first,
                                            const A* weight) const {
    const int lane = team.team_rank() % pack_lanes;
    const bool has_pack = lane * N < group_channels_;
    const std::int32_t channel = group * group_channels_ + (has_pack ? lane * N : 0);
    const auto taps = static_cast<std::int32_t>(taps_.value());
    const std::int32_t first_sample =
        static_cast<std::int32_t>(deformable_channels_.quotient(static_cast<std::uint32_t>(channel))) * taps;
    std::int32_t pixel[own_pixels];
    PixelPlace at[own_pixels];
    Shift shift[own_pixels];
    const T* x[own_pixels];
    PORTOPS_UNROLL
    for (int p = 0; p < own_pixels; ++p) {
      pixel[p] = first + p * slots + team.team_rank() / pack_lanes;
      at[p] = pixels_(pixel[p] < all_pixels_ ? pixel[p] : all_pixels_ - 1);
      shift[p] = samples_.read(at[p], first_sample);
      x[p] = x_.data + x_.offset(at[p].image, channel, 0, 0);
    }
    A sum[own_pixels][own_outs] = {};
    const A* factors = weight + lane * N;
    std::int32_t k = 0, l = 0;
    PORTOPS_NO_UNROLL
    for (std::int32_t tap = 0; tap < taps; ++tap, factors += tap_weights) {
      // The next tap's places are read while this one's channels are on their way.
      Shift next[own_pixels];
      A value[own_pixels][N];
      PORTOPS_UNROLL
      for (int p = 0; p < own_pixels; ++p) {
        next[p] = samples_.read(at[p], first_sample + (tap + 1 < taps ? tap + 1 : tap));
        blend(samples_.find(at[p], k, l, shift[p], x_), x[p], has_pack, value[p]);
      }
      PORTOPS_UNROLL
      for (int out = 0; out < own_outs; ++out) {
        PORTOPS_UNROLL
        for (int first_of_word = 0; first_of_word < N; first_of_word += 4) {
          const Word<A, 4> factor =
              *reinterpret_cast<const ScratchWord<A, 4>*>(factors + out * (pack_lanes * N) + first_of_word);
          PORTOPS_UNROLL
          for (int n = 0; n < 4; ++n) {
            PORTOPS_UNROLL
            for (int p = 0; p < own_pixels; ++p) {
              sum[p][out] = Kokkos::fma(factor[n], value[p][first_of_word + n], sum[p][out]);
            }
          }
        }
      }
      PORTOPS_UNROLL
      for (int p = 0; p < own_pixels; ++p) shift[p] = next[p];
      if (++l == static_cast<std::int32_t>(kernel_width_.value())) {
        l = 0;
        ++k;
      }
    }
    PORTOPS_UNROLL
    for (int p = 0; p < own_pixels; ++p) write(lane, group, at[p], pixel[p] < all_pixels_, sum[p]);
  }

  /// The column's elements of a pack.
  KOKKOS_FORCEINLINE_FUNCTION static void blend(const SampleCorners<A, corners>& sample, const T* x, bool has_pack,
                                                A (&value)[N]) {
    Word<T, N> pixel[corners];
    PORTOPS_UNROLL
    for (int c = 0; c < corners; ++c) {
      pixel[c] = *reinterpret_cast<const Word<T, N>*>(in_device_memory(x + sample.offset[c]));
    }
    PORTOPS_UNROLL
    for (int n = 0; n < N; ++n) {
      A sum = sample.weight[0] * static_cast<A>(pixel[0][n]);
      PORTOPS_UNROLL
      for (int c = 1; c < corners; ++c) sum = Kokkos::fma(sample.weight[c], static_cast<A>(pixel[c][n]), sum);
      value[n] = !has_pack ? A(0) : sample.is_inside ? sum : sample.nothing;
    }
  }

  /// Adds the sums of the packs, of which each thread then has some output channels, and writes these.
  KOKKOS_FORCEINLINE_FUNCTION void write(int lane, std::int32_t group, const PixelPlace& at, bool exists,
                                         A (&sum)[own_outs]) const {
    std::int32_t first = 0;
    PORTOPS_UNROLL
    for (int distance = pack_lanes / 2, kept = own_outs / 2; distance > 0; distance /= 2, kept /= 2) {
      const bool upper = (lane & distance) != 0;
      first += upper ? kept : 0;
      PORTOPS_UNROLL
      for (int i = 0; i < kept; ++i) {
        const A own = upper ? sum[kept + i] : sum[i], other = upper ? sum[i] : sum[kept + i];
        sum[i] = own + of_other_lane(other, distance);
      }
    }
    if (!exists) return;
    const std::int32_t first_out = group * group_outs_ + first;
    T* const to = out_.data + out_.offset(at.image, first_out, at.i, at.j);
    PORTOPS_UNROLL
    for (int i = 0; i < kept_outs; i += width) {
      Word<T, width> word;
      PORTOPS_UNROLL
      for (int n = 0; n < width; ++n) {
        const bool is_out = first + i + n < group_outs_;
        const A bias = bias_ != nullptr && is_out ? static_cast<A>(bias_[(first_out + i + n) * bias_stride_]) : A(0);
        word.set(n, static_cast<T>(bias_ != nullptr ? sum[i + n] + bias : sum[i + n]));
        if (!writes_words_ && is_out) to[(i + n) * out_.stride[1]] = word[n];
      }
      if (writes_words_ && first + i < group_outs_) *reinterpret_cast<Word<T, width>*>(to + i) = word;
    }
  }

  PixelSamples<T> samples_;
  PixelsOfImages pixels_;
  Tensor32<const T> x_, weight_;
  Tensor32<T> out_;
  const T* bias_;
  std::int64_t bias_stride_;
  std::int64_t teams_;
  Divisor groups_, deformable_channels_, taps_, kernel_width_;
  std::int32_t all_pixels_, group_channels_, group_outs_, chunk_rounds_;
  bool writes_words_;
};

/// Calls action<N, own_outs, pack_lanes>() with the kernel's parameters, for 8 to 16 channels.
template <class T, class Action>
void with_taps_form(const Windows& windows, const Action& action) {
  const bool has_few = windows.group_channels() <= 8;
  const auto of_outs = [&]<int own_outs>() {
    if constexpr (sizeof(T) == 2) {
      if (taps_pack(windows, sizeof(T)) == 8) {
        return has_few ? action.template operator()<8, own_outs, 1>() : action.template operator()<8, own_outs, 2>();
      }
    }
    has_few ? action.template operator()<4, own_outs, 2>() : action.template operator()<4, own_outs, 4>();
  };
  windows.group_out_channels() <= 8 ? of_outs.template operator()<8>() : of_outs.template operator()<16>();
}

}  // namespace portops::impl
