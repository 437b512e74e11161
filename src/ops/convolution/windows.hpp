// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/types/macros.hpp"

#include <cstdint>
#include <numeric>

// The geometry of a convolution, on host and device. Nothing here knows Kokkos.

namespace portops::impl {

/// A tensor of four axes as kernels see it. Strides are in elements.
struct Tensor4 {
  void* data = nullptr;
  std::int64_t stride[4] = {};

  /// Where an element lies.
  PORTOPS_FUNCTION std::int64_t offset(std::int64_t image, std::int64_t channel, std::int64_t y, std::int64_t x) const {
    return image * stride[0] + channel * stride[1] + y * stride[2] + x * stride[3];
  }
};

/// What a call of a convolution or its gradient says with numbers alone.
struct Windows {
  std::int64_t images = 0, channels = 0, height = 0, width = 0;
  std::int64_t out_channels = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_height = 0, kernel_width = 0;
  std::int64_t stride_y = 1, stride_x = 1;
  std::int64_t top = 0, left = 0;  ///< padding; negative where windows begin inside of x
  std::int64_t dilation_y = 1, dilation_x = 1;
  std::int64_t groups = 1;
  std::int64_t deformable_groups = 1;  ///< 1 where nothing is deformed

  PORTOPS_FUNCTION std::int64_t taps() const { return kernel_height * kernel_width; }
  /// Of an image of `out`.
  PORTOPS_FUNCTION std::int64_t pixels() const { return out_height * out_width; }
  /// Of an image of x.
  PORTOPS_FUNCTION std::int64_t area() const { return height * width; }
  /// Positions at which a pixel of `out` samples x, each for the channels of a deformable group.
  PORTOPS_FUNCTION std::int64_t samples() const { return deformable_groups * taps(); }
  PORTOPS_FUNCTION std::int64_t group_channels() const { return channels / groups; }
  PORTOPS_FUNCTION std::int64_t deformable_channels() const { return channels / deformable_groups; }
  /// Those of all pixels of all images.
  PORTOPS_FUNCTION std::int64_t all_samples() const { return images * pixels() * samples(); }
  /// Neighbouring channels that belong to one group and one deformable group, however these divide them.
  std::int64_t channel_run() const { return std::gcd(group_channels(), deformable_channels()); }
  PORTOPS_FUNCTION std::int64_t group_out_channels() const { return out_channels / groups; }
  /// Elements of a group's window: the inner extent of the product.
  PORTOPS_FUNCTION std::int64_t group_column() const { return taps() * group_channels(); }
  /// Elements of a whole window: those of its groups, one after the other, each tap by tap, channels fastest.
  PORTOPS_FUNCTION std::int64_t column() const { return taps() * channels; }
};

/// Whether the positions of all taps have numbers of 32 bits.
inline bool has_narrow_positions(const Windows& w) {
  constexpr std::int64_t most = INT32_MAX;
  return w.top <= most && w.left <= most &&
         (w.out_height - 1) * w.stride_y + (w.kernel_height - 1) * w.dilation_y <= most &&
         (w.out_width - 1) * w.stride_x + (w.kernel_width - 1) * w.dilation_x <= most;
}

/// x, or a tensor like it, with neighbouring channels at neighbouring addresses: where its pixels lie, in elements.
struct PixelStrides {
  std::int64_t image, y, x;
};

inline PixelStrides pixel_strides(const Tensor4& x) { return {x.stride[0], x.stride[2], x.stride[3]}; }

/// Those of a tensor like x without gaps.
PORTOPS_FUNCTION PixelStrides dense_strides(const Windows& windows) {
  return {windows.area() * windows.channels, windows.width * windows.channels, windows.channels};
}

/// One of the samples of a step: pixel of `out`, deformable group and tap.
struct SampleIndex {
  std::int64_t image;  ///< of the step
  std::int64_t pixel;  ///< of the image
  std::int64_t deformable_group;
  std::int64_t tap;
};

/// Samples are counted with the taps fastest, then deformable groups, pixels and images.
PORTOPS_FUNCTION SampleIndex sample_index(const Windows& windows, std::int64_t index) {
  const std::int64_t row = quotient(index, windows.samples());
  const std::int64_t of_pixel = index - row * windows.samples();
  const std::int64_t group = quotient(of_pixel, windows.taps());
  const std::int64_t image = quotient(row, windows.pixels());
  return {image, row - image * windows.pixels(), group, of_pixel - group * windows.taps()};
}

/// The number of a sample: the inverse of sample_index.
PORTOPS_FUNCTION std::int64_t sample_number(const Windows& windows, const SampleIndex& at) {
  return (at.image * windows.pixels() + at.pixel) * windows.samples() + at.deformable_group * windows.taps() + at.tap;
}

/// Where the column of a sample's first group begins in the columns.
PORTOPS_FUNCTION std::int64_t column_offset(const Windows& windows, const SampleIndex& at) {
  return (at.image * windows.pixels() + at.pixel) * windows.column() + at.tap * windows.group_channels();
}

}  // namespace portops::impl
