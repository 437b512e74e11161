// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/direct/out_tiles.hpp"
#include "ops/convolution/copy_lines.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// On hosts: the pixels of x that the windows of a tile of `out` read, some channels of them, channels fastest; 0 where
/// there are none. In numbers of type A.
template <class T>
class ChannelTile : public TileExtents {
 public:
  using A = Arithmetic<T>;
  using TileExtents::TileExtents;

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
};

}  // namespace portops::impl
