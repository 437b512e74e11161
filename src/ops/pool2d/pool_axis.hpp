// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divisor_of.hpp"

namespace portops::impl {

/// The windows along one axis of an image. Nothing here knows Kokkos.
template <class Index>
struct PoolAxisOf {
  Index extent = 0;   ///< of the image
  Index windows = 0;  ///< how many lie in it
  Index kernel = 1;
  Index stride = 1;
  Index before = 0;  ///< padding
  Index after = 0;
  DivisorOf<Index> by_stride;

  /// The window's first pixel, which may lie in the padding.
  PORTOPS_FUNCTION Index begin(Index window) const { return window * stride - before; }
  /// The first pixel in the image.
  PORTOPS_FUNCTION Index begin_inside(Index window) const { return begin(window) < 0 ? 0 : begin(window); }
  PORTOPS_FUNCTION Index end_inside(Index window) const {
    const Index end = begin(window) + kernel;
    return end < extent ? end : extent;
  }
  /// Its pixels in the image; those in the padded image, unless `exclusive`.
  PORTOPS_FUNCTION Index size(Index window, bool exclusive) const {
    if (exclusive) return end_inside(window) - begin_inside(window);
    const Index first = begin(window), end = first + kernel, last = extent + after;
    return (end < last ? end : last) - first;
  }
  PORTOPS_FUNCTION bool has(Index window, Index pixel) const {
    const Index first = begin(window);
    return pixel >= first && pixel < first + kernel;
  }
  /// Whether the only window is the whole image.
  bool is_whole() const { return windows == 1 && begin(0) <= 0 && begin(0) + kernel >= extent; }
  /// The first and the last window that have a pixel of the image.
  PORTOPS_FUNCTION Index first_window(Index pixel) const {
    const Index behind = pixel + before - kernel;
    return behind < 0 ? 0 : static_cast<Index>(by_stride.quotient(behind)) + 1;
  }
  PORTOPS_FUNCTION Index last_window(Index pixel) const {
    const auto last = static_cast<Index>(by_stride.quotient(pixel + before));
    return last < windows ? last : windows - 1;
  }
};

using PoolAxis = PoolAxisOf<std::int64_t>;

template <class Index>
PoolAxisOf<Index> axis_of(const PoolAxis& axis) {
  const auto index = [](std::int64_t value) { return static_cast<Index>(value); };
  return {index(axis.extent),
          index(axis.windows),
          index(axis.kernel),
          index(axis.stride),
          index(axis.before),
          index(axis.after),
          make_divisor(index(axis.stride))};
}

}  // namespace portops::impl
