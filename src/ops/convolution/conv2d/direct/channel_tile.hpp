// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/direct/copy_lines.hpp"
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

/// On hosts: the pixels of x that the windows of a tile of `out` read, some channels of them, channels fastest; 0 where
/// there are none. In numbers of type A.
template <class T>
class ChannelTile {
 public:
  using A = Arithmetic<T>;

  explicit ChannelTile(const Windows& windows) : windows_(windows) {}

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

  void read(A* to, const Tensor4& x, const OutTile& tile, std::int64_t channel, int channels) const {
    const std::int64_t first_y = tile.i * windows_.stride_y - windows_.top;
    const std::int64_t first_x = tile.j * windows_.stride_x - windows_.left;
    const std::int64_t row = width(tile.columns);
    const std::int64_t from = std::clamp<std::int64_t>(-first_x, 0, row);
    const std::int64_t until = std::clamp<std::int64_t>(windows_.width - first_x, from, row);
    for (std::int64_t k = 0; k < height(tile.rows); ++k, to += row * channels) {
      const std::int64_t y = first_y + k;
      if (y < 0 || y >= windows_.height || from == until) {
        std::fill_n(to, row * channels, A(0));
        continue;
      }
      std::fill_n(to, from * channels, A(0));
      copy_lines(to + from * channels, channels,
                 static_cast<const T*>(x.data) + x.offset(tile.image, channel, y, first_x + from), x.stride[3],
                 x.stride[1], until - from, channels);
      std::fill_n(to + until * channels, (row - until) * channels, A(0));
    }
  }

  /// Where the windows of the tile begin in it.
  void find_places(std::int32_t* place, const OutTile& tile, int channels) const {
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      for (std::int64_t j = 0; j < tile.columns; ++j) {
        const std::int64_t pixel = i * windows_.stride_y * width(tile.columns) + j * windows_.stride_x;
        *place++ = static_cast<std::int32_t>(pixel * channels);
      }
    }
  }
  /// How far from there a tap is.
  std::int64_t tap(std::int64_t k, std::int64_t l, const OutTile& tile, int channels) const {
    return (k * windows_.dilation_y * width(tile.columns) + l * windows_.dilation_x) * channels;
  }

 private:
  Windows windows_;
};

}  // namespace portops::impl
