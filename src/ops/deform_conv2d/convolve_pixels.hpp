// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/deform_conv2d/sampling.hpp"

#include <cstdint>

namespace portops::impl {

/// On GPUs, for windows of few products: out = bias + weight · columns, an item a pixel and N output channels, whose
/// sums are in registers. They are those of one group or, depthwise, of N groups with one each. Neighbouring items are
/// neighbouring pixels, which sample neighbouring places of x, wherever it lies. Needs numbers of 32 bits: see
/// fits_pixels().
template <class T, int N, bool depthwise>
class ConvolvePixels {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  ConvolvePixels(const ImageStep& step, const Tensor4& weight, const Tensor4& out, const T* bias,
                 std::int64_t bias_stride)
      : x_(step.x),
        offset_(step.offset),
        mask_(step.mask),
        weight_(weight),
        out_(out),
        bias_(bias),
        bias_stride_(bias_stride) {
    const Windows& w = step.windows;
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    const auto divisor = [](std::int64_t number) { return Divisor(static_cast<std::uint32_t>(number)); };
    const std::int64_t parts = depthwise ? 1 : ceil_div(w.group_out_channels(), N);  // of a group
    const std::int64_t all_parts = depthwise ? ceil_div(w.out_channels, N) : w.groups * parts;
    items_ = w.images * all_parts * w.pixels();
    pixels_ = divisor(w.pixels());
    out_width_ = divisor(w.out_width);
    parts_ = divisor(all_parts);
    group_parts_ = divisor(parts);
    deformable_channels_ = divisor(w.deformable_channels());
    group_channels_ = narrow(w.group_channels());
    out_channels_ = narrow(depthwise ? w.out_channels : w.group_out_channels());
    height_ = narrow(w.height);
    width_ = narrow(w.width);
    taps_ = narrow(w.taps());
    kernel_width_ = narrow(w.kernel_width);
    stride_y_ = narrow(w.stride_y);
    stride_x_ = narrow(w.stride_x);
    top_ = narrow(w.top);
    left_ = narrow(w.left);
    dilation_y_ = narrow(w.kernel_height > 1 ? w.dilation_y : 0);
    dilation_x_ = narrow(w.kernel_width > 1 ? w.dilation_x : 0);
  }

  std::int64_t items() const { return items_; }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const auto item = static_cast<std::uint32_t>(index);
    const std::uint32_t row = pixels_.quotient(item), pixel = item - row * pixels_.value();
    Place at{};
    at.image = static_cast<std::int32_t>(parts_.quotient(row));
    at.i = static_cast<std::int32_t>(out_width_.quotient(pixel));
    at.j = static_cast<std::int32_t>(pixel - at.i * out_width_.value());
    const std::uint32_t part = row - at.image * parts_.value();
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
  /// A tensor whose elements have numbers of 32 bits.
  template <class E>
  struct Tensor32 {
    E* data;
    std::int32_t stride[4];

    explicit Tensor32(const Tensor4& tensor) : data(static_cast<E*>(tensor.data)) {
      for (int axis = 0; axis < 4; ++axis) stride[axis] = static_cast<std::int32_t>(tensor.stride[axis]);
    }
    KOKKOS_FUNCTION std::int32_t offset(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) const {
      return a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
    }
  };

  /// A pixel of out.
  struct Place {
    std::int32_t image, i, j;
  };

  /// What is read for a sample: the offset, and the mask's factor.
  struct Shift {
    A down, right, factor;
  };

  /// A sample, without its channel.
  struct Corners {
    std::int32_t offset[corners];  ///< of a corner that does not exist, that of another
    A weight[corners];             ///< 0 for one that does not exist
    A nothing;                     ///< what a sample outside of the image is
    bool is_inside;

    KOKKOS_FUNCTION A value(const T* x) const {
      A value = weight[0] * static_cast<A>(x[offset[0]]);
      PORTOPS_UNROLL
      for (int k = 1; k < corners; ++k) value = Kokkos::fma(weight[k], static_cast<A>(x[offset[k]]), value);
      return is_inside ? value : nothing;
    }
  };

  KOKKOS_FUNCTION Shift read(const Place& at, std::int32_t sample) const {
    const T* const offset = offset_.data + offset_.offset(at.image, 2 * sample, at.i, at.j);
    return {static_cast<A>(offset[0]), static_cast<A>(offset[offset_.stride[1]]),
            mask_.data == nullptr ? A(1) : static_cast<A>(mask_.data[mask_.offset(at.image, sample, at.i, at.j)])};
  }

  /// The sample at tap (k, l), so far from it.
  KOKKOS_FUNCTION Corners find(const Place& at, std::int32_t k, std::int32_t l, const Shift& shift) const {
    const A v = static_cast<A>(at.i * stride_y_ - top_ + k * dilation_y_) + shift.down;
    const A u = static_cast<A>(at.j * stride_x_ - left_ + l * dilation_x_) + shift.right;
    Corners found;
    found.is_inside = v > A(-1) && v < static_cast<A>(height_) && u > A(-1) && u < static_cast<A>(width_);
    found.nothing = shift.factor * (v != v || u != u ? Kokkos::Experimental::quiet_NaN_v<A> : A(0));
    // What is read for a sample outside does not count.
    const A inside_v = found.is_inside ? v : A(0), inside_u = found.is_inside ? u : A(0);
    const A floor_v = Kokkos::floor(inside_v), floor_u = Kokkos::floor(inside_u);
    const auto y = static_cast<std::int32_t>(floor_v), x = static_cast<std::int32_t>(floor_u);
    const A down = inside_v - floor_v, right = inside_u - floor_u;
    const bool above = y >= 0, below = y + 1 < height_, left = x >= 0, after = x + 1 < width_;
    const A of_row[2] = {above ? A(1) - down : A(0), below ? down : A(0)};
    const A of_column[2] = {left ? A(1) - right : A(0), after ? right : A(0)};
    const std::int32_t rows[2] = {(above ? y : 0) * x_.stride[2], (below ? y + 1 : y) * x_.stride[2]};
    const std::int32_t columns[2] = {(left ? x : 0) * x_.stride[3], (after ? x + 1 : x) * x_.stride[3]};
    PORTOPS_UNROLL
    for (int c = 0; c < corners; ++c) {
      found.offset[c] = rows[c / 2] + columns[c % 2];
      found.weight[c] = of_row[c / 2] * of_column[c % 2] * shift.factor;
    }
    return found;
  }

  /// Adds the products of all taps. The next tap's sample is read while this one's channels are on their way.
  KOKKOS_FUNCTION void add_windows(A (&sums)[N], const Place& at, std::int32_t first_channel, std::int32_t first_out,
                                   int count) const {
    const auto first_deformable = static_cast<std::int32_t>(deformable_channels_.quotient(first_channel));
    const std::int32_t first_sample = first_deformable * taps_;
    const T* const x = x_.data + x_.offset(at.image, first_channel, 0, 0);
    // Channels of the first deformable group from first_channel on.
    const std::int32_t of_first =
        (first_deformable + 1) * static_cast<std::int32_t>(deformable_channels_.value()) - first_channel;
    Shift shift = read(at, first_sample);
    std::int32_t k = 0, l = 0;
    for (std::int32_t tap = 0; tap < taps_; ++tap) {
      const Shift next = read(at, first_sample + (tap + 1 < taps_ ? tap + 1 : tap));
      Corners sample = find(at, k, l, shift);
      std::int32_t sample_number = first_sample + tap, left = of_first;
      const T* channel = x;
      // Of the next channel, perhaps of the next deformable group.
      const auto value = [&] {
        if (left == 0) {
          sample_number += taps_;
          left = static_cast<std::int32_t>(deformable_channels_.value());
          sample = find(at, k, l, read(at, sample_number));
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

  Tensor32<const T> x_, offset_, mask_, weight_;
  Tensor32<T> out_;
  const T* bias_;
  std::int64_t bias_stride_;
  std::int64_t items_;
  Divisor pixels_, out_width_, parts_, group_parts_, deformable_channels_;
  std::int32_t group_channels_, out_channels_;  ///< the latter of a group or, depthwise, of all
  std::int32_t height_, width_;                 ///< of x
  std::int32_t taps_, kernel_width_, stride_y_, stride_x_, top_, left_, dilation_y_, dilation_x_;
};

}  // namespace portops::impl
