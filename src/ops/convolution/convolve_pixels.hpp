// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/pixel_sampling.hpp"

#include <cstdint>

namespace portops::impl {

/// On GPUs, for windows of few products: out = bias + weight · columns, an item a pixel and N output channels, whose
/// sums are in registers. They are those of one group or, depthwise, of N groups with one each. Neighbouring items are
/// neighbouring pixels, which sample neighbouring places of x, or, depthwise with channels last, neighbouring groups.
/// Needs numbers of 32 bits: see fits_pixels().
template <class T, int N, bool depthwise, class Samples>
class ConvolvePixels {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  ConvolvePixels(const ImageStep& step, const Tensor4& weight, const Tensor4& out, const T* bias,
                 std::int64_t bias_stride)
      : samples_(step), x_(step.x), weight_(weight), out_(out), bias_(bias), bias_stride_(bias_stride) {
    const Windows& w = step.windows;
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    const auto divisor = [](std::int64_t number) { return Divisor(static_cast<std::uint32_t>(number)); };
    const std::int64_t parts = depthwise ? 1 : ceil_div(w.group_out_channels(), N);  // of a group
    const std::int64_t all_parts = depthwise ? ceil_div(w.out_channels, N) : w.groups * parts;
    items_ = w.images * all_parts * w.pixels();
    parts_first_ = depthwise && x_.stride[1] == 1 && out_.stride[1] == 1;
    pixels_ = divisor(w.pixels());
    out_width_ = divisor(w.out_width);
    parts_ = divisor(all_parts);
    group_parts_ = divisor(parts);
    deformable_channels_ = divisor(w.deformable_channels());
    group_channels_ = narrow(w.group_channels());
    out_channels_ = narrow(depthwise ? w.out_channels : w.group_out_channels());
    taps_ = narrow(w.taps());
    kernel_width_ = narrow(w.kernel_width);
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
    const std::uint32_t group = depthwise ? part * N : group_parts_.quotient(part);
    const auto first_of_group =
        static_cast<std::int32_t>(depthwise ? group : (part - group * group_parts_.value()) * N);
    const int count = out_channels_ - first_of_group < N ? out_channels_ - first_of_group : N;
    const std::int32_t first_out =
        depthwise ? first_of_group : static_cast<std::int32_t>(group) * out_channels_ + first_of_group;
    const std::int32_t first_channel = static_cast<std::int32_t>(group) * group_channels_;

    A sums[N] = {};
    add_windows(sums, at, first_channel, first_out, count);
    PORTOPS_UNROLL
    for (int n = 0; n < N; ++n) {
      if (n >= count) break;
      const std::int32_t m = first_out + n;
      if (bias_ != nullptr) sums[n] += static_cast<A>(bias_[m * bias_stride_]);
      out_.data[out_.offset(at.image, m, at.i, at.j)] = static_cast<T>(sums[n]);
    }
  }

 private:
  /// Adds the products of all taps. The next tap's sample is read while this one's channels are on their way.
  KOKKOS_FUNCTION void add_windows(A (&sums)[N], const PixelPlace& at, std::int32_t first_channel,
                                   std::int32_t first_out, int count) const {
    const auto first_deformable = static_cast<std::int32_t>(deformable_channels_.quotient(first_channel));
    const std::int32_t first_sample = first_deformable * taps_;
    const T* const x = x_.data + x_.offset(at.image, first_channel, 0, 0);
    // Channels of the first deformable group from first_channel on.
    const std::int32_t of_first =
        (first_deformable + 1) * static_cast<std::int32_t>(deformable_channels_.value()) - first_channel;
    auto shift = samples_.read(at, first_sample);
    std::int32_t k = 0, l = 0;
    for (std::int32_t tap = 0; tap < taps_; ++tap) {
      const auto next = samples_.read(at, first_sample + (tap + 1 < taps_ ? tap + 1 : tap));
      auto sample = samples_.find(at, k, l, shift, x_);
      std::int32_t sample_number = first_sample + tap, left = of_first;
      const T* channel = x;
      // Of the next channel, perhaps of the next deformable group.
      const auto value = [&] {
        if (left == 0) {
          sample_number += taps_;
          left = static_cast<std::int32_t>(deformable_channels_.value());
          sample = samples_.find(at, k, l, samples_.read(at, sample_number), x_);
        }
        --left;
        const A result = sample.value(channel);
        channel += x_.stride[1];
        return result;
      };
      const T* weight = weight_.data + weight_.offset(first_out, 0, k, l);
      if constexpr (depthwise) {
        PORTOPS_UNROLL
        for (int n = 0; n < N; ++n) {
          if (n >= count) break;
          for (std::int32_t c = 0; c < group_channels_; ++c) {
            const A factor = static_cast<A>(weight[n * weight_.stride[0] + c * weight_.stride[1]]);
            sums[n] = Kokkos::fma(factor, value(), sums[n]);
          }
        }
      } else {
        for (std::int32_t c = 0; c < group_channels_; ++c, weight += weight_.stride[1]) {
          const A of_channel = value();
          PORTOPS_UNROLL
          for (int n = 0; n < N; ++n) {
            if (n < count) {
              sums[n] = Kokkos::fma(static_cast<A>(weight[n * weight_.stride[0]]), of_channel, sums[n]);
            }
          }
        }
      }
      shift = next;
      if (++l == kernel_width_) {
        l = 0;
        ++k;
      }
    }
  }

  Samples samples_;
  Tensor32<const T> x_, weight_;
  Tensor32<T> out_;
  const T* bias_;
  std::int64_t bias_stride_;
  std::int64_t items_;
  bool parts_first_;
  Divisor pixels_, out_width_, parts_, group_parts_, deformable_channels_;
  std::int32_t group_channels_, out_channels_;  ///< the latter of a group or, depthwise, of all
  std::int32_t taps_, kernel_width_;
};

}  // namespace portops::impl
