// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// How ColumnsGradTiles cuts a step: tiles of neighbouring pixels of out, of which the samples of some taps (a phase)
/// are taken together, and shares of the channels. It depends on the call alone, not on the device.
struct ColumnsGradTilesPlan {
  static constexpr int most_samples = 152;
  static constexpr int most_phase_taps = 10;
  /// Of a tile, so that what its pixels sample lies in a window of x.
  static constexpr int most_width = 16, most_height = 8;

  int width = 1, height = 1;  ///< of a tile; the last ones of an image may have less
  int phase_taps = 1;
  int phases = 1;
  int shares = 1;
  std::int64_t across = 1, down = 1;  ///< tiles of an image

  /// `chunks` is how many there are of a deformable group's channels.
  ColumnsGradTilesPlan(const Windows& windows, int chunks) {
    phases = static_cast<int>(ceil_div(windows.taps(), most_phase_taps));
    phase_taps = static_cast<int>(ceil_div(windows.taps(), phases));
    shape_tiles(windows);
    const std::int64_t tiles = windows.images * across * down * windows.deformable_groups * phases;
    // Rounds of teams times chunks, of which finding the samples is worth about one and a half. So many teams at once
    // suit the GPUs at hand; the number must not depend on the one that runs it.
    constexpr std::int64_t teams_at_once = 400;
    std::int64_t least = INT64_MAX;
    for (int count = 1; count <= std::min(chunks, 8); count *= 2) {
      const std::int64_t time = ceil_div(tiles * count, teams_at_once) * (2 * ceil_div(chunks, count) + 3);
      if (time >= least) continue;
      least = time;
      shares = count;
    }
  }

  PORTOPS_FUNCTION int samples() const { return width * height * phase_taps; }

 private:
  /// As few tiles as there can be, and of those the squarest, whose samples share most pixels.
  void shape_tiles(const Windows& windows) {
    const int most_pixels = most_samples / phase_taps;
    std::int64_t least = INT64_MAX;
    for (int most_across = 1; most_across <= std::min(most_width, most_pixels); ++most_across) {
      const int most_down = std::min(most_height, most_pixels / most_across);
      const std::int64_t columns = ceil_div(windows.out_width, most_across);
      const std::int64_t rows = ceil_div(windows.out_height, most_down);
      // As wide and high as so many tiles need to be.
      const auto w = static_cast<int>(ceil_div(windows.out_width, columns));
      const auto h = static_cast<int>(ceil_div(windows.out_height, rows));
      const std::int64_t cost = columns * rows * (most_width + most_height) + w + h;
      if (cost >= least) continue;
      least = cost;
      width = w;
      height = h;
      across = columns;
      down = rows;
    }
  }
};

}  // namespace portops::impl
