// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace portops::impl {

/// How ColumnsGradTiles cuts a step: tiles of neighbouring pixels of out, of which the samples of some taps (a phase)
/// are taken together, and shares of the channels. It depends on the call alone, not on the device.
struct ColumnsGradTilesPlan {
  static constexpr int most_samples = 160;
  static constexpr int most_phase_taps = 10;

  int width = 1, height = 1;  ///< of a tile, powers of two
  int phase_taps = 1;
  int phases = 1;
  int shares = 1;
  std::int64_t across = 1, down = 1;  ///< tiles of an image

  /// `chunks` is how many there are of a deformable group's channels.
  ColumnsGradTilesPlan(const Windows& windows, int chunks) {
    phases = static_cast<int>(ceil_div(windows.taps(), most_phase_taps));
    phase_taps = static_cast<int>(ceil_div(windows.taps(), phases));
    const int log_pixels = std::bit_width(static_cast<unsigned>(std::min(most_samples / phase_taps, 128))) - 1;
    width = 1 << (log_pixels + 1) / 2;
    height = 1 << log_pixels / 2;
    across = ceil_div(windows.out_width, width);
    down = ceil_div(windows.out_height, height);
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
};

}  // namespace portops::impl
