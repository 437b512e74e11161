// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/other_lane.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/pixel_sampling.hpp"

#include <cstdint>

namespace portops::impl {

/// The windows of pixels, whose elements are sampled tap by tap. Needs numbers of 32 bits: see fits_pixels().
template <class T, class Samples>
class PixelWindows {
 public:
  using A = Arithmetic<T>;

  explicit PixelWindows(const ImageStep& step)
      : samples_(step),
        x_(step.x),
        deformable_channels_(static_cast<std::uint32_t>(step.windows.deformable_channels())),
        taps_(static_cast<std::int32_t>(step.windows.taps())),
        kernel_width_(static_cast<std::int32_t>(step.windows.kernel_width)) {}

  const Tensor32<const T>& x() const { return x_; }

  /// Calls action(k, l, value) for each tap; value(samples) is those of the pixels in the channel `first_channel`, then
  /// in the next ones. The next tap's places are read while this one's channels are on their way.
  template <int pixels, class Action>
  KOKKOS_FORCEINLINE_FUNCTION void for_taps(const PixelPlace (&at)[pixels], std::int32_t first_channel,
                                            const Action& action) const {
    using Shift = decltype(samples_.read(at[0], 0));
    using Sample = decltype(samples_.find(at[0], 0, 0, Shift(), x_));
    const auto first_deformable = static_cast<std::int32_t>(deformable_channels_.quotient(first_channel));
    const std::int32_t first_sample = first_deformable * taps_;
    // Channels of the first deformable group from first_channel on.
    const std::int32_t of_first =
        (first_deformable + 1) * static_cast<std::int32_t>(deformable_channels_.value()) - first_channel;
    Shift shift[pixels];
    const auto read = [&](Shift(&to)[pixels], std::int32_t sample) {
      PORTOPS_UNROLL
      for (int p = 0; p < pixels; ++p) to[p] = samples_.read(at[p], sample);
    };
    read(shift, first_sample);
    std::int32_t k = 0, l = 0;
    for (std::int32_t tap = 0; tap < taps_; ++tap) {
      Shift next[pixels];
      read(next, first_sample + (tap + 1 < taps_ ? tap + 1 : tap));
      Sample sample[pixels];
      const T* channel[pixels];
      PORTOPS_UNROLL
      for (int p = 0; p < pixels; ++p) {
        sample[p] = samples_.find(at[p], k, l, shift[p], x_);
        channel[p] = x_.data + x_.offset(at[p].image, first_channel, 0, 0);
      }
      std::int32_t sample_number = first_sample + tap, left = of_first;
      // Of the next channel, perhaps of the next deformable group.
      action(k, l, [&](A(&samples)[pixels]) {
        if (left == 0) {
          sample_number += taps_;
          left = static_cast<std::int32_t>(deformable_channels_.value());
          PORTOPS_UNROLL
          for (int p = 0; p < pixels; ++p) {
            sample[p] = samples_.find(at[p], k, l, samples_.read(at[p], sample_number), x_);
          }
        }
        --left;
        PORTOPS_UNROLL
        for (int p = 0; p < pixels; ++p) {
          samples[p] = sample[p].value(channel[p]);
          channel[p] += x_.stride[1];
        }
      });
      PORTOPS_UNROLL
      for (int p = 0; p < pixels; ++p) shift[p] = next[p];
      if (++l == kernel_width_) {
        l = 0;
        ++k;
      }
    }
  }

 private:
  Samples samples_;
  Tensor32<const T> x_;
  Divisor deformable_channels_;
  std::int32_t taps_, kernel_width_;
};

/// On GPUs, for windows of few products: out = bias + weight · columns. A team takes some pixels and up to N output
/// channels of a group, whose weight it stages in scratch; a thread has the sums of one or two pixels in registers.
/// Neighbouring threads are neighbouring pixels.
template <Backend B, class T, int N, class Samples>
class ConvolvePixels {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 128;
  static constexpr int blocks = 2;
  std::int64_t first_team = 0;

  ConvolvePixels(const ImageStep& step, const Tensor4& weight, const ConvolutionOut& to)
      : windows_(step),
        pixels_(step.windows),
        weight_(weight),
        out_(to.out),
        bias_(static_cast<const T*>(to.bias)),
        bias_stride_(to.bias_stride) {
    const Windows& w = step.windows;
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    const auto divisor = [](std::int64_t number) { return Divisor(static_cast<std::uint32_t>(number)); };
    all_pixels_ = w.images * w.pixels();
    parts_ = w.groups * ceil_div(w.group_out_channels(), N);
    by_parts_ = divisor(parts_);
    by_group_parts_ = divisor(parts_ / w.groups);
    group_channels_ = narrow(w.group_channels());
    group_out_channels_ = narrow(w.group_out_channels());
    taps_ = narrow(w.taps());
    kernel_width_ = divisor(w.kernel_width);
    by_group_channels_ = divisor(w.group_channels());
    has_packs_ = w.group_out_channels() % width == 0 && has_channel_packs<T>(to.out, width);
  }

  std::int64_t teams() const { return parts_ * ceil_div(all_pixels_, threads * own_pixels); }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(taps_) * static_cast<std::size_t>(group_channels_) * N * sizeof(A);
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto index = static_cast<std::uint32_t>(first_team + team.league_rank());
    const std::uint32_t block = by_parts_.quotient(index), part = index - block * by_parts_.value();
    const std::uint32_t group = by_group_parts_.quotient(part);
    const auto in_group = static_cast<std::int32_t>(part - group * by_group_parts_.value()) * N;
    const std::int32_t count = group_out_channels_ - in_group < N ? group_out_channels_ - in_group : N;
    const std::int32_t first_out = static_cast<std::int32_t>(group) * group_out_channels_ + in_group;
    A* const weight = scratch_of<A>(team);
    stage(team, first_out, count, weight);
    team.team_barrier();
    std::int64_t left[own_pixels];  // pixels, from each of the thread's on
    PixelPlace at[own_pixels];
    PORTOPS_UNROLL
    for (int p = 0; p < own_pixels; ++p) {
      const std::int64_t pixel = (std::int64_t{block} * own_pixels + p) * threads + team.team_rank();
      left[p] = all_pixels_ - pixel;
      at[p] = pixels_(left[p] > 0 ? pixel : all_pixels_ - 1);
    }
    A sums[own_pixels][N] = {};
    const Factors* factors = reinterpret_cast<const Factors*>(weight);
    windows_.for_taps(at, static_cast<std::int32_t>(group) * group_channels_,
                      [&](std::int32_t /*k*/, std::int32_t /*l*/, const auto& value) {
                        for (std::int32_t c = 0; c < group_channels_; ++c, factors += N / some_factors) {
                          A samples[own_pixels];
                          value(samples);
                          PORTOPS_UNROLL
                          for (int n = 0; n < N; ++n) {
                            const A factor = factors[n / some_factors][n % some_factors];
                            PORTOPS_UNROLL
                            for (int p = 0; p < own_pixels; ++p)
                              sums[p][n] = Kokkos::fma(factor, samples[p], sums[p][n]);
                          }
                        }
                      });
    PORTOPS_UNROLL
    for (int p = 0; p < own_pixels; ++p) write(team.team_rank(), at[p], left[p], first_out, count, sums[p]);
  }

 private:
  /// Of a thread, which share what it reads of the weight.
  static constexpr int own_pixels = N == 32 && sizeof(A) == 4 ? 2 : 1;
  /// What a thread reads of the weight at once: scratch is aligned to no more.
  static constexpr int some_factors = 8 / static_cast<int>(sizeof(A));
  using Factors = Word<A, some_factors>;
  /// What it writes at once where output channels are neighbours.
  static constexpr int width = N * sizeof(T) < 16 ? N : 16 / static_cast<int>(sizeof(T)), words = N / width;
  using Outs = Word<T, width>;

  /// Element by element of windows, tap by tap, those of the output channels; zeros beyond these.
  KOKKOS_FORCEINLINE_FUNCTION void stage(const Team& team, std::int32_t first_out, std::int32_t count, A* to) const {
    const std::int32_t all = taps_ * group_channels_ * N;
    for (std::int32_t i = team.team_rank(); i < all; i += threads) {
      const std::int32_t element = i / N, n = i - element * N;
      const auto tap = static_cast<std::int32_t>(by_group_channels_.quotient(element));
      const auto k = static_cast<std::int32_t>(kernel_width_.quotient(tap));
      const std::int32_t c = element - tap * group_channels_;
      const std::int32_t l = tap - k * static_cast<std::int32_t>(kernel_width_.value());
      to[i] = n < count ? static_cast<A>(weight_.data[weight_.offset(first_out + n, c, k, l)]) : A(0);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(int thread, const PixelPlace& at, std::int64_t left, std::int32_t first_out,
                                         std::int32_t count, A (&sums)[N]) const {
    if (bias_ != nullptr) {
      PORTOPS_UNROLL
      for (int n = 0; n < N; ++n) {
        if (n < count) sums[n] += static_cast<A>(bias_[(first_out + n) * bias_stride_]);
      }
    }
    const std::int32_t offset = out_.offset(at.image, first_out, at.i, at.j);
    if (has_packs_) {
      return count == N ? write_packs<true>(thread, left, offset, N, sums)
                        : write_packs<false>(thread, left, offset, count, sums);
    }
    if (left <= 0) return;
    PORTOPS_UNROLL
    for (int n = 0; n < N; ++n) {
      if (n < count) out_.data[offset + n * out_.stride[1]] = static_cast<T>(sums[n]);
    }
  }

  /// Of pixels of which there are `left` from this thread's on. Two threads write neighbouring words of the pixel of
  /// the first of them, then of the second: memory takes 32 bytes at once. `all`: N output channels, or the first
  /// `count`.
  template <bool all>
  KOKKOS_FORCEINLINE_FUNCTION void write_packs(int thread, std::int64_t left, std::int32_t offset, std::int32_t count,
                                               const A (&sums)[N]) const {
    Outs word[words];
    PORTOPS_UNROLL
    for (int n = 0; n < N; ++n) word[n / width].set(n % width, static_cast<T>(sums[n]));
    const auto write_word = [&](std::int32_t of_pixel, int number, const Outs& what) {
      if (all || number * width < count) *reinterpret_cast<Outs*>(out_.data + of_pixel + number * width) = what;
    };
    if constexpr (words == 1) {
      if (left > 0) write_word(offset, 0, word[0]);
    } else {
      const int second = thread & 1;
      const std::int32_t other = of_other_lane(offset, 1);
      const std::int32_t of_first = second != 0 ? other : offset, of_second = second != 0 ? offset : other;
      left += second;  // from the first one's on
      PORTOPS_UNROLL
      for (int i = 0; i < words; i += 2) {
        const Outs own = second != 0 ? word[i + 1] : word[i];
        const Outs received = of_other(second != 0 ? word[i] : word[i + 1]);
        if (left > 0) write_word(of_first, i + second, second != 0 ? received : own);
        if (left > 1) write_word(of_second, i + second, second != 0 ? own : received);
      }
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static Outs of_other(const Outs& word) {
    struct Bits {
      std::uint32_t part[sizeof(Outs) / 4];
    };
    auto bits = Kokkos::bit_cast<Bits>(word);
    PORTOPS_UNROLL
    for (std::uint32_t& part : bits.part) part = of_other_lane(part, 1);
    return Kokkos::bit_cast<Outs>(bits);
  }

  PixelWindows<T, Samples> windows_;
  PixelsOfImages pixels_;
  Tensor32<const T> weight_;
  Tensor32<T> out_;
  const T* bias_;
  std::int64_t bias_stride_;
  std::int64_t all_pixels_, parts_;
  Divisor by_parts_, by_group_parts_, by_group_channels_, kernel_width_;
  std::int32_t group_channels_, group_out_channels_, taps_;
  bool has_packs_;
};

/// The same depthwise: an item is a pixel and N groups, with an output channel each. Neighbouring items are
/// neighbouring pixels or, with channels last, neighbouring groups.
template <class T, int N, class Samples>
class ConvolveDepthwisePixels {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  ConvolveDepthwisePixels(const ImageStep& step, const Tensor4& weight, const ConvolutionOut& to)
      : windows_(step),
        weight_(weight),
        out_(to.out),
        bias_(static_cast<const T*>(to.bias)),
        bias_stride_(to.bias_stride) {
    const Windows& w = step.windows;
    const auto divisor = [](std::int64_t number) { return Divisor(static_cast<std::uint32_t>(number)); };
    const std::int64_t parts = ceil_div(w.out_channels, N);
    items_ = w.images * parts * w.pixels();
    parts_first_ = windows_.x().stride[1] == 1 && out_.stride[1] == 1;
    pixels_ = divisor(w.pixels());
    out_width_ = divisor(w.out_width);
    parts_ = divisor(parts);
    group_channels_ = static_cast<std::int32_t>(w.group_channels());
    out_channels_ = static_cast<std::int32_t>(w.out_channels);
  }

  std::int64_t items() const { return items_; }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const auto item = static_cast<std::uint32_t>(index);
    const Divisor& fastest = parts_first_ ? parts_ : pixels_;
    const Divisor& next = parts_first_ ? pixels_ : parts_;
    const std::uint32_t row = fastest.quotient(item), in_row = item - row * fastest.value();
    const std::uint32_t image = next.quotient(row), in_image = row - image * next.value();
    const std::uint32_t part = parts_first_ ? in_row : in_image, pixel = parts_first_ ? in_image : in_row;
    PixelPlace at{};
    at.image = static_cast<std::int32_t>(image);
    at.i = static_cast<std::int32_t>(out_width_.quotient(pixel));
    at.j = static_cast<std::int32_t>(pixel - at.i * out_width_.value());
    const auto first_out = static_cast<std::int32_t>(part) * N;
    const int count = out_channels_ - first_out < N ? out_channels_ - first_out : N;

    A sums[N] = {};
    const PixelPlace places[] = {at};
    windows_.for_taps(places, first_out * group_channels_, [&](std::int32_t k, std::int32_t l, const auto& value) {
      const T* const weight = weight_.data + weight_.offset(first_out, 0, k, l);
      PORTOPS_UNROLL
      for (int n = 0; n < N; ++n) {
        if (n >= count) break;
        for (std::int32_t c = 0; c < group_channels_; ++c) {
          const A factor = static_cast<A>(weight[n * weight_.stride[0] + c * weight_.stride[1]]);
          A sample[1];
          value(sample);
          sums[n] = Kokkos::fma(factor, sample[0], sums[n]);
        }
      }
    });
    PORTOPS_UNROLL
    for (int n = 0; n < N; ++n) {
      if (n >= count) break;
      const std::int32_t m = first_out + n;
      if (bias_ != nullptr) sums[n] += static_cast<A>(bias_[m * bias_stride_]);
      out_.data[out_.offset(at.image, m, at.i, at.j)] = static_cast<T>(sums[n]);
    }
  }

 private:
  PixelWindows<T, Samples> windows_;
  Tensor32<const T> weight_;
  Tensor32<T> out_;
  const T* bias_;
  std::int64_t bias_stride_;
  std::int64_t items_;
  bool parts_first_;
  Divisor pixels_, out_width_, parts_;
  std::int32_t group_channels_, out_channels_;
};

}  // namespace portops::impl
