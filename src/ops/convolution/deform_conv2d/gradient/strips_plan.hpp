// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/image_step.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// How the gradient of a step's images is cut into strips, and these and x_grad into items of threads. By extents
/// alone; only that of weight_grad has a part in what is added to what.
struct StripsPlan {
  Windows windows;

  /// Of an image.
  std::int64_t strips() const { return ceil_div(windows.pixels(), strip_pixels); }
  std::int64_t all_strips() const { return windows.images * strips(); }

  /// Strips whose part of weight_grad one thread adds up, one after the other: few enough for a chain.
  std::int64_t chunk_strips() const { return std::clamp<std::int64_t>(ceil_div(all_strips(), 64), 1, 64); }
  std::int64_t chunks() const { return ceil_div(all_strips(), chunk_strips()); }
  std::int64_t weights() const { return windows.out_channels * windows.group_column(); }

  /// Channels of a deformable group of which one thread finds the samples once.
  std::int64_t block_channels() const { return std::min<std::int64_t>(windows.deformable_channels(), 8); }
  std::int64_t channel_blocks() const {
    return windows.deformable_groups * ceil_div(windows.deformable_channels(), block_channels());
  }
  /// Bands of rows of x_grad, which threads own: enough of them to share, but each finds the samples that two of them
  /// have corners in once more.
  std::int64_t band_rows() const {
    constexpr std::int64_t enough_items = 64, most_bands = 16, least_rows = 16;
    const std::int64_t bands = std::min(most_bands, ceil_div(enough_items, windows.images * channel_blocks()));
    return std::max(least_rows, ceil_div(windows.height, bands));
  }
  std::int64_t bands() const { return ceil_div(windows.height, band_rows()); }
};

/// The first and the last pixel of an image that a strip's samples of a deformable group and tap have corners at, or
/// those that are around them; none, if the last one lies before the first.
struct StripReach {
  std::int32_t first, last;
};

}  // namespace portops::impl
