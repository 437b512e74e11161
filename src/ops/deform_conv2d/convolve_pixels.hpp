// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/deform_conv2d/sampling.hpp"

#include <cstdint>

namespace portops::impl {

/// On GPUs, for windows of few products: out = bias + weight · columns, an item a pixel and N output channels, whose
/// sums are in registers. They are those of one group or, depthwise, of N groups with one each. Neighbouring items are
/// neighbouring pixels, which sample neighbouring places of x, wherever it lies.
template <class T, int N, bool depthwise>
class ConvolvePixels {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  ConvolvePixels(const ImageStep& step, const Tensor4& weight, const Tensor4& out, const T* bias,
                 std::int64_t bias_stride)
      : windows_(step.windows),
        sampler_(step.windows, step.offset, step.mask),
        x_(step.x),
        weight_(weight),
        out_(out),
        bias_(bias),
        bias_stride_(bias_stride),
        group_parts_(depthwise ? 1 : ceil_div(windows_.group_out_channels(), N)),
        parts_(depthwise ? ceil_div(windows_.out_channels, N) : windows_.groups * group_parts_) {}

  std::int64_t items() const { return windows_.images * parts_ * windows_.pixels(); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t row = quotient(index, windows_.pixels());
    const std::int64_t pixel = index - row * windows_.pixels();
    const std::int64_t i = quotient(pixel, windows_.out_width), j = pixel - i * windows_.out_width;
    const std::int64_t image = quotient(row, parts_), part = row - image * parts_;
    A sums[N] = {};
    Channels channels{};
    if constexpr (depthwise) {
      channels = {part * N, part * N, windows_.out_channels - part * N};
    } else {
      const std::int64_t group = quotient(part, group_parts_), in_group = (part - group * group_parts_) * N;
      const std::int64_t of_group = windows_.group_out_channels();
      channels = {group, group * of_group + in_group, of_group - in_group};
    }
    for (std::int64_t k = 0; k < windows_.kernel_height; ++k) {
      for (std::int64_t l = 0; l < windows_.kernel_width; ++l) add_tap(sums, channels, image, i, j, k, l);
    }
    PORTOPS_UNROLL
    for (int n = 0; n < N; ++n) {
      if (n >= channels.count) break;
      const std::int64_t m = channels.first_out + n;
      if (bias_ != nullptr) sums[n] += static_cast<A>(bias_[m * bias_stride_]);
      static_cast<T*>(out_.data)[out_.offset(image, m, i, j)] = static_cast<T>(sums[n]);
    }
  }

 private:
  /// What an item computes.
  struct Channels {
    std::int64_t group;      ///< the first one
    std::int64_t first_out;  ///< the first output channel, of all
    std::int64_t count;      ///< how many there are from it on, perhaps more than N
  };

  /// A sample of a deformable group, which gives the values of its channels.
  class Reader {
   public:
    KOKKOS_FUNCTION Reader(const Tensor4& x, const Sample<A>& sample)
        : channel_(x.stride[1]),
          outside_(sample.is_outside()),
          nothing_(sample.factor * (sample.is_nan ? Kokkos::Experimental::quiet_NaN_v<A> : A(0))) {
      sample.weights(weight_);
      PORTOPS_UNROLL
      for (int k = 0; k < corners; ++k) {
        weight_[k] *= sample.factor;
        corner_[k] = static_cast<const T*>(x.data) + sample.offset({x.stride[0], x.stride[2], x.stride[3]}, k);
      }
    }
    KOKKOS_FUNCTION A operator()(std::int64_t channel) const {
      if (outside_) return nothing_;
      A value = weight_[0] * static_cast<A>(corner_[0][channel * channel_]);
      PORTOPS_UNROLL
      for (int k = 1; k < corners; ++k) {
        value = Kokkos::fma(weight_[k], static_cast<A>(corner_[k][channel * channel_]), value);
      }
      return value;
    }

   private:
    std::int64_t channel_;
    bool outside_;
    A nothing_;
    A weight_[corners];
    const T* corner_[corners];
  };

  KOKKOS_FUNCTION Reader reader(std::int64_t image, std::int64_t i, std::int64_t j, std::int64_t deformable_group,
                                std::int64_t k, std::int64_t l) const {
    return Reader(x_, sampler_.sample(sampler_.position(image, i, j, deformable_group, k, l)));
  }

  KOKKOS_FUNCTION A weight(std::int64_t out_channel, std::int64_t channel, std::int64_t k, std::int64_t l) const {
    return static_cast<A>(static_cast<const T*>(weight_.data)[weight_.offset(out_channel, channel, k, l)]);
  }

  /// Adds the products of a tap. Channels that follow each other are often of one deformable group.
  KOKKOS_FUNCTION void add_tap(A (&sums)[N], const Channels& channels, std::int64_t image, std::int64_t i,
                               std::int64_t j, std::int64_t k, std::int64_t l) const {
    const std::int64_t of_group = windows_.group_channels(), of_deformable_group = windows_.deformable_channels();
    std::int64_t found = quotient(channels.group * of_group, of_deformable_group);
    Reader value = reader(image, i, j, found, k, l);
    const auto value_of = [&](std::int64_t channel) {
      const std::int64_t wanted = quotient(channel, of_deformable_group);
      if (wanted != found) {
        value = reader(image, i, j, wanted, k, l);
        found = wanted;
      }
      return value(channel);
    };
    if constexpr (depthwise) {
      PORTOPS_UNROLL
      for (int n = 0; n < N; ++n) {
        if (n >= channels.count) break;
        for (std::int64_t c = 0; c < of_group; ++c) {
          sums[n] = Kokkos::fma(weight(channels.first_out + n, c, k, l), value_of((channels.group + n) * of_group + c),
                                sums[n]);
        }
      }
    } else {
      for (std::int64_t c = 0; c < of_group; ++c) {
        const A of_channel = value_of(channels.group * of_group + c);
        PORTOPS_UNROLL
        for (int n = 0; n < N; ++n) {
          if (n < channels.count) sums[n] = Kokkos::fma(weight(channels.first_out + n, c, k, l), of_channel, sums[n]);
        }
      }
    }
  }

  Windows windows_;
  Sampler<T, A> sampler_;
  Tensor4 x_, weight_, out_;
  const T* bias_;
  std::int64_t bias_stride_;
  std::int64_t group_parts_, parts_;  ///< of a group, and of an image
};

}  // namespace portops::impl
