// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/panels.hpp"
#include "ops/convolution/conv2d/direct/direct_windows.hpp"
#include "ops/convolution/conv2d/direct/out_tiles.hpp"
#include "ops/convolution/conv2d/direct/tap_groups.hpp"
#include "ops/convolution/conv2d/direct/weight_order.hpp"
#include "ops/convolution/copy_lines.hpp"
#include "ops/convolution/finish.hpp"
#include "ops/convolution/image_step.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace portops::impl {

/// In vectors of output channels: slices that are each one chain of additions where a window has no more taps than
/// that, and panels whose last vector is filled up.
template <class A>
struct ChannelWeight : WeightOrder {
  using Sizes = blas::Blocks<A>;
  explicit ChannelWeight(const Windows& of_call)
      : WeightOrder{of_call, Sizes::chain, std::int64_t{Sizes::point_vectors} * Sizes::lanes, Sizes::lanes} {}
};

template <class T>
using PackChannelWeight = PackWeightInOrder<T, ChannelWeight<Arithmetic<T>>>;

/// On hosts: out = bias + weight · windows, in vectors of output channels, an item a tile of pixels of an image and of
/// output channels of a group. It reads the pixels of x that the windows of a slice's channels span where they lie, or
/// has a copy of them, channel by channel, in a core's cache. Inner products are added up slice by slice: the tiles
/// change nothing in the sums.
template <class T>
class ConvolveChannels {
 public:
  using A = Arithmetic<T>;
  using Sizes = blas::Blocks<A>;

  ConvolveChannels(const DirectCall& call, const A* packed_weight, const ConvolutionOut& to, int threads)
      : windows_(call.windows),
        x_(call.x),
        out_(call.out),
        weight_(packed_weight),
        bias_(static_cast<const T*>(to.bias)),
        bias_stride_(to.bias_stride),
        finish_(to) {
    const TileExtents extents(windows_);
    const ChannelWeight<A> order{windows_};
    // The fewest rounds of all threads, where a tile costs a little whatever its size.
    std::int64_t least = INT64_MAX;
    for (std::int64_t pixels = most_pixels; pixels >= least_pixels; pixels = pixels * 3 / 4) {
      const OutTiles tiles = extents.tiles(pixels, most_x(windows_));
      const std::int64_t tile = tiles.rows * tiles.columns, of_image = tiles.of_image();
      for (std::int64_t parts = 1; parts <= order.panels(); ++parts) {
        const std::int64_t panels = ceil_div(order.panels(), parts);
        const std::int64_t rows = std::min(panels * order.panel, order.padded_rows());
        if (panels > 1 && tile * rows > most_sums) continue;
        const std::int64_t items = windows_.images * windows_.groups * of_image * ceil_div(order.panels(), panels);
        const std::int64_t time = ceil_div(items, threads) * (tile + 8) * (rows + 8);
        if (time >= least) continue;
        least = time;
        tiles_ = tiles;
        item_panels_ = panels;
        rows_ = rows;
      }
    }
    in_place_ = is_read_in_place(order.slice_channels());
    column_ = in_place_ ? x_.stride[3] : 1;
    row_ = in_place_ ? x_.stride[2] : extents.width(tiles_.columns);
    // An odd number of vectors: channels do not drive each other out of the first-level cache.
    plane_ = in_place_ ? x_.stride[1] : (ceil_div(extents.height(tiles_.rows) * row_, Sizes::lanes) | 1) * Sizes::lanes;
  }

  /// Whether it can be taken, and reads little of x that no window has.
  static bool suits(const Windows& windows) {
    const TileExtents extents(windows);
    const OutTiles tiles = extents.tiles(most_pixels, most_x(windows));
    const std::int64_t pixels = extents.pixels(tiles.rows, tiles.columns);
    return pixels <= most_x(windows) && pixels <= tiles.rows * tiles.columns * windows.taps();
  }
  /// How much of what is computed is an output channel, in hundredths.
  static std::int64_t use(const Windows& windows) {
    return 100 * windows.group_out_channels() / ChannelWeight<A>{windows}.padded_rows();
  }

  std::int64_t items() const { return windows_.images * windows_.groups * tiles_.of_image() * row_tiles(); }

  std::int64_t scratch_bytes() const {
    const ChannelWeight<A> order{windows_};
    const std::int64_t sums = blas::TileSums<A>::elements(tile_sums(), order.slices());
    return (x_numbers() + sums) * static_cast<std::int64_t>(sizeof(A)) +
           GroupPlaces::most(tiles_.rows * tiles_.columns, order.depth(0)) *
               static_cast<std::int64_t>(sizeof(std::int32_t));
  }

  void operator()(std::int64_t item, std::byte* scratch) const {
    const ChannelWeight<A> order{windows_};
    const OutTile tile = tiles_(item / row_tiles() / windows_.groups);
    const std::int64_t first_panel = item % row_tiles() * item_panels_;
    const std::int64_t group = item / row_tiles() % windows_.groups;
    const std::int64_t panels = std::min(item_panels_, order.panels() - first_panel);
    const std::int64_t first_row = first_panel * order.panel;
    const auto rows = static_cast<int>(std::min(rows_, windows_.group_out_channels() - first_row));
    A* const x = reinterpret_cast<A*>(scratch);
    A* const sums_memory = x + x_numbers();
    auto* const place =
        reinterpret_cast<std::int32_t*>(sums_memory + blas::TileSums<A>::elements(tile_sums(), order.slices()));
    // Longer windows are cut into chains, which are the same for all.
    const TapGroups groups(windows_, tile, windows_.taps() > Sizes::chain);
    find_places(place, groups, tile);
    blas::TileSums<A> sums_of_tile(sums_memory, tile_sums(), tile.pixels() * rows_);
    for (std::int64_t slice = 0; slice < order.slices(); ++slice) {
      const std::int64_t channel = group * windows_.group_channels() + slice * order.slice_channels();
      if (!in_place_) read(x, tile, channel, order.channels(slice));
      const A* const from = in_place_ ? static_cast<const A*>(x_.data) + x_.offset(tile.image, channel, 0, 0) : x;
      sums_of_tile.add_slice([&](A* sums, bool is_first) {
        // A panel of the weight stays in the first-level cache while all pixels pass by.
        for (std::int64_t i = 0; i < panels; ++i) {
          const std::int64_t panel = first_panel + i;
          blas::VectorPanel<A> weight{weight_ + order.offset(group, slice, panel),
                                      order.panel_rows(panel) / Sizes::lanes};
          if (i + 1 < panels) {
            weight.next = weight_ + order.offset(group, slice, panel + 1);
          } else if (slice + 1 < order.slices()) {
            weight.next = weight_ + order.offset(group, slice + 1, first_panel);
          }
          std::int32_t* at = place;
          for (const TapGroups::Group& pixels : groups) {
            const GroupPlaces lists(at, pixels, order.channels(0));
            blas::multiply_points(sums + i * order.panel, rows_,
                                  {from, lists.window, lists.pixel, pixels.pixels(), lists.element, lists.number},
                                  weight, order.channels(slice) * pixels.taps(), is_first);
            weight.next = nullptr;
            at = lists.end;
          }
        }
      });
    }
    write(sums_of_tile.finish(), tile, group * windows_.group_out_channels() + first_row, rows);
  }

 private:
  /// Pixels of a tile.
  static constexpr std::int64_t most_pixels = 256, least_pixels = 16;
  /// Sums of a tile, where it has more than a panel; and numbers of x, which a core's second-level cache has beside
  /// them.
  static constexpr std::int64_t most_sums = 1 << 16, most_slice = 1 << 15;

  /// The most pixels of a channel of x.
  static std::int64_t most_x(const Windows& windows) { return most_slice / ChannelWeight<A>{windows}.slice_channels(); }

  /// Whether x has numbers that can be computed with as they lie, and no window needs padding.
  bool is_read_in_place(std::int64_t channels) const {
    const std::int64_t reach = channels * std::abs(x_.stride[1]) + windows_.height * std::abs(x_.stride[2]) +
                               windows_.width * std::abs(x_.stride[3]);
    return std::is_same_v<T, A> && windows_.taps() <= Sizes::chain && TapGroups::leave_out_padding(windows_) &&
           reach < INT32_MAX;
  }
  /// Of a slice's channels, where they are copied.
  std::int64_t x_numbers() const { return in_place_ ? 0 : ChannelWeight<A>{windows_}.slice_channels() * plane_; }

  std::int64_t row_tiles() const { return ceil_div(ChannelWeight<A>{windows_}.panels(), item_panels_); }
  std::int64_t tile_sums() const { return tiles_.rows * tiles_.columns * rows_; }

  /// The lists of a group, one behind the other: where its windows begin, and the numbers of their pixels; where the
  /// elements of the inner axis lie in a window, and their numbers.
  struct GroupPlaces {
    GroupPlaces(std::int32_t* at, const TapGroups::Group& group, int channels)
        : window(at),
          pixel(window + group.pixels()),
          element(pixel + group.pixels()),
          number(element + channels * group.taps()),
          end(number + channels * group.taps()) {}

    /// How many numbers all groups of a tile have.
    static std::int64_t most(std::int64_t pixels, std::int64_t depth) { return 2 * (TapGroups::most * depth + pixels); }

    std::int32_t *window, *pixel, *element, *number, *end;
  };

  void find_places(std::int32_t* at, const TapGroups& groups, const OutTile& tile) const {
    const ChannelWeight<A> order{windows_};
    const std::int64_t top = in_place_ ? tile.i * windows_.stride_y - windows_.top : 0;
    const std::int64_t left = in_place_ ? tile.j * windows_.stride_x - windows_.left : 0;
    for (const TapGroups::Group& group : groups) {
      const auto& [rows, columns] = group;
      const GroupPlaces lists(at, group, order.channels(0));
      // A window begins at its first tap in x.
      const auto place = [&](std::int64_t row, std::int64_t column) {
        return static_cast<std::int32_t>(row * row_ + column * column_);
      };
      for (int i = 0, n = 0; i < rows.count; ++i) {
        for (int j = 0; j < columns.count; ++j, ++n) {
          const int at_row = rows.first + i, at_column = columns.first + j;
          lists.window[n] = place(top + at_row * windows_.stride_y + rows.taps.first * windows_.dilation_y,
                                  left + at_column * windows_.stride_x + columns.taps.first * windows_.dilation_x);
          lists.pixel[n] = at_row * tile.columns + at_column;
        }
      }
      for (int c = 0, n = 0; c < order.channels(0); ++c) {
        for (int k = rows.taps.first; k < rows.taps.end; ++k) {
          for (int l = columns.taps.first; l < columns.taps.end; ++l, ++n) {
            lists.element[n] =
                static_cast<std::int32_t>(c * plane_) +
                place((k - rows.taps.first) * windows_.dilation_y, (l - columns.taps.first) * windows_.dilation_x);
            lists.number[n] = static_cast<std::int32_t>((c * windows_.kernel_height + k) * windows_.kernel_width + l);
          }
        }
      }
      at = lists.end;
    }
  }

  /// Reads some channels of x, each into a plane of rows of row_ pixels; 0 where x has none.
  void read(A* to, const OutTile& tile, std::int64_t channel, int channels) const {
    const TileExtents extents(windows_);
    const std::int64_t first_y = tile.i * windows_.stride_y - windows_.top;
    const std::int64_t first_x = tile.j * windows_.stride_x - windows_.left;
    const std::int64_t width = extents.width(tile.columns);
    const std::int64_t from = std::clamp<std::int64_t>(-first_x, 0, width);
    const std::int64_t until = std::clamp<std::int64_t>(windows_.width - first_x, from, width);
    for (std::int64_t k = 0; k < extents.height(tile.rows); ++k, to += row_) {
      const std::int64_t y = first_y + k;
      const bool has_row = y >= 0 && y < windows_.height && from < until;
      clear(to, channels, has_row ? from : width);
      if (!has_row) continue;
      clear(to + until, channels, width - until);
      copy_lines(to + from, plane_, static_cast<const T*>(x_.data) + x_.offset(tile.image, channel, y, first_x + from),
                 x_.stride[1], x_.stride[3], channels, static_cast<int>(until - from));
    }
  }
  void clear(A* to, int channels, std::int64_t count) const {
    for (int c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < count; ++i) to[c * plane_ + i] = A(0);
    }
  }

  /// Rounds once, with the bias.
  void write(A* sums, const OutTile& tile, std::int64_t channel, int rows) const {
    const Finish<T> of_sums = finish_.of_sums(), finish = finish_.of_written();
    const bool is_run = tile.columns == windows_.out_width && out_.stride[2] == windows_.out_width * out_.stride[3];
    const int lines = is_run ? 1 : tile.rows, pixels = is_run ? tile.pixels() : tile.columns;
    // By blocks, which stay in the first-level cache; the last one is not short.
    constexpr int block = 32;
    for (int i = 0; i < lines; ++i) {
      A* from = sums + std::int64_t{i} * tile.columns * rows_;
      std::int64_t to = out_.offset(tile.image, channel, tile.i + i, tile.j);
      for (int left = pixels; left > 0;) {
        const int count = left < 2 * block ? left : block;
        add_bias(from, rows_, count, bias_, bias_stride_, channel, rows, of_sums);
        write_finished<T>(finish, out_, to, from, 1, rows_, rows, count);
        from += count * rows_;
        to += count * out_.stride[3];
        left -= count;
      }
    }
  }

  Windows windows_;
  Tensor4 x_, out_;
  const A* weight_;
  const T* bias_;
  std::int64_t bias_stride_;
  Finish<T> finish_;
  OutTiles tiles_{};
  std::int64_t item_panels_ = 1;
  std::int64_t rows_ = 0;              ///< of the sums of a pixel: output channels of a tile, in whole vectors
  bool in_place_ = false;              ///< whether x is read where it lies
  std::int64_t column_, row_, plane_;  ///< strides of x as it is read
};

}  // namespace portops::impl
