// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// How weight_grad is cut on hosts, by extents alone: into blocks of channels and of output channels of a group, and
/// the tiles of all images into parts, whose sums a tree adds up.
struct WeightGradPlan {
  Windows windows;
  std::int64_t block_channels, block_rows;  ///< rows: output channels
  std::int64_t tiles, part_tiles = 1;

  /// `tiles` of all images.
  WeightGradPlan(const Windows& w, std::int64_t most_channels, std::int64_t most_rows, std::int64_t all_tiles)
      : windows(w),
        block_channels(equal(w.group_channels(), most_channels)),
        block_rows(equal(w.group_out_channels(), most_rows)),
        tiles(all_tiles) {
    // Enough items to share, but a part's sums are written and read once more.
    constexpr std::int64_t enough_items = 64, least_tiles = 4;
    part_tiles = std::max(ceil_div(tiles * blocks(), enough_items), std::min(least_tiles, tiles));
    part_tiles = std::min(part_tiles, tiles);
  }

  std::int64_t channel_blocks() const { return ceil_div(windows.group_channels(), block_channels); }
  std::int64_t row_blocks() const { return ceil_div(windows.group_out_channels(), block_rows); }
  std::int64_t blocks() const { return windows.groups * channel_blocks() * row_blocks(); }
  std::int64_t parts() const { return ceil_div(tiles, part_tiles); }
  std::int64_t items() const { return parts() * blocks(); }
  /// Of a part: rows of output channels, in each tap after tap, channels fastest.
  std::int64_t sums() const { return windows.out_channels * windows.group_column(); }

  struct Item {
    std::int64_t part, group;
    std::int64_t channel;  ///< of the group
    std::int64_t row;      ///< of the group
    int channels, rows;
  };
  Item operator()(std::int64_t index) const {
    const std::int64_t row = index % row_blocks() * block_rows;
    std::int64_t rest = index / row_blocks();
    const std::int64_t channel = rest % channel_blocks() * block_channels;
    rest /= channel_blocks();
    return {rest / windows.groups,
            rest % windows.groups,
            channel,
            row,
            static_cast<int>(std::min(block_channels, windows.group_channels() - channel)),
            static_cast<int>(std::min(block_rows, windows.group_out_channels() - row))};
  }

 private:
  /// Blocks alike, of whole vectors where that is possible.
  static std::int64_t equal(std::int64_t extent, std::int64_t most) {
    constexpr std::int64_t vector = 16;
    const std::int64_t block = ceil_div(extent, ceil_div(extent, most));
    return block == extent ? block : std::min(most, ceil_div(block, vector) * vector);
  }
};

}  // namespace portops::impl
