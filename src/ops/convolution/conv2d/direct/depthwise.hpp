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
#include <cstdlib>
#include <type_traits>

// Depthwise convolution on hosts: groups of one channel and one output channel, side by side in vectors.

namespace portops::impl {

/// Channels side by side: whole vectors, or those that are left over.
struct ChannelBlock {
  std::int64_t first;
  int count;
};

/// Where the windows of a tile are read: in the tensor itself, where only what is in the image may be read, or in a
/// copy, which has zeros around it.
template <class A>
struct WindowSource {
  const A* data;                  ///< of the pixel (0, 0) of the image or of the copy
  std::int64_t row, pixel;        ///< distances
  std::int64_t first_y, first_x;  ///< where the tile's first window begins
  std::int64_t height, width;

  const A* at(std::int64_t y, std::int64_t x) const { return data + y * row + x * pixel; }
};

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
        tiles_(tile_of_x_.tiles(most_pixels, most_numbers / most_channels)) {
    const std::int64_t vectors = windows_.channels / Sizes::lanes;
    whole_blocks_ = ceil_div(vectors, most_channels / Sizes::lanes);
    block_channels_ = whole_blocks_ == 0 ? 0 : ceil_div(vectors, whole_blocks_) * Sizes::lanes;
  }

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
  std::int64_t all_tiles() const { return windows_.images * tiles_.of_image(); }

  std::int64_t blocks() const { return whole_blocks_ + (windows_.channels % Sizes::lanes != 0 ? 1 : 0); }
  ChannelBlock block(std::int64_t index) const {
    const std::int64_t whole = windows_.channels / Sizes::lanes * Sizes::lanes;
    const std::int64_t first = std::min(index * block_channels_, whole);
    const std::int64_t end = index < whole_blocks_ ? std::min(first + block_channels_, whole) : windows_.channels;
    return {first, static_cast<int>(end - first)};
  }

  /// Of so many pixels or taps, behind which a vector may be read or written.
  static std::int64_t numbers(std::int64_t pixels) { return (pixels + 1) * most_channels; }
  std::int64_t x_numbers() const { return numbers(tile_of_x_.pixels(tiles_.rows, tiles_.columns)); }

  /// Of a tile: x where it lies, if whole vectors of channels can be read there, or a copy in `memory`.
  WindowSource<A> source(const OutTile& tile, const ChannelBlock& block, A* memory) const {
    const std::int64_t y = tile.i * windows_.stride_y - windows_.top, x = tile.j * windows_.stride_x - windows_.left;
    if constexpr (std::is_same_v<T, A>) {
      if (suits_in_place(x_, block)) {
        return {static_cast<const A*>(x_.data) + x_.offset(tile.image, block.first, 0, 0),
                x_.stride[2],
                x_.stride[3],
                y,
                x,
                windows_.height,
                windows_.width};
      }
    }
    const std::int64_t width = tile_of_x_.width(tile.columns);
    tile_of_x_.read(memory, x_, tile, block.first, block.count);
    return {memory, width * block.count, block.count, 0, 0, tile_of_x_.height(tile.rows), width};
  }

  /// Whether a tensor has a block's channels, whole vectors of them, as neighbours in the type that is computed in, and
  /// windows within 32 bits.
  bool suits_in_place(const Tensor4& tensor, const ChannelBlock& block) const {
    const auto reach = [](std::int64_t extent, std::int64_t stride) { return extent * std::abs(stride); };
    return std::is_same_v<T, A> && tensor.stride[1] == 1 && block.count % Sizes::lanes == 0 &&
           reach(std::max(windows_.kernel_height * windows_.dilation_y, tiles_.rows * windows_.stride_y),
                 tensor.stride[2]) +
                   reach(std::max(windows_.kernel_width * windows_.dilation_x, tiles_.columns * windows_.stride_x),
                         tensor.stride[3]) <
               INT32_MAX;
  }

  /// The taps [begin, end) along an axis that a window has inside of an extent, where it begins at `at`.
  struct Taps {
    std::int64_t begin, end;

    /// All of them.
    explicit Taps(std::int64_t taps) : begin(0), end(taps) {}
    Taps(std::int64_t at, std::int64_t taps, std::int64_t dilation, std::int64_t extent)
        : begin(at < 0 ? std::min(taps, ceil_div(-at, dilation)) : 0),
          end(at >= extent ? begin : std::clamp(ceil_div(extent - at, dilation), begin, taps)) {}
  };
  Taps rows_of(const WindowSource<A>& from, std::int64_t y) const {
    return {y, windows_.kernel_height, windows_.dilation_y, from.height};
  }
  Taps columns_of(const WindowSource<A>& from, std::int64_t x) const {
    return {x, windows_.kernel_width, windows_.dilation_x, from.width};
  }

  /// The pixels [begin, end) of a tile along an axis whose windows have all their taps inside.
  struct Inner {
    int begin, end;

    Inner(std::int64_t first, int pixels, std::int64_t stride, std::int64_t reach, std::int64_t extent) {
      const std::int64_t left = extent - reach - first;
      begin = static_cast<int>(first >= 0 ? 0 : std::min<std::int64_t>(pixels, ceil_div(-first, stride)));
      end = left <= 0 ? begin : static_cast<int>(std::clamp<std::int64_t>(ceil_div(left, stride), begin, pixels));
    }

    /// Calls action(pixel) for the others.
    template <class Action>
    void for_others(int pixels, const Action& action) const {
      for (int i = 0; i < pixels; ++i) {
        if (i < begin || i >= end) action(i);
      }
    }
  };
  Inner inner_rows(const WindowSource<A>& from, const OutTile& tile) const {
    return {from.first_y, tile.rows, windows_.stride_y, (windows_.kernel_height - 1) * windows_.dilation_y,
            from.height};
  }
  Inner inner_columns(const WindowSource<A>& from, const OutTile& tile) const {
    return {from.first_x, tile.columns, windows_.stride_x, (windows_.kernel_width - 1) * windows_.dilation_x,
            from.width};
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
  std::int64_t whole_blocks_, block_channels_;
};

/// out = bias + weight · windows, an item a tile of `out` and a block of channels.
template <class T>
class ConvolveDepthwise {
 public:
  using A = Arithmetic<T>;
  using Common = Depthwise<T>;
  using Taps = typename Common::Taps;

  ConvolveDepthwise(const DirectCall& call, const Tensor4& weight, const ConvolutionOut& to)
      : common_(call),
        weight_(weight),
        bias_(static_cast<const T*>(to.bias)),
        bias_stride_(to.bias_stride),
        finish_(to) {}

  std::int64_t items() const { return common_.all_tiles() * common_.blocks(); }
  std::int64_t scratch_bytes() const {
    return (common_.x_numbers() + 2 * Common::numbers(common_.windows().taps()) +
            Common::numbers(Common::most_pixels)) *
               static_cast<std::int64_t>(sizeof(A)) +
           2 * common_.windows().taps() * static_cast<std::int64_t>(sizeof(std::int32_t));
  }

  void operator()(std::int64_t item, std::byte* scratch) const {
    const Windows& windows = common_.windows();
    const ChannelBlock block = common_.block(item % common_.blocks());
    const OutTile tile = common_.tiles()(item / common_.blocks());
    A* const x = reinterpret_cast<A*>(scratch);
    A* const weight = x + common_.x_numbers();
    A* const some_weight = weight + Common::numbers(windows.taps());
    A* const sums = some_weight + Common::numbers(windows.taps());
    alignas(64) A bias[Common::most_channels] = {};
    for (int c = 0; c < block.count && bias_ != nullptr; ++c) {
      bias[c] = static_cast<A>(bias_[(block.first + c) * bias_stride_]);
    }
    auto* const place = reinterpret_cast<std::int32_t*>(sums + Common::numbers(Common::most_pixels));
    const WindowSource<A> from = common_.source(tile, block, x);
    const PackedTaps all = pack_taps(weight, place, from, block, Taps(windows.kernel_width));
    const Target to = target(tile, block, sums, bias);
    const auto rows = common_.inner_rows(from, tile);
    const auto columns = common_.inner_columns(from, tile);
    const auto y_of = [&](int i) { return from.first_y + i * windows.stride_y; };
    for (int i = 0; i < tile.rows; ++i) {
      multiply(all, from, {i, columns.begin, 1, columns.end - columns.begin}, common_.rows_of(from, y_of(i)), to);
    }
    // Windows that lie beyond the image on the left or the right have some taps, alike in all rows.
    columns.for_others(tile.columns, [&](int j) {
      const auto some = common_.columns_of(from, from.first_x + j * windows.stride_x);
      const PackedTaps taps = pack_taps(some_weight, place + windows.taps(), from, block, some);
      multiply(taps, from, {rows.begin, j, rows.end - rows.begin, 1}, Taps(windows.kernel_height), to);
      rows.for_others(tile.rows,
                      [&](int i) { multiply(taps, from, {i, j, 1, 1}, common_.rows_of(from, y_of(i)), to); });
    });
    if (to.data == sums) write(sums, tile, block);
  }

 private:
  /// Some taps of each row of the window, row by row.
  struct PackedTaps {
    const A* weight;
    const std::int32_t* place;
    std::int64_t of_row;
    int channels;
  };
  PackedTaps pack_taps(A* weight, std::int32_t* place, const WindowSource<A>& from, const ChannelBlock& block,
                       const Taps& columns) const {
    const Windows& windows = common_.windows();
    std::int64_t tap = 0;
    for (std::int64_t k = 0; k < windows.kernel_height; ++k) {
      for (std::int64_t l = columns.begin; l < columns.end; ++l, ++tap) {
        place[tap] = static_cast<std::int32_t>(k * windows.dilation_y * from.row + l * windows.dilation_x * from.pixel);
        const T* const of_tap = static_cast<const T*>(weight_.data) + weight_.offset(block.first, 0, k, l);
        A* const to = weight + tap * block.count;
        for (int c = 0; c < block.count; ++c) to[c] = static_cast<A>(of_tap[c * weight_.stride[0]]);
      }
    }
    return {weight, place, columns.end - columns.begin, block.count};
  }

  /// Pixels of a tile in a row or in a column.
  struct Pixels {
    int i, j, rows, columns;
  };
  /// Where the sums of a tile's pixels are made, from the bias on: in `out` itself, where whole vectors can be written
  /// there and nothing else is to be done with them, or in memory of their own.
  struct Target {
    A* data;
    std::int64_t row, pixel;
    const A* bias;

    A* at(int i, int j) const { return data + i * row + j * pixel; }
  };
  Target target(const OutTile& tile, const ChannelBlock& block, A* sums, const A* bias) const {
    const Tensor4& out = common_.out();
    if constexpr (std::is_same_v<T, A>) {
      if (!finish_ && common_.suits_in_place(out, block)) {
        return {static_cast<A*>(out.data) + out.offset(tile.image, block.first, tile.i, tile.j), out.stride[2],
                out.stride[3], bias};
      }
    }
    return {sums, std::int64_t{tile.columns} * block.count, block.count, bias};
  }

  /// The sums of some pixels over the taps in such rows of the window.
  void multiply(const PackedTaps& taps, const WindowSource<A>& from, const Pixels& pixels, const Taps& rows,
                const Target& to) const {
    const Windows& windows = common_.windows();
    const bool is_column = pixels.rows != 1;
    const int count = pixels.rows * pixels.columns;
    const std::int64_t to_step = is_column ? to.row : to.pixel;
    A* const sums = to.at(pixels.i, pixels.j);
    const std::int64_t first = rows.begin * taps.of_row, depth = (rows.end - rows.begin) * taps.of_row;
    if (depth == 0) {
      for (int p = 0; p < count; ++p) std::copy_n(to.bias, taps.channels, sums + p * to_step);
      return;
    }
    const A* const data =
        from.at(from.first_y + pixels.i * windows.stride_y, from.first_x + pixels.j * windows.stride_x);
    const std::int64_t step = is_column ? windows.stride_y * from.row : windows.stride_x * from.pixel;
    blas::multiply_lanes(sums, to_step, {taps.weight + first * taps.channels, taps.channels},
                         {{data, taps.place + first}, step, count}, taps.channels, static_cast<int>(depth), to.bias);
  }

  /// Rounds once.
  void write(A* sums, const OutTile& tile, const ChannelBlock& block) const {
    common_.for_runs(tile, [&](int at, std::int64_t i, std::int64_t j, int pixels) {
      write_finished<T>(finish_, common_.out(), common_.out().offset(tile.image, block.first, i, j),
                        sums + at * block.count, 1, block.count, block.count, pixels);
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
  std::int64_t items() const { return plan_.parts() * common_.blocks(); }
  std::int64_t scratch_bytes() const {
    return (common_.x_numbers() + Common::numbers(Common::most_pixels) +
            blas::TileSums<A>::elements(sums_size(), plan_.part_tiles)) *
               static_cast<std::int64_t>(sizeof(A)) +
           2 * Common::most_pixels * static_cast<std::int64_t>(sizeof(std::int32_t));
  }

  void operator()(std::int64_t index, std::byte* scratch) const {
    const Windows& windows = common_.windows();
    const std::int64_t part = index / common_.blocks();
    const ChannelBlock block = common_.block(index % common_.blocks());
    A* const x = reinterpret_cast<A*>(scratch);
    A* const out_grad = x + common_.x_numbers();
    A* const sums_memory = out_grad + Common::numbers(Common::most_pixels);
    auto* const place =
        reinterpret_cast<std::int32_t*>(sums_memory + blas::TileSums<A>::elements(sums_size(), plan_.part_tiles));
    blas::TileSums<A> tile_sums(sums_memory, sums_size(), sums_size());
    const std::int64_t first = part * plan_.part_tiles, end = std::min(first + plan_.part_tiles, plan_.tiles);
    for (std::int64_t i = first; i < end; ++i) {
      const OutTile tile = common_.tiles()(i);
      const WindowSource<A> from = common_.source(tile, block, x);
      for (int j = 0; j < tile.columns; ++j) place[j] = static_cast<std::int32_t>(j * windows.stride_x * from.pixel);
      std::int32_t* const row_place = place + Common::most_pixels;
      for (int k = 0; k < tile.rows; ++k) row_place[k] = static_cast<std::int32_t>(k * windows.stride_y * from.row);
      const OutGradTile grads = read_out_grad(tile, block, out_grad);
      tile_sums.add_slice([&](A* sums, bool is_first) {
        if (is_first) std::fill_n(sums, sums_size(), A(0));
        add_tile(sums, from, grads, tile, place, row_place, block.count);
      });
    }
    const A* const sums = tile_sums.finish();
    for (std::int64_t tap = 0; tap < windows.taps(); ++tap) {
      std::copy_n(sums + tap * Common::most_channels, block.count,
                  part_sums_ + part * plan_.sums() + tap * windows.channels + block.first);
    }
  }

 private:
  struct OutGradTile {
    const A* data;
    std::int64_t row, pixel;
  };

  /// Where it lies, or in a copy.
  OutGradTile read_out_grad(const OutTile& tile, const ChannelBlock& block, A* memory) const {
    const Tensor4& from = common_.out();
    if constexpr (std::is_same_v<T, A>) {
      if (common_.suits_in_place(from, block)) {
        return {static_cast<const A*>(from.data) + from.offset(tile.image, block.first, tile.i, tile.j), from.stride[2],
                from.stride[3]};
      }
    }
    common_.for_runs(tile, [&](int at, std::int64_t row, std::int64_t column, int pixels) {
      copy_lines(memory + at * block.count, block.count,
                 static_cast<const T*>(from.data) + from.offset(tile.image, block.first, row, column), from.stride[3],
                 from.stride[1], pixels, block.count);
    });
    return {memory, std::int64_t{tile.columns} * block.count, block.count};
  }

  /// Adds to all taps what a tile gives.
  void add_tile(A* sums, const WindowSource<A>& from, const OutGradTile& grads, const OutTile& tile,
                const std::int32_t* place, const std::int32_t* row_place, int channels) const {
    constexpr int tap = Common::most_channels;
    const Windows& windows = common_.windows();
    const std::int64_t kernel_width = windows.kernel_width, across = windows.dilation_x * from.pixel,
                       down = windows.dilation_y * from.row;
    const auto rows = common_.inner_rows(from, tile);
    const auto columns = common_.inner_columns(from, tile);
    const auto grad_at = [&](int i, int j) { return grads.data + i * grads.row + j * grads.pixel; };
    // The first pixel that a tap of the window of a pixel reads.
    const auto x_at = [&](int i, int j, std::int64_t k, std::int64_t l) {
      return from.at(from.first_y + i * windows.stride_y + k * windows.dilation_y,
                     from.first_x + j * windows.stride_x + l * windows.dilation_x);
    };
    // Row by row, for all taps of a row of windows at once.
    for (int i = 0; i < tile.rows && columns.begin < columns.end; ++i) {
      const auto taps = common_.rows_of(from, from.first_y + i * windows.stride_y);
      for (std::int64_t k = taps.begin; k < taps.end; ++k) {
        blas::multiply_lanes(sums + k * kernel_width * tap, tap, {grad_at(i, columns.begin), grads.pixel},
                             {{x_at(i, columns.begin, k, 0), place}, across, static_cast<int>(kernel_width)}, channels,
                             columns.end - columns.begin);
      }
    }
    // Of windows that lie beyond the image on the left or the right column by column, for all taps of a column.
    columns.for_others(tile.columns, [&](int j) {
      const auto taps = common_.columns_of(from, from.first_x + j * windows.stride_x);
      const auto add = [&](int i, int depth, std::int64_t begin, std::int64_t end) {
        if (depth == 0 || begin == end) return;
        for (std::int64_t l = taps.begin; l < taps.end; ++l) {
          blas::multiply_lanes(sums + (begin * kernel_width + l) * tap, kernel_width * tap, {grad_at(i, j), grads.row},
                               {{x_at(i, j, begin, l), row_place}, down, static_cast<int>(end - begin)}, channels,
                               depth);
        }
      };
      add(rows.begin, rows.end - rows.begin, 0, windows.kernel_height);
      rows.for_others(tile.rows, [&](int i) {
        const auto some = common_.rows_of(from, from.first_y + i * windows.stride_y);
        add(i, 1, some.begin, some.end);
      });
    });
  }

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
