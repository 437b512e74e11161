// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/types/macros.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_units.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

// How depthwise convolutions without dilation, with windows `step` pixels apart in both directions, are cut into tiles:
// 32 channels of a box of pixels of `to`, of one image or of some, and those of `from` that their windows reach. A
// team's warps share out the box. Nothing here knows Kokkos.

namespace portops::impl {

/// Pixels of a tile: a box of each of its images.
struct TileBox {
  std::int32_t images, rows, columns;

  PORTOPS_FUNCTION int pixels() const { return images * rows * columns; }
};

/// A pixel, of all images or of a tile.
struct TilePlace {
  std::int32_t image, i, j;
};

/// The boxes of `to` and `from`, and where they begin. A thread has one of the channels, and some rows of `columns`
/// pixels: more of these where more fit in scratch, fewer where images end.
class DepthwiseTiles {
 public:
  static constexpr int channels = 32, most_warps = 8, most_threads = channels * most_warps;
  /// Of a team: Kokkos has 48 KiB, of which it takes 16 bytes and 8 for each thread, and 16 are for alignment.
  static constexpr std::size_t most_scratch_bytes = (48 << 10) - 8 * most_threads - 32;

  /// Neighbouring columns that a thread takes.
  static constexpr int columns(int step) { return step == 1 ? 4 : 2; }

  /// Elements from one pixel to the next in scratch: threads that write a channel of neighbouring pixels, as they do
  /// where channels are not neighbours in memory, meet in no bank.
  static constexpr int pitch(bool has_channels_last, std::size_t element_bytes) {
    return has_channels_last ? channels : channels + (element_bytes == 2 ? 2 : 1);
  }

  /// For teams with so much scratch for pixels of `from`, or of both.
  DepthwiseTiles(const DepthwiseCall& call, std::size_t element_bytes, std::size_t scratch_bytes, bool holds_to)
      : DepthwiseTiles(call.windows, static_cast<int>(call.windows.kernel_width), call.shared_step(),
                       static_cast<std::int64_t>(
                           scratch_bytes /
                           (element_bytes * static_cast<std::size_t>(pitch(call.has_channels_last(), element_bytes)))) -
                           1,
                       holds_to) {}

  /// For windows of K × K, and teams whose scratch holds so many pixels.
  DepthwiseTiles(const Windows& w, int K, int step, std::int64_t pixels, bool holds_to)
      : images_(static_cast<std::int32_t>(w.images)),
        channel_blocks_(static_cast<std::uint32_t>(ceil_div(w.channels, channels))) {
    const std::int64_t width = columns(step), all_across = ceil_div(w.out_width, width);
    std::int64_t across = ceil_div(all_across, ceil_div(all_across, most_across));  // threads, side by side
    const auto from_columns = [&] { return (across * width - 1) * step + K; };
    const auto to_columns = [&] { return holds_to ? across * width : 0; };
    const auto rows_that_fit = [&] {
      return (pixels - (K - step) * from_columns()) / (step * from_columns() + to_columns());
    };
    while (across > 1 && rows_that_fit() < 2) --across;
    // As many threads, one under the other, as get most_rows, or nearly; then all get as many.
    const std::int64_t most_rows = 8 / step, fit = std::max<std::int64_t>(rows_that_fit(), 1);
    const std::int64_t down = std::clamp<std::int64_t>(
        std::min((fit + most_rows / 4) / most_rows, ceil_div(w.out_height, most_rows)), 1, most_warps / across);
    const std::int64_t tiles_down = ceil_div(w.out_height, std::min(most_rows, fit / down) * down);
    const std::int64_t rows = ceil_div(w.out_height, tiles_down * down);
    const std::int64_t from_rows = (down * rows - 1) * step + K;
    const std::int64_t of_image = from_rows * from_columns() + down * rows * to_columns();
    const std::int64_t together =
        std::clamp<std::int64_t>(std::min(most_warps / (across * down), pixels / of_image), 1, w.images);
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    rows_ = narrow(rows);
    across_ = narrow(across);
    down_ = narrow(down);
    to_ = {narrow(together), narrow(down * rows), narrow(across * width)};
    from_ = {narrow(together), narrow(from_rows), narrow(from_columns())};
    tiles_down_ = Divisor(static_cast<std::uint32_t>(tiles_down));
    tiles_across_ = Divisor(static_cast<std::uint32_t>(ceil_div(all_across, across)));
    count_ = ceil_div(w.images, together) * tiles_down * tiles_across_.value();
  }

  /// Of a team.
  PORTOPS_FUNCTION int warps() const { return to_.images * down_ * across_; }
  PORTOPS_FUNCTION int threads() const { return warps() * channels; }
  /// Of all images, for each block of channels.
  PORTOPS_FUNCTION std::int64_t count() const { return count_; }
  PORTOPS_FUNCTION const Divisor& channel_blocks() const { return channel_blocks_; }
  PORTOPS_FUNCTION std::int32_t images() const { return images_; }  ///< all
  PORTOPS_FUNCTION const TileBox& to() const { return to_; }
  PORTOPS_FUNCTION const TileBox& from() const { return from_; }
  /// Rows that a thread takes.
  PORTOPS_FUNCTION std::int32_t rows() const { return rows_; }

  /// The first pixel of a tile.
  PORTOPS_FUNCTION TilePlace operator()(std::uint32_t index) const {
    const std::uint32_t row = tiles_across_.quotient(index), group = tiles_down_.quotient(row);
    return {static_cast<std::int32_t>(group) * to_.images,
            static_cast<std::int32_t>(row - group * tiles_down_.value()) * to_.rows,
            static_cast<std::int32_t>(index - row * tiles_across_.value()) * to_.columns};
  }

  /// The first pixel that a warp takes, counted from that of the tile.
  PORTOPS_FUNCTION TilePlace part(int warp, int width) const {
    const int row = warp / across_, image = row / down_;
    return {image, (row - image * down_) * rows_, (warp - row * across_) * width};
  }

 private:
  static constexpr std::int64_t most_across = 4;

  std::int32_t images_, rows_ = 0, across_ = 0, down_ = 0;
  Divisor channel_blocks_, tiles_down_, tiles_across_;
  TileBox to_ = {}, from_ = {};
  std::int64_t count_ = 0;
};

/// How weight_grad is cut into teams: chunks of tiles, and blocks of channels. By extents, the element type and the
/// order of the axes in memory alone, so that sums are the same on every GPU.
class DepthwiseWeightGradTiles {
 public:
  DepthwiseWeightGradTiles(const DepthwiseCall& call, std::size_t element_bytes)
      : tiles_(call, element_bytes, DepthwiseTiles::most_scratch_bytes, true) {
    // As many teams as a GPU takes a few times, and few enough tiles a thread for a chain of additions.
    constexpr std::int64_t enough_teams = 528, chain = 8;
    const std::int64_t blocks = tiles_.channel_blocks().value();
    chunk_tiles_ = std::clamp<std::int64_t>(tiles_.count() * blocks / enough_teams, 1, chain);
    chunks_ = Divisor(static_cast<std::uint32_t>(ceil_div(tiles_.count(), chunk_tiles_)));
    sums_of_chunk_ = (call.windows.taps() + 1) * blocks * DepthwiseTiles::channels;
  }

  PORTOPS_FUNCTION const DepthwiseTiles& tiles() const { return tiles_; }
  PORTOPS_FUNCTION const Divisor& chunks() const { return chunks_; }
  PORTOPS_FUNCTION std::int64_t chunk_tiles() const { return chunk_tiles_; }
  /// Channels fastest, then taps, of which the one behind the last has the sums of out_grad.
  PORTOPS_FUNCTION std::int64_t sums_of_chunk() const { return sums_of_chunk_; }
  std::int64_t sums() const { return sums_of_chunk_ * chunks_.value(); }

 private:
  DepthwiseTiles tiles_;
  std::int64_t chunk_tiles_ = 1, sums_of_chunk_ = 0;
  Divisor chunks_;
};

}  // namespace portops::impl
