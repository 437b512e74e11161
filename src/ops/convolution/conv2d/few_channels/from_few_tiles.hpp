// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/types/macros.hpp"
#include "ops/convolution/conv2d/few_channels/from_few_plan.hpp"
#include "ops/convolution/pixel_sampling.hpp"

#include <cstdint>

namespace portops::impl {

/// What the kernels of a FromFewPlan share: which tile is whose, and what of it a thread has.
template <class T>
class FromFewTiles {
 public:
  using A = Arithmetic<T>;
  static constexpr int strip = FromFewPlan::strip, threads = FromFewPlan::threads;
  static constexpr int own_outs = FromFewPlan::own_bytes / static_cast<int>(sizeof(A));
  /// Of a thread's output channels.
  using Outs = Word<T, own_outs>;

  FromFewTiles(const FromFewPlan& plan, const Tensor4& x)
      : across(static_cast<std::uint32_t>(plan.across)),
        tiles_across(static_cast<std::uint32_t>(plan.tiles_across)),
        tiles_down(static_cast<std::uint32_t>(plan.tiles_down)),
        patch_width(static_cast<std::uint32_t>(plan.patch_width)),
        patch_height(static_cast<std::uint32_t>(plan.patch_height)),
        kernel_width(static_cast<std::uint32_t>(plan.windows.kernel_width)),
        taps(static_cast<std::uint32_t>(plan.windows.taps())),
        lanes(plan.lanes),
        rows(plan.rows),
        rounds(plan.rounds),
        patch_size(static_cast<std::int32_t>(plan.patch_size())),
        column(static_cast<std::int32_t>(plan.windows.column())),
        outs(static_cast<std::int32_t>(plan.windows.out_channels)),
        out_height(static_cast<std::int32_t>(plan.windows.out_height)),
        out_width(static_cast<std::int32_t>(plan.windows.out_width)),
        pixel_step(plan.has_packs ? 1 : plan.across),
        has_packs(plan.has_packs),
        windows_(plan.windows),
        x_(x) {}

  /// A tile: the image, and its first pixel in out.
  struct Tile {
    std::int32_t image, y, x;
  };
  KOKKOS_FORCEINLINE_FUNCTION Tile tile_of(std::uint32_t index) const {
    const std::uint32_t line = tiles_across.quotient(index), image = tiles_down.quotient(line);
    const std::uint32_t down = line - image * tiles_down.value();
    return {static_cast<std::int32_t>(image), static_cast<std::int32_t>(down) * rows * rounds,
            static_cast<std::int32_t>((index - line * tiles_across.value()) * across.value()) * strip};
  }

  /// Brings what a tile reads of x, zeros outside of it.
  KOKKOS_FORCEINLINE_FUNCTION void stage(const Tile& tile, int thread, A* to) const {
    const PixelPlace first{tile.image, tile.y, tile.x};
    const std::int32_t top = windows_.y(first, 0), left = windows_.x(first, 0);
    for (std::int32_t i = thread; i < patch_size; i += threads) {
      const std::uint32_t line = patch_width.quotient(static_cast<std::uint32_t>(i));
      const std::uint32_t channel = patch_height.quotient(line);
      const std::int32_t y = top + static_cast<std::int32_t>(line - channel * patch_height.value());
      const std::int32_t x = left + i - static_cast<std::int32_t>(line * patch_width.value());
      const bool is_inside = y >= 0 && y < windows_.height && x >= 0 && x < windows_.width;
      to[i] =
          is_inside ? static_cast<A>(x_.data[x_.offset(tile.image, static_cast<std::int32_t>(channel), y, x)]) : A(0);
    }
  }

  /// An element of a window; they are counted tap by tap of each channel.
  struct Element {
    std::int32_t channel, k, l;
  };
  KOKKOS_FORCEINLINE_FUNCTION Element element_of(std::uint32_t index) const {
    const std::uint32_t channel = taps.quotient(index), tap = index - channel * taps.value();
    const std::uint32_t k = kernel_width.quotient(tap), l = tap - k * kernel_width.value();
    return {static_cast<std::int32_t>(channel), static_cast<std::int32_t>(k), static_cast<std::int32_t>(l)};
  }
  /// Where it lies in the patch, from the window's first one on.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t place_in_window(const Element& element) const {
    return element.channel * channel_distance() + element.k * row_step() + element.l * tap_step();
  }

  /// Which of the threads is one that share a strip out.
  KOKKOS_FORCEINLINE_FUNCTION int lane_of(int thread) const {
    return has_packs ? thread % lanes : thread / (threads / lanes);
  }
  /// A thread's strip in a round: the row, from the tile's first, and the column of its first pixel; the others are
  /// pixel_step apart. Where there are none, `exists` is false.
  struct Strip {
    std::int32_t row, column;
    bool exists;
  };
  KOKKOS_FORCEINLINE_FUNCTION Strip strip_of(int thread) const {
    const auto slot = static_cast<std::uint32_t>(has_packs ? thread / lanes : thread % (threads / lanes));
    const std::uint32_t row = across.quotient(slot);
    const auto in_row = static_cast<std::int32_t>(slot - row * across.value());
    return {static_cast<std::int32_t>(row), has_packs ? in_row * strip : in_row, static_cast<std::int32_t>(row) < rows};
  }
  /// Where the window of a strip's first pixel begins in the patch, in a round.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t window_of(const Strip& its, int round) const {
    return (round * rows + its.row) * windows_.stride_y * row_distance() + its.column * windows_.stride_x;
  }
  /// How far apart the patch has what windows read: from pixel to pixel of a strip, from channel to channel, from row
  /// to row of x, and from tap to tap, down and across.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t pixel_distance() const { return pixel_step * windows_.stride_x; }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t channel_distance() const {
    return static_cast<std::int32_t>(patch_height.value()) * row_distance();
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t row_distance() const {
    return static_cast<std::int32_t>(patch_width.value());
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t row_step() const { return windows_.dilation_y * row_distance(); }
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t tap_step() const { return windows_.dilation_x; }

  Divisor across, tiles_across, tiles_down, patch_width, patch_height, kernel_width, taps;
  std::int32_t lanes, rows, rounds;
  std::int32_t patch_size, column;  ///< numbers of a patch, and of a window
  std::int32_t outs, out_height, out_width;
  std::int32_t pixel_step;  ///< from pixel to pixel of a strip
  bool has_packs;           ///< of output channels

 private:
  TapPositions windows_;
  Tensor32<const T> x_;
};

}  // namespace portops::impl
