// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"

namespace portops::impl {

/// Neighbouring pixels of out, with some neighbouring taps of each: fewer than 256 samples.
struct SampleTile {
  int y, x;             ///< the first pixel
  int width, height;    ///< pixels
  int first_tap, taps;  ///< of all pixels

  PORTOPS_FUNCTION int samples() const { return width * height * taps; }
};

/// Counts the samples of a tile: pixels fastest, then taps.
class TileSamples {
 public:
  struct Index {
    int y, x, tap;
  };

  PORTOPS_FUNCTION explicit TileSamples(const SampleTile& tile)
      : tile_(tile), by_width_(tile.width), by_height_(tile.height) {}

  PORTOPS_FUNCTION Index operator()(int i) const {
    const int line = by_width_.quotient(i), tap = by_height_.quotient(line);
    return {tile_.y + line - tap * tile_.height, tile_.x + i - line * tile_.width, tile_.first_tap + tap};
  }

 private:
  /// Divides numbers below 256 by others: a multiplication, and a division beforehand.
  class SmallDivisor {
   public:
    PORTOPS_FUNCTION explicit SmallDivisor(int value) : multiplier_((1 << 16) / value + 1) {}
    PORTOPS_FUNCTION int quotient(int index) const { return index * multiplier_ >> 16; }

   private:
    int multiplier_;
  };

  const SampleTile& tile_;
  SmallDivisor by_width_, by_height_;
};

}  // namespace portops::impl
