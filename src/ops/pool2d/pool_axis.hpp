// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"

namespace portops::impl {

/// The windows along one axis of an image. Nothing here knows Kokkos.
struct PoolAxis {
  std::int64_t extent = 0;   ///< of the image
  std::int64_t windows = 0;  ///< how many lie in it
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t before = 0;  ///< padding
  std::int64_t after = 0;
  IndexDivisor by_stride;

  /// The window's first pixel, which may lie in the padding.
  PORTOPS_FUNCTION std::int64_t begin(std::int64_t window) const { return window * stride - before; }
  /// Its pixels in the image; those in the padded image, unless `exclusive`.
  PORTOPS_FUNCTION std::int64_t size(std::int64_t window, bool exclusive) const {
    const std::int64_t first = begin(window), end = first + kernel;
    const std::int64_t last = exclusive ? extent : extent + after;
    return (end < last ? end : last) - (exclusive && first < 0 ? 0 : first);
  }
  /// The first and the last window that have a pixel of the image.
  PORTOPS_FUNCTION std::int64_t first_window(std::int64_t pixel) const {
    const std::int64_t behind = pixel + before - kernel;
    return behind < 0 ? 0 : by_stride.quotient(behind) + 1;
  }
  PORTOPS_FUNCTION std::int64_t last_window(std::int64_t pixel) const {
    const std::int64_t last = by_stride.quotient(pixel + before);
    return last < windows ? last : windows - 1;
  }
};

}  // namespace portops::impl
