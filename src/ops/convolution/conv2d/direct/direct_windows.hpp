// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

// Direct convolution on hosts: a thread has the pixels of x that a tile of `out` needs in a core's cache, each of them
// once for a row of taps, and its products read them there, tap by tap, where the windows have them.

namespace portops::impl {

/// A convolution as the direct kernels take it.
struct DirectCall {
  Windows windows;
  Tensor4 x, out;  ///< `out`, or a tensor of its extents

  /// The same call with fewer numbers: pixels of x between windows of one pixel are skipped by strides, and images of
  /// which each pixel is a window are one row where they lie as one.
  DirectCall reduced() const {
    DirectCall call = *this;
    Windows& w = call.windows;
    if (w.kernel_height == 1 && w.top == 0 && (w.out_height - 1) * w.stride_y < w.height) {
      call.x.stride[2] *= w.stride_y;
      w.height = w.out_height;
      w.stride_y = 1;
    }
    if (w.kernel_width == 1 && w.left == 0 && (w.out_width - 1) * w.stride_x < w.width) {
      call.x.stride[3] *= w.stride_x;
      w.width = w.out_width;
      w.stride_x = 1;
    }
    const bool has_pixels = w.taps() == 1 && w.stride_y == 1 && w.stride_x == 1 && w.top == 0 && w.left == 0 &&
                            w.height == w.out_height && w.width == w.out_width;
    const auto is_row = [&](const Tensor4& tensor) { return tensor.stride[2] == w.width * tensor.stride[3]; };
    if (has_pixels && is_row(call.x) && is_row(call.out)) {
      w.width = w.out_width = w.area();
      w.height = w.out_height = 1;
    }
    return call;
  }
};

/// Along one axis, the pixels of x that windows read: those that lie a stride apart, a *phase*, are neighbours to the
/// windows.
struct AxisPhases {
  std::int64_t stride, dilation, before, extent;  ///< extent: of x
  std::int64_t count;                             ///< of phases that taps read

  AxisPhases(std::int64_t kernel, std::int64_t stride_of, std::int64_t dilation_of, std::int64_t before_of,
             std::int64_t extent_of)
      : stride(stride_of),
        dilation(dilation_of),
        before(before_of),
        extent(extent_of),
        count(std::min(kernel, stride_of / std::gcd(stride_of, dilation_of))) {}

  /// The phase that a tap reads, and from how many windows on.
  std::int64_t phase(std::int64_t tap) const { return tap % count; }
  std::int64_t shift(std::int64_t tap) const { return tap * dilation / stride; }
  /// The t-th pixel of a phase, which need not exist.
  std::int64_t pixel(std::int64_t phase, std::int64_t t) const {
    return t * stride + phase * dilation % stride - before;
  }
  /// The first pixel of a phase that is `pixel` or lies behind it.
  std::int64_t first(std::int64_t phase, std::int64_t pixel) const {
    const std::int64_t distance = pixel + before - phase * dilation % stride;
    return distance <= 0 ? 0 : ceil_div(distance, stride);
  }
};

/// How the forward pass has x in the cache. All pixels of an image of `out` are one row of positions, `pitch` of them
/// for each row of `out`, so that what a tap reads for neighbouring positions are neighbours too. Positions beyond a
/// row's end belong to no pixel. The zeros of padding on a row's right and those on the next one's left are the same as
/// far as they can be.
struct Positions {
  AxisPhases down, across;
  std::int64_t pitch, count;  ///< count: of an image

  explicit Positions(const Windows& w)
      : down(w.kernel_height, w.stride_y, w.dilation_y, w.top, w.height),
        across(w.kernel_width, w.stride_x, w.dilation_x, w.left, w.width) {
    const std::int64_t all = w.out_width + across.shift(w.kernel_width - 1);
    const std::int64_t zeros_on_left = std::max<std::int64_t>(w.left, 0) / w.stride_x;
    const std::int64_t end = ceil_div(std::max<std::int64_t>(w.width + w.left, 0), w.stride_x);
    pitch = std::min(all, std::max({w.out_width, end, all - zeros_on_left}));
    count = (w.out_height - 1) * pitch + w.out_width;
  }
};

}  // namespace portops::impl
