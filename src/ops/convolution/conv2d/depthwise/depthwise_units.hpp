// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/types/macros.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

// How depthwise convolution is cut into what a thread of a GPU takes. Nothing here knows Kokkos.

namespace portops::impl {

/// Whether windows are K × K, of those that kernels are made for. One tap with strides leaves out pixels of x, which
/// its gradient's blocks do not.
inline bool has_depthwise_window(const Windows& w) {
  if (w.kernel_height != w.kernel_width) return false;
  if (w.kernel_width == 1) return w.stride_y == 1 && w.stride_x == 1;
  return w.kernel_width == 3 || w.kernel_width == 5 || w.kernel_width == 7;
}

/// Calls action.operator()<K>() for such windows.
template <class Action>
void with_depthwise_window(const Windows& w, const Action& action) {
  switch (w.kernel_width) {
    case 1: return action.template operator()<1>();
    case 3: return action.template operator()<3>();
    case 5: return action.template operator()<5>();
    default: return action.template operator()<7>();
  }
}

/// The windows with x and out exchanged.
inline Windows exchanged(Windows w) {
  std::swap(w.channels, w.out_channels);
  std::swap(w.height, w.out_height);
  std::swap(w.width, w.out_width);
  return w;
}

/// A depthwise convolution as its kernels take it. windows.height and width are the extents of `from`, out_height and
/// out_width those of `to`, whichever of the two is x.
struct DepthwiseCall {
  Windows windows;
  bool turned = false;  ///< whether taps reach `from` as x_grad does out_grad, with strides that divide (Reach::turned)
  Tensor4 from, weight, to;
  const void* bias = nullptr;  ///< may be null
  std::int64_t bias_stride = 0;

  /// Whether neighbouring channels are neighbours in memory.
  bool has_channels_last() const { return windows.channels > 1 && from.stride[1] == 1 && to.stride[1] == 1; }
  /// Whether four neighbouring pixels are reached by all taps, in one way everywhere.
  bool has_blocks() const {
    const Windows& w = windows;
    return turned && w.dilation_y == 1 && w.dilation_x == 1 && w.stride_y == 2 && w.stride_x == 2;
  }
  /// Of strips of neighbouring pixels that have rows in common, from the first one to that of the next pixel: 1 or 2.
  /// Else 0.
  int shared_step() const {
    const Windows& w = windows;
    const bool shares =
        !turned && w.dilation_y == 1 && w.dilation_x == 1 && w.stride_y == w.stride_x && w.stride_y <= 2;
    return shares ? static_cast<int>(w.stride_y) : 0;
  }
  /// Whether sums of windows of K × K go by DepthwiseTiles, where pixels share what they read: where channels are
  /// neighbours, or windows of planes so large, and elements so small, that these are worth turning. Small elements
  /// that few windows share are read faster in strips, and so is what none share.
  static constexpr bool prefers_tiles(int K, int step, bool has_channels_last, std::size_t element_bytes) {
    const bool is_small = element_bytes == 2;
    if (K == 1) return false;
    return has_channels_last ? !(is_small && K == 3 && step == 2) : is_small && K == 5 && step == 1;
  }
  bool goes_by_tiles(std::size_t element_bytes) const {
    return shared_step() > 0 && fills_tiles() &&
           prefers_tiles(static_cast<int>(windows.kernel_width), shared_step(), has_channels_last(), element_bytes);
  }
  /// The same of its weight_grad.
  bool sums_in_tiles() const {
    constexpr std::int64_t small_plane = 1024;
    const bool turns_planes = windows.kernel_width > 3 || windows.area() <= small_plane;
    return shared_step() > 0 && fills_tiles() && (has_channels_last() || turns_planes);
  }

 private:
  /// Whether tiles of 32 channels have most of them.
  bool fills_tiles() const { return 4 * windows.channels >= 3 * 32 * ceil_div(windows.channels, 32); }
};

/// The strips of so many pixels, one under the other, of all images.
class DepthwiseUnits {
 public:
  DepthwiseUnits(const Windows& w, int rows)
      : rows_(rows),
        strips_(static_cast<std::uint32_t>(ceil_div(w.out_height, rows))),
        width_(static_cast<std::uint32_t>(w.out_width)),
        count_(w.images * strips_.value() * w.out_width) {}

  int rows() const { return rows_; }
  PORTOPS_FUNCTION std::int64_t count() const { return count_; }

  struct Unit {
    std::uint32_t plane;  ///< an image, or a channel of one
    std::int32_t i, j;    ///< the first pixel
  };
  /// Strips are counted plane by plane, along the rows.
  PORTOPS_FUNCTION Unit in_plane(std::uint32_t index) const {
    const std::uint32_t row = width_.quotient(index), plane = strips_.quotient(row);
    return {plane, static_cast<std::int32_t>(row - plane * strips_.value()) * rows_,
            static_cast<std::int32_t>(index - row * width_.value())};
  }

 private:
  std::int32_t rows_;
  Divisor strips_, width_;
  std::int64_t count_;
};

/// How a team's threads share out channels and units: a thread takes `pack` neighbouring channels, so many threads lie
/// side by side, and the others take the same channels of other units.
class ChannelBlocks {
 public:
  static constexpr int threads = 256;  ///< of a team

  /// One channel for the whole team or, where channels are neighbours, as many packs as leave the fewest threads
  /// without any, up to a warp's.
  ChannelBlocks(std::int64_t channels, int pack, bool are_neighbours)
      : all_(static_cast<std::int32_t>(channels)), pack_(pack) {
    if (!are_neighbours) return;
    std::int64_t least = INT64_MAX;
    for (int bits = 5; bits >= 3; --bits) {
      const std::int64_t taken = ceil_div(channels, pack << bits) << bits;
      if (taken >= least) continue;
      least = taken;
      pack_bits_ = bits;
    }
  }

  PORTOPS_FUNCTION std::int32_t all() const { return all_; }
  std::int64_t blocks() const { return ceil_div(all_, channels()); }
  /// Of a block.
  PORTOPS_FUNCTION int channels() const { return pack_ << pack_bits_; }
  PORTOPS_FUNCTION int pack_bits() const { return pack_bits_; }
  PORTOPS_FUNCTION int packs() const { return 1 << pack_bits_; }
  /// Units that the team takes at once.
  PORTOPS_FUNCTION int slots() const { return threads >> pack_bits_; }
  PORTOPS_FUNCTION int pack_of(int thread) const { return thread & (packs() - 1); }
  PORTOPS_FUNCTION int slot_of(int thread) const { return thread >> pack_bits_; }

 private:
  std::int32_t all_;
  int pack_;
  int pack_bits_ = 0;
};

/// How weight_grad is cut into teams: a chunk of the strips, and a block of channels. By extents and the order of the
/// axes in memory alone, so that sums are the same on every GPU and wherever tensors lie.
class DepthwiseWeightGradPlan {
 public:
  /// Pixels of a strip, for windows of K × K: as many as share what they read, if they do.
  static constexpr int rows(int K, bool shares) { return shares ? 4 : K > 3 ? 1 : 2; }

  explicit DepthwiseWeightGradPlan(const DepthwiseCall& call)
      : units_(call.windows, rows(static_cast<int>(call.windows.kernel_width), call.shared_step() > 0)),
        block_(call.windows.channels, 1, call.has_channels_last()) {
    // Enough teams for a GPU, with enough strips a thread for its sums to be worth adding up, and few enough for a
    // chain.
    constexpr std::int64_t enough_teams = 1024, least = 2, chain = 64;
    const std::int64_t wanted = std::max<std::int64_t>(1, enough_teams / block_.blocks());
    const std::int64_t of_thread =
        std::clamp(ceil_div(units_.count(), wanted * block_.slots()), least, chain / units_.rows());
    chunk_units_ = of_thread * block_.slots();
    chunks_ = ceil_div(units_.count(), chunk_units_);
    sums_ = chunks_ * call.windows.channels * call.windows.taps();
  }

  PORTOPS_FUNCTION const DepthwiseUnits& units() const { return units_; }
  PORTOPS_FUNCTION const ChannelBlocks& block() const { return block_; }
  PORTOPS_FUNCTION std::int64_t chunk_units() const { return chunk_units_; }
  PORTOPS_FUNCTION std::int64_t chunks() const { return chunks_; }
  /// Those of all chunks, for which there must be memory.
  std::int64_t sums() const { return sums_; }

 private:
  DepthwiseUnits units_;
  ChannelBlocks block_;
  std::int64_t chunk_units_, chunks_, sums_;
};

}  // namespace portops::impl
