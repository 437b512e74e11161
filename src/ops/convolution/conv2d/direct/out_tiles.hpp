// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// Some pixels of an image of `out`.
struct OutTile {
  std::int64_t image;
  std::int64_t i, j;
  int rows, columns;

  int pixels() const { return rows * columns; }
};

/// How the images of `out` are cut into tiles of so many rows and columns at most.
struct OutTiles {
  std::int64_t rows, columns;
  std::int64_t out_height, out_width;

  std::int64_t down() const { return ceil_div(out_height, rows); }
  std::int64_t across() const { return ceil_div(out_width, columns); }
  std::int64_t of_image() const { return down() * across(); }

  OutTile operator()(std::int64_t index) const {
    const std::int64_t image = index / of_image(), rest = index % of_image();
    const std::int64_t i = rest / across() * rows, j = rest % across() * columns;
    return {image, i, j, static_cast<int>(std::min(rows, out_height - i)),
            static_cast<int>(std::min(columns, out_width - j))};
  }
};

/// How many pixels of x the windows of a tile of `out` span.
class TileExtents {
 public:
  explicit TileExtents(const Windows& windows) : windows_(windows) {}

  std::int64_t width(std::int64_t columns) const {
    return (columns - 1) * windows_.stride_x + (windows_.kernel_width - 1) * windows_.dilation_x + 1;
  }
  std::int64_t height(std::int64_t rows) const {
    return (rows - 1) * windows_.stride_y + (windows_.kernel_height - 1) * windows_.dilation_y + 1;
  }
  std::int64_t pixels(std::int64_t rows, std::int64_t columns) const { return height(rows) * width(columns); }

  /// The largest tiles of at most so many pixels of `out` that need no more than `most` pixels of x, or one of `out`.
  OutTiles tiles(std::int64_t most_pixels, std::int64_t most) const {
    const auto equal = [](std::int64_t extent, std::int64_t limit) {
      return ceil_div(extent, ceil_div(extent, std::max<std::int64_t>(limit, 1)));
    };
    std::int64_t columns = equal(windows_.out_width, most_pixels);
    while (columns > 1 && pixels(1, columns) > most) columns = equal(windows_.out_width, columns - 1);
    std::int64_t rows = equal(windows_.out_height, most_pixels / columns);
    while (rows > 1 && pixels(rows, columns) > most) rows = equal(windows_.out_height, rows - 1);
    return {rows, columns, windows_.out_height, windows_.out_width};
  }

 protected:
  Windows windows_;
};

}  // namespace portops::impl
