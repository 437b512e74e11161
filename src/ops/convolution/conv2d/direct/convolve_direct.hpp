// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/panels.hpp"
#include "ops/convolution/conv2d/direct/direct_windows.hpp"
#include "ops/convolution/conv2d/direct/weight_order.hpp"
#include "ops/convolution/copy_lines.hpp"
#include "ops/convolution/finish.hpp"
#include "ops/convolution/image_step.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// In panels of rows: all of them whole. Needs windows of at most Sizes::depth taps.
template <class A>
struct DirectWeight : WeightOrder {
  using Sizes = blas::Blocks<A>;
  explicit DirectWeight(const Windows& of_call)
      : WeightOrder{of_call, Sizes::depth, Sizes::panel_rows, Sizes::panel_rows} {}
};

template <class T>
using PackDirectWeight = PackWeightInOrder<T, DirectWeight<Arithmetic<T>>>;

/// On hosts: out = bias + weight · windows, an item a tile of positions (Positions) of an image and of output channels
/// of a group. Inner products are added up slice by slice: the tiles change nothing in the sums.
template <class T>
class ConvolveDirect {
 public:
  using A = Arithmetic<T>;
  using Sizes = blas::Blocks<A>;

  ConvolveDirect(const DirectCall& call, const A* packed_weight, const ConvolutionOut& to, int threads)
      : windows_(call.windows),
        positions_(call.windows),
        x_(call.x),
        out_(call.out),
        weight_(packed_weight),
        bias_(static_cast<const T*>(to.bias)),
        bias_stride_(to.bias_stride),
        finish_(to) {
    // The fewest rounds of all threads, where a tile costs a little whatever its size.
    std::int64_t least = INT64_MAX;
    for (int positions = Sizes::tile_columns; positions >= Sizes::panel_columns; positions /= 2) {
      const std::int64_t tiles =
          windows_.images * windows_.groups * row_tiles() * ceil_div(positions_.count, positions);
      const std::int64_t time = ceil_div(tiles, threads) * (positions + 8);
      if (time >= least) continue;
      least = time;
      tile_positions_ = positions;
    }
    const std::int64_t reach = Sizes::tile_columns + positions_.across.shift(windows_.kernel_width - 1);
    const std::int64_t all_reach = reach + positions_.down.shift(windows_.kernel_height - 1) * positions_.pitch;
    shares_rows_ = positions_.down.count * all_reach < windows_.kernel_height * reach;
    // An odd number of vectors: channels do not drive each other out of the first-level cache.
    length_ = (ceil_div(shares_rows_ ? all_reach : reach, Sizes::lanes) | 1) * Sizes::lanes;
  }

  /// Whether it can be taken, and few of the positions belong to no pixel.
  static bool suits(const Windows& windows) {
    if (windows.taps() > Sizes::depth) return false;
    const Positions positions(windows);
    return positions.across.shift(windows.kernel_width - 1) <= Sizes::tile_columns &&
           4 * windows.pixels() >= 3 * computed(positions);
  }
  /// How much of what is computed is a pixel's output channel, in hundredths; 0 where it cannot be taken.
  static std::int64_t use(const Windows& windows) {
    if (!suits(windows)) return 0;
    constexpr std::int64_t rows = Sizes::panel_rows / 3;  // fewer than a panel has are taken by thirds of it
    const std::int64_t outs = windows.group_out_channels();
    return 100 * windows.pixels() * outs / (computed(Positions(windows)) * ceil_div(outs, rows) * rows);
  }

  std::int64_t items() const { return windows_.images * windows_.groups * row_tiles() * position_tiles(); }

  std::int64_t scratch_bytes() const {
    const std::int64_t sums = blas::TileSums<A>::elements(tile_size, DirectWeight<A>{windows_}.slices());
    return (segments() * length_ + sums) * static_cast<std::int64_t>(sizeof(A)) +
           Sizes::depth * static_cast<std::int64_t>(sizeof(std::int32_t));
  }

  void operator()(std::int64_t item, std::byte* scratch) const {
    const std::int64_t first = item % position_tiles() * tile_positions_;
    std::int64_t rest = item / position_tiles();
    const std::int64_t first_row = rest % row_tiles() * tile_rows();
    rest /= row_tiles();
    const std::int64_t group = rest % windows_.groups, image = rest / windows_.groups;
    const auto count = static_cast<int>(std::min<std::int64_t>(tile_positions_, positions_.count - first));
    const auto rows = static_cast<int>(std::min(tile_rows(), windows_.group_out_channels() - first_row));
    A* const pixels = reinterpret_cast<A*>(scratch);
    A* const sums_memory = pixels + segments() * length_;
    const DirectWeight<A> order{windows_};
    auto* const place =
        reinterpret_cast<std::int32_t*>(sums_memory + blas::TileSums<A>::elements(tile_size, order.slices()));
    find_places(place);
    blas::TileSums<A> tile_sums(sums_memory, tile_size, rows * Sizes::tile_columns);
    for (std::int64_t slice = 0; slice < order.slices(); ++slice) {
      const int depth = order.depth(slice);
      read(pixels, image, group * windows_.group_channels() + slice * order.slice_channels(), order.channels(slice),
           first);
      const A* const weight = weight_ + order.offset(group, slice, first_row / Sizes::panel_rows);
      // What a panel of positions reads stays in the first-level cache while all rows pass by.
      tile_sums.add_slice([&](A* sums, bool is_first) {
        for (int j = 0; j < count; j += Sizes::panel_columns) {
          for (int i = 0; i < rows; i += Sizes::panel_rows) {
            blas::multiply_placed(sums + i * Sizes::tile_columns + j, Sizes::tile_columns, weight + i * depth,
                                  std::min(rows - i, Sizes::panel_rows), blas::PlacedRows<A>{pixels + j, place},
                                  count - j, depth, is_first);
          }
        }
      });
    }
    write(tile_sums.finish(), image, group * windows_.group_out_channels() + first_row, rows, first, count);
  }

 private:
  /// Output channels of a tile; a multiple of each processor's panel_rows.
  static constexpr int most_rows = 528;
  static_assert(most_rows % Sizes::panel_rows == 0);
  static constexpr int tile_size = Sizes::tile_columns * most_rows;

  /// Positions of whole vectors.
  static std::int64_t computed(const Positions& positions) {
    return ceil_div(positions.count, Sizes::lanes) * Sizes::lanes;
  }

  std::int64_t position_tiles() const { return ceil_div(positions_.count, tile_positions_); }
  std::int64_t row_tiles() const { return ceil_div(windows_.group_out_channels(), most_rows); }
  std::int64_t tile_rows() const {
    return ceil_div(ceil_div(windows_.group_out_channels(), row_tiles()), Sizes::panel_rows) * Sizes::panel_rows;
  }
  /// Of each channel: one for each phase across, and for each phase down or each row of taps.
  std::int64_t segments_down() const { return shares_rows_ ? positions_.down.count : windows_.kernel_height; }
  std::int64_t channel_segments() const { return segments_down() * positions_.across.count; }
  std::int64_t segments() const {
    return std::min(DirectWeight<A>{windows_}.slice_channels(), windows_.group_channels()) * channel_segments();
  }

  /// Where the elements of the inner axis have what the tile's first position reads.
  void find_places(std::int32_t* place) const {
    const AxisPhases &down = positions_.down, &across = positions_.across;
    const std::int64_t channels = segments() / channel_segments();
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t k = 0; k < windows_.kernel_height; ++k) {
        const std::int64_t row = c * segments_down() + (shares_rows_ ? down.phase(k) : k);
        const std::int64_t shift = shares_rows_ ? down.shift(k) * positions_.pitch : 0;
        for (std::int64_t l = 0; l < windows_.kernel_width; ++l) {
          const std::int64_t segment = row * across.count + across.phase(l);
          *place++ = static_cast<std::int32_t>(segment * length_ + shift + across.shift(l));
        }
      }
    }
  }

  /// Reads some channels of x, positions [first, first + length_) of each segment.
  void read(A* pixels, std::int64_t image, std::int64_t channel, int channels, std::int64_t first) const {
    const AxisPhases& across = positions_.across;
    const std::int64_t of_channel = channel_segments() * length_;
    for (std::int64_t down = 0; down < segments_down(); ++down) {
      for (std::int64_t phase = 0; phase < across.count; ++phase) {
        A* to = pixels + (down * across.count + phase) * length_;
        const std::int64_t begin = across.first(phase, 0), end = across.first(phase, windows_.width);
        std::int64_t i = first / positions_.pitch, t = first % positions_.pitch;
        for (std::int64_t left = length_; left > 0; ++i, t = 0) {
          const std::int64_t here = std::min(left, positions_.pitch - t);
          const std::int64_t y =
              shares_rows_ ? positions_.down.pixel(down, i) : positions_.down.pixel(0, i) + down * windows_.dilation_y;
          const bool has_row = y >= 0 && y < windows_.height;
          const std::int64_t from = has_row ? std::clamp<std::int64_t>(begin - t, 0, here) : here;
          const std::int64_t until = has_row ? std::clamp<std::int64_t>(end - t, from, here) : here;
          clear(to, of_channel, channels, from);
          clear(to + until, of_channel, channels, here - until);
          if (from < until) {
            const std::int64_t offset = x_.offset(image, channel, y, across.pixel(phase, t + from));
            copy_lines(to + from, of_channel, static_cast<const T*>(x_.data) + offset, x_.stride[1],
                       windows_.stride_x * x_.stride[3], channels, static_cast<int>(until - from));
          }
          to += here;
          left -= here;
        }
      }
    }
  }

  static void clear(A* to, std::int64_t of_channel, int channels, std::int64_t count) {
    constexpr std::int64_t few = 8;
    if (count > few) {
      for (int c = 0; c < channels; ++c) std::fill_n(to + c * of_channel, count, A(0));
    } else {
      for (std::int64_t at = 0; at < count; ++at) {
        for (int c = 0; c < channels; ++c) to[c * of_channel + at] = A(0);
      }
    }
  }

  /// Rounds once, with the bias, what belongs to pixels.
  void write(A* sums, std::int64_t image, std::int64_t channel, int rows, std::int64_t first, int count) const {
    if (bias_ != nullptr) {
      for (int i = 0; i < rows; ++i) {
        const A bias = static_cast<A>(bias_[(channel + i) * bias_stride_]);
        for (int j = 0; j < count; ++j) sums[i * Sizes::tile_columns + j] += bias;
      }
    }
    for (std::int64_t at = 0; at < count;) {
      const std::int64_t i = (first + at) / positions_.pitch, j = (first + at) % positions_.pitch;
      const std::int64_t here = std::min(count - at, positions_.pitch - j);
      const auto pixels = static_cast<int>(std::min(here, windows_.out_width - j));
      if (pixels > 0) {
        write_finished<T>(finish_, out_, out_.offset(image, channel, i, j), sums + at, Sizes::tile_columns, 1, rows,
                          pixels);
      }
      at += here;
    }
  }

  Windows windows_;
  Positions positions_;
  Tensor4 x_, out_;
  const A* weight_;
  const T* bias_;
  std::int64_t bias_stride_;
  Finish<T> finish_;
  int tile_positions_ = Sizes::tile_columns;
  bool shares_rows_;     ///< whether a segment has the rows of all taps in its phase down, or those of one
  std::int64_t length_;  ///< of a segment
};

}  // namespace portops::impl
