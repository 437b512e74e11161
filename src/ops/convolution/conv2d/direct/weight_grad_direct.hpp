// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/panels.hpp"
#include "ops/convolution/conv2d/direct/channel_tile.hpp"
#include "ops/convolution/conv2d/direct/direct_windows.hpp"
#include "ops/convolution/conv2d/direct/weight_grad_plan.hpp"

#include <algorithm>
#include <cstdint>

// weight_grad on hosts, without columns in memory: the pixels of a tile of x have their channels side by side, so that
// what a tap, or a row of taps that are neighbours, reads for a pixel of out_grad is a row of a matrix, wherever it
// lies.

namespace portops::impl {

/// The sums of weight_grad over each part of the tiles. An item a part, a block of channels, and one of output
/// channels.
template <class T>
class WeightGradDirect {
 public:
  using A = Arithmetic<T>;
  using Sizes = blas::Blocks<A>;

  WeightGradDirect(const DirectCall& call, A* part_sums)
      : windows_(call.windows),
        x_(call.x),
        out_grad_(call.out),
        tile_of_x_(call.windows),
        tiles_(tile_of_x_.tiles(Sizes::depth, most_numbers / most_channels(call.windows))),
        plan_(call.windows, most_channels(call.windows), most_rows(call.windows),
              call.windows.images * tiles_.of_image()),
        part_sums_(part_sums) {}

  /// Whether what the windows of a pixel read is not too much for a cache.
  static bool suits(const Windows& windows) {
    return ChannelTile<T>(windows).pixels(1, 1) * most_channels(windows) <= most_numbers;
  }

  const WeightGradPlan& plan() const { return plan_; }
  std::int64_t items() const { return plan_.items(); }
  std::int64_t scratch_bytes() const {
    return (x_numbers() + padded_rows() * Sizes::depth +
            blas::TileSums<A>::elements(padded_rows() * sums_row(plan_.block_channels), plan_.part_tiles)) *
               static_cast<std::int64_t>(sizeof(A)) +
           Sizes::depth * static_cast<std::int64_t>(sizeof(std::int32_t));
  }

  void operator()(std::int64_t index, std::byte* scratch) const {
    const WeightGradPlan::Item item = plan_(index);
    A* const x = reinterpret_cast<A*>(scratch);
    A* const out_grad = x + x_numbers();
    A* const sums_memory = out_grad + padded_rows() * Sizes::depth;
    const std::int64_t size = padded_rows() * sums_row(plan_.block_channels), row = sums_row(item.channels);
    auto* const place =
        reinterpret_cast<std::int32_t*>(sums_memory + blas::TileSums<A>::elements(size, plan_.part_tiles));
    const std::int64_t panel_rows = ceil_div(item.rows, Sizes::panel_rows) * Sizes::panel_rows;
    blas::TileSums<A> tile_sums(sums_memory, size, panel_rows * row);
    const std::int64_t first = item.part * plan_.part_tiles, end = std::min(first + plan_.part_tiles, plan_.tiles);
    for (std::int64_t i = first; i < end; ++i) {
      const OutTile tile = tiles_(i);
      tile_of_x_.read(x, x_, tile, item.group * windows_.group_channels() + item.channel, item.channels);
      tile_of_x_.find_places(place, tile, item.channels);
      pack(out_grad, tile, item);
      tile_sums.add_slice([&](A* sums, bool is_first) {
        for (std::int64_t k = 0; k < windows_.kernel_height; ++k) {
          for (std::int64_t l = 0; l < windows_.kernel_width; l += taps_together()) {
            const A* const from = x + tile_of_x_.tap(k, l, tile, item.channels);
            A* const to = sums + (k * windows_.kernel_width / taps_together() + l) * run_row(item.channels);
            multiply(to, row, out_grad, item, {from, place}, tile.pixels(), is_first);
          }
        }
      });
    }
    write(tile_sums.finish(), row, item);
  }

 private:
  /// What an item has in a core's second-level cache, more or less: of x, and of sums.
  static constexpr std::int64_t most_numbers = 96 << 10;

  static std::int64_t most_channels(const Windows& w) {
    constexpr std::int64_t most_column = 576, least = 16, most = 128;
    return std::clamp(most_column / w.taps() / least * least, least, most);
  }
  static std::int64_t most_rows(const Windows& w) {
    const std::int64_t most = w.taps() == 1 ? 192 : 96;
    static_assert(192 % Sizes::panel_rows == 0 && 96 % Sizes::panel_rows == 0);
    return most;
  }

  /// Taps of a row whose channels are neighbours are taken like one with so many channels.
  std::int64_t taps_together() const { return windows_.dilation_x == 1 ? windows_.kernel_width : 1; }
  /// Numbers that these take in a row of sums, and all taps.
  std::int64_t run_row(std::int64_t channels) const {
    return ceil_div(taps_together() * channels, Sizes::lanes) * Sizes::lanes;
  }
  std::int64_t sums_row(std::int64_t channels) const { return windows_.taps() / taps_together() * run_row(channels); }
  std::int64_t padded_rows() const { return ceil_div(plan_.block_rows, Sizes::panel_rows) * Sizes::panel_rows; }
  /// Of a tile of x, behind which a panel may be read.
  std::int64_t x_numbers() const {
    const std::int64_t numbers = tile_of_x_.pixels(tiles_.rows, tiles_.columns) * plan_.block_channels;
    return ceil_div(numbers + Sizes::panel_columns, Sizes::lanes) * Sizes::lanes;
  }

  /// out_grad of a tile, in panels of output channels, pixel by pixel.
  void pack(A* to, const OutTile& tile, const WeightGradPlan::Item& item) const {
    const std::int64_t channel = item.group * windows_.group_out_channels() + item.row;
    for (int first = 0; first < item.rows; first += Sizes::panel_rows) {
      const int rows = std::min(item.rows - first, Sizes::panel_rows);
      A* const panel = to + first * tile.pixels();
      if (rows < Sizes::panel_rows) std::fill_n(panel, tile.pixels() * Sizes::panel_rows, A(0));
      for (int i = 0; i < tile.rows; ++i) {
        const std::int64_t from = out_grad_.offset(tile.image, channel + first, tile.i + i, tile.j);
        copy_lines(panel + i * tile.columns * Sizes::panel_rows, Sizes::panel_rows,
                   static_cast<const T*>(out_grad_.data) + from, out_grad_.stride[3], out_grad_.stride[1], tile.columns,
                   rows);
      }
    }
  }

  /// Adds the products with what a run of taps reads.
  void multiply(A* sums, std::int64_t row, const A* out_grad, const WeightGradPlan::Item& item,
                const blas::PlacedRows<A>& pixels, int depth, bool is_first) const {
    const int columns = static_cast<int>(taps_together()) * item.channels;
    // What a panel of columns reads stays in the first-level cache while all output channels pass by.
    for (int j = 0; j < columns; j += Sizes::panel_columns) {
      for (int i = 0; i < item.rows; i += Sizes::panel_rows) {
        blas::multiply_placed(sums + i * row + j, row, out_grad + i * depth, std::min(item.rows - i, Sizes::panel_rows),
                              blas::PlacedRows<A>{pixels.data + j, pixels.place}, columns - j, depth, is_first);
      }
    }
  }

  void write(const A* sums, std::int64_t row, const WeightGradPlan::Item& item) const {
    A* const part = part_sums_ + item.part * plan_.sums();
    for (int i = 0; i < item.rows; ++i) {
      const std::int64_t out_channel = item.group * windows_.group_out_channels() + item.row + i;
      for (std::int64_t tap = 0; tap < windows_.taps(); ++tap) {
        const A* const from =
            sums + i * row + tap / taps_together() * run_row(item.channels) + tap % taps_together() * item.channels;
        std::copy_n(from, item.channels,
                    part + (out_channel * windows_.taps() + tap) * windows_.group_channels() + item.channel);
      }
    }
  }

  Windows windows_;
  Tensor4 x_, out_grad_;
  ChannelTile<T> tile_of_x_;
  OutTiles tiles_;
  WeightGradPlan plan_;
  A* part_sums_;
};

}  // namespace portops::impl
