// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/panels.hpp"
#include "ops/convolution/conv2d/direct/channel_tile.hpp"
#include "ops/convolution/conv2d/direct/direct_windows.hpp"
#include "ops/convolution/conv2d/direct/weight_grad_plan.hpp"
#include "ops/convolution/finish.hpp"
#include "ops/convolution/image_step.hpp"

#include <algorithm>
#include <cstdint>

// Depthwise convolution on hosts: groups of one channel and one output channel, side by side in vectors.

namespace portops::impl {

/// What the forward pass and weight_grad have in common.
template <class T>
class Depthwise {
 public:
  using A = Arithmetic<T>;
  using Sizes = blas::Blocks<A>;

  explicit Depthwise(const DirectCall& call)
      : windows_(call.windows),
        x_(call.x),
        out_(call.out),
        tile_of_x_(call.windows),
        tiles_(tile_of_x_.tiles(most_pixels, most_numbers / most_channels)) {}

  static bool suits(const Windows& windows) {
    constexpr std::int64_t least_channels = 8;  // fewer leave vectors empty
    return windows.groups >= least_channels && windows.groups == windows.channels &&
           windows.groups == windows.out_channels && windows.taps() <= most_taps &&
           ChannelTile<T>(windows).pixels(1, 1) * most_channels <= most_numbers;
  }

  static constexpr int most_channels = blas::most_lanes<A>;
  static constexpr int most_pixels = 128;
  static constexpr int most_taps = 1024;

  const Windows& windows() const { return windows_; }
  const Tensor4& out() const { return out_; }
  const OutTiles& tiles() const { return tiles_; }
  const ChannelTile<T>& tile_of_x() const { return tile_of_x_; }
  std::int64_t all_tiles() const { return windows_.images * tiles_.of_image(); }

  /// Of so many pixels or taps, behind which a vector may be read or written.
  static std::int64_t numbers(std::int64_t pixels) { return (pixels + 1) * most_channels; }
  std::int64_t x_numbers() const { return numbers(tile_of_x_.pixels(tiles_.rows, tiles_.columns)); }
  void read_x(A* to, const OutTile& tile, std::int64_t channel, int channels) const {
    tile_of_x_.read(to, x_, tile, channel, channels);
  }

  /// Calls action(at, i, j, pixels) for runs of a tile's pixels that lie at one distance in `out`: so many, the first
  /// of them number `at` of the tile and at (i, j) of the image.
  template <class Action>
  void for_runs(const OutTile& tile, const Action& action) const {
    if (tile.columns == windows_.out_width && out_.stride[2] == tile.columns * out_.stride[3]) {
      return action(0, tile.i, tile.j, tile.pixels());
    }
    for (int i = 0; i < tile.rows; ++i) action(i * tile.columns, tile.i + i, tile.j, tile.columns);
  }

 private:
  static constexpr std::int64_t most_numbers = 96 << 10;

  Windows windows_;
  Tensor4 x_, out_;
  ChannelTile<T> tile_of_x_;
  OutTiles tiles_;
};

/// out = bias + weight · windows, an item a tile of `out` and a block of channels.
template <class T>
class ConvolveDepthwise {
 public:
  using A = Arithmetic<T>;
  using Common = Depthwise<T>;

  ConvolveDepthwise(const DirectCall& call, const Tensor4& weight, const ConvolutionOut& to)
      : common_(call),
        weight_(weight),
        bias_(static_cast<const T*>(to.bias)),
        bias_stride_(to.bias_stride),
        finish_(to) {}

  std::int64_t items() const { return common_.all_tiles() * blocks(); }
  std::int64_t scratch_bytes() const {
    return (common_.x_numbers() + Common::numbers(common_.windows().taps()) + Common::numbers(Common::most_pixels)) *
               static_cast<std::int64_t>(sizeof(A)) +
           common_.windows().taps() * static_cast<std::int64_t>(sizeof(std::int32_t));
  }

  void operator()(std::int64_t item, std::byte* scratch) const {
    const Windows& windows = common_.windows();
    const std::int64_t channel = item % blocks() * Common::most_channels;
    const auto channels = static_cast<int>(std::min<std::int64_t>(Common::most_channels, windows.channels - channel));
    const OutTile tile = common_.tiles()(item / blocks());
    A* const x = reinterpret_cast<A*>(scratch);
    A* const weight = x + common_.x_numbers();
    A* const sums = weight + Common::numbers(windows.taps());
    auto* const place = reinterpret_cast<std::int32_t*>(sums + Common::numbers(Common::most_pixels));
    common_.read_x(x, tile, channel, channels);
    for (std::int64_t k = 0, tap = 0; k < windows.kernel_height; ++k) {
      for (std::int64_t l = 0; l < windows.kernel_width; ++l, ++tap) {
        place[tap] = static_cast<std::int32_t>(common_.tile_of_x().tap(k, l, tile, channels));
        const T* const from = static_cast<const T*>(weight_.data) + weight_.offset(channel, 0, k, l);
        for (int c = 0; c < channels; ++c) {
          weight[tap * channels + c] = static_cast<A>(from[c * weight_.stride[0]]);
        }
      }
    }
    // What is written behind a pixel's channels is overwritten by the next pixel.
    const std::int64_t width = common_.tile_of_x().width(tile.columns);
    for (int i = 0, at = 0; i < tile.rows; ++i) {
      for (int j = 0; j < tile.columns; ++j, ++at) {
        const A* const window = x + (i * windows.stride_y * width + j * windows.stride_x) * channels;
        blas::multiply_lanes(sums + at * channels, weight, channels, blas::PlacedRows<A>{window, place}, channels,
                             static_cast<int>(windows.taps()), true);
      }
    }
    write(sums, tile, channel, channels);
  }

 private:
  std::int64_t blocks() const { return ceil_div(common_.windows().channels, Common::most_channels); }

  /// Rounds once, with the bias.
  void write(A* sums, const OutTile& tile, std::int64_t channel, int channels) const {
    if (bias_ != nullptr) {
      A bias[Common::most_channels];
      for (int c = 0; c < channels; ++c) bias[c] = static_cast<A>(bias_[(channel + c) * bias_stride_]);
      for (int at = 0; at < tile.pixels(); ++at) {
        for (int c = 0; c < channels; ++c) sums[at * channels + c] += bias[c];
      }
    }
    common_.for_runs(tile, [&](int at, std::int64_t i, std::int64_t j, int pixels) {
      write_finished<T>(finish_, common_.out(), common_.out().offset(tile.image, channel, i, j), sums + at * channels,
                        1, channels, channels, pixels);
    });
  }

  Common common_;
  Tensor4 weight_;
  const T* bias_;
  std::int64_t bias_stride_;
  Finish<T> finish_;
};

/// The sums of weight_grad over each part of the tiles, tap after tap, channels fastest. An item a part and a block of
/// channels.
template <class T>
class WeightGradDepthwise {
 public:
  using A = Arithmetic<T>;
  using Common = Depthwise<T>;
  using Sizes = blas::Blocks<A>;

  WeightGradDepthwise(const DirectCall& call, A* part_sums)
      : common_(call),
        plan_(of_one_group(call.windows), Common::most_channels, 1, common_.all_tiles()),
        part_sums_(part_sums) {}

  /// The channels of all groups are like those of one, with one output channel.
  const WeightGradPlan& plan() const { return plan_; }
  std::int64_t items() const { return plan_.items(); }
  std::int64_t scratch_bytes() const {
    return (common_.x_numbers() + Common::numbers(Common::most_pixels) +
            blas::TileSums<A>::elements(sums_size(), plan_.part_tiles)) *
               static_cast<std::int64_t>(sizeof(A)) +
           Common::most_pixels * static_cast<std::int64_t>(sizeof(std::int32_t));
  }

  void operator()(std::int64_t index, std::byte* scratch) const {
    const Windows& windows = common_.windows();
    const WeightGradPlan::Item item = plan_(index);
    A* const x = reinterpret_cast<A*>(scratch);
    A* const out_grad = x + common_.x_numbers();
    A* const sums_memory = out_grad + Common::numbers(Common::most_pixels);
    auto* const place =
        reinterpret_cast<std::int32_t*>(sums_memory + blas::TileSums<A>::elements(sums_size(), plan_.part_tiles));
    blas::TileSums<A> tile_sums(sums_memory, sums_size(), sums_size());
    const std::int64_t first = item.part * plan_.part_tiles, end = std::min(first + plan_.part_tiles, plan_.tiles);
    for (std::int64_t i = first; i < end; ++i) {
      const OutTile tile = common_.tiles()(i);
      common_.read_x(x, tile, item.channel, item.channels);
      common_.tile_of_x().find_places(place, tile, item.channels);
      common_.for_runs(tile, [&](int at, std::int64_t row, std::int64_t column, int pixels) {
        const Tensor4& from = common_.out();
        copy_lines(out_grad + at * item.channels, item.channels,
                   static_cast<const T*>(from.data) + from.offset(tile.image, item.channel, row, column),
                   from.stride[3], from.stride[1], pixels, item.channels);
      });
      tile_sums.add_slice([&](A* sums, bool is_first) {
        for (std::int64_t k = 0; k < windows.kernel_height; ++k) {
          for (std::int64_t l = 0; l < windows.kernel_width; ++l, sums += Common::most_channels) {
            const A* const from = x + common_.tile_of_x().tap(k, l, tile, item.channels);
            blas::multiply_lanes(sums, out_grad, item.channels, blas::PlacedRows<A>{from, place}, item.channels,
                                 tile.pixels(), is_first);
          }
        }
      });
    }
    const A* const sums = tile_sums.finish();
    for (std::int64_t tap = 0; tap < windows.taps(); ++tap) {
      std::copy_n(sums + tap * Common::most_channels, item.channels,
                  part_sums_ + item.part * plan_.sums() + tap * windows.channels + item.channel);
    }
  }

 private:
  static Windows of_one_group(Windows windows) {
    windows.groups = windows.out_channels = 1;
    return windows;
  }
  std::int64_t sums_size() const { return common_.windows().taps() * Common::most_channels; }

  Common common_;
  WeightGradPlan plan_;
  A* part_sums_;
};

}  // namespace portops::impl
