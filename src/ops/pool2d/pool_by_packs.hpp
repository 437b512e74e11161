// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/pool2d/pool_blocks.hpp"

namespace portops::impl {

/// What a thread takes where windows have K by K pixels, two apart, of which K − 2 lie in the padding in front
/// (PoolPlan::by_packs): K − 1 windows below each other of a pack of neighbours. The padding in front is all that the
/// windows have beside two pixels each: along an axis, window w has 2 w − before + [0, K). Where neighbours are columns
/// their pixels in a row are one access, side by side with those of the threads beside it.
template <int K, bool by_channels, int pack>
struct PackShape {
  static constexpr int channels = by_channels ? pack : 1;
  static constexpr int rows = K - 1;
  static constexpr int columns = by_channels ? 1 : pack;
  static constexpr int before = K - 2;
  static constexpr BlockShape block = {channels, rows, columns};
};

/// out = the maximum or the average of such windows, on a GPU.
template <class T, int K, bool by_channels, int pack, PoolKind kind>
class PoolByPacks {
 public:
  using A = Arithmetic<T>;
  using Shape = PackShape<K, by_channels, pack>;
  static constexpr int blocks = 0;

  explicit PoolByPacks(const PoolPlan& plan)
      : blocks_(plan, plan.down.windows, plan.across.windows, Shape::block),
        down_(axis_of<int>(plan.down)),
        across_(axis_of<int>(plan.across)),
        x_(tensor_of<int>(plan.x)),
        out_(tensor_of<int>(plan.out)),
        index_(tensor_of<int>(plan.index)),
        exclusive_(plan.exclusive) {}

  std::int64_t items() const { return blocks_.count(); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const PoolBlock<int> block = blocks_[item];
    A value[rows][columns][channels];
    int found[rows][columns]
             [channels];  // row · width + column, of the pixels that are read; −1: nothing larger than −∞
    PORTOPS_UNROLL
    for (int i = 0; i < rows * columns * channels; ++i) {
      value[i / (columns * channels)][i / channels % columns][i % channels] = nothing;
      found[i / (columns * channels)][i / channels % columns][i % channels] = -1;
    }
    PORTOPS_UNROLL
    for (int r = 0; r < pixel_rows; ++r) {
      A pixel[width][channels];
      read_row(pixel, block, 2 * block.row - before + r);
      PORTOPS_UNROLL
      for (int c = 0; c < columns; ++c) {
        PORTOPS_UNROLL
        for (int k = 0; k < channels; ++k) {
          A of_row = pixel[2 * c][k];
          int at = r * width + 2 * c;
          PORTOPS_UNROLL
          for (int tap = 1; tap < K; ++tap) add(of_row, at, pixel[2 * c + tap][k], r * width + 2 * c + tap);
          PORTOPS_UNROLL
          for (int i = 0; i < rows; ++i) {
            if (r >= 2 * i && r < 2 * i + K) add(value[i][c][k], found[i][c][k], of_row, at);
          }
        }
      }
    }
    PORTOPS_UNROLL
    for (int i = 0; i < rows; ++i) {
      if (block.row + i < down_.windows) write(value[i], found[i], block, i);
    }
  }

 private:
  static constexpr bool is_max = kind != PoolKind::average;
  static constexpr int rows = Shape::rows, columns = Shape::columns, channels = Shape::channels;
  static constexpr int before = Shape::before;
  static constexpr int pixel_rows = 2 * (rows - 1) + K;
  static constexpr int width = 2 * (columns - 1) + K;
  static constexpr A nothing = is_max ? no_maximum<A> : A(0);

  KOKKOS_FORCEINLINE_FUNCTION static void add(A& value, int& at, A other, int its) {
    if constexpr (!is_max) {
      value += other;
    } else {
      const bool takes = is_larger(other, value);
      value = takes ? other : value;
      if (kind == PoolKind::maximum_with_index) at = takes ? its : at;
    }
  }

  /// The pixels of a row that the windows have; nothing where these lie in the padding.
  KOKKOS_FORCEINLINE_FUNCTION void read_row(A (&pixel)[width][channels], const PoolBlock<int>& block, int row) const {
    const bool is_inside = row >= 0 && row < down_.extent;
    const int first = 2 * block.column - before;
    const T* const from = static_cast<const T*>(x_.data) + (is_inside ? offset_of_plane(x_, block) + row * x_.row : 0);
    if constexpr (by_channels) {
      PORTOPS_UNROLL
      for (int c = 0; c < width; ++c) {
        PORTOPS_UNROLL
        for (int k = 0; k < channels; ++k) pixel[c][k] = nothing;
        if (is_inside && first + c >= 0 && first + c < across_.extent) {
          read_block<Backend::cuda, T, channels>(pixel[c], from + (first + c) * x_.column, 1, channels, true);
        }
      }
    } else {
      PORTOPS_UNROLL
      for (int c = 0; c < before; ++c) {
        pixel[c][0] = is_inside && first + c >= 0 ? static_cast<A>(from[first + c]) : nothing;
      }
      constexpr int own = 2 * columns;
      A part[own];
      PORTOPS_UNROLL
      for (int c = 0; c < own; ++c) part[c] = nothing;
      if (is_inside) read_block<Backend::cuda, T, own>(part, from + 2 * block.column, 1, own, true);
      PORTOPS_UNROLL
      for (int c = 0; c < own; ++c) pixel[before + c][0] = part[c];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(A (&value)[columns][channels], const int (&found)[columns][channels],
                                         const PoolBlock<int>& block, int i) const {
    const int row = block.row + i;
    A values[pack];
    PORTOPS_UNROLL
    for (int k = 0; k < pack; ++k) {
      values[k] = value[k % columns][k / columns];
      if constexpr (!is_max) {
        values[k] /= static_cast<A>(down_.size(row, exclusive_) * across_.size(block.column + k % columns, exclusive_));
      }
    }
    write_block<Backend::cuda, T, pack>(static_cast<T*>(out_.data) + offset_of(out_, block) + i * out_.row, values, 1,
                                        pack, true);
    if constexpr (kind == PoolKind::maximum_with_index) {
      auto* const to = static_cast<std::int64_t*>(index_.data) + offset_of(index_, block) + i * index_.row;
      constexpr int together = pack < 2 ? pack : 2;
      PORTOPS_UNROLL
      for (int half = 0; half < pack; half += together) {
        Neighbours<std::int64_t, together> part;
        PORTOPS_UNROLL
        for (int k = 0; k < together; ++k) {
          const int c = (half + k) % columns, at = found[c][(half + k) / columns];
          const int first = down_.begin_inside(row) * across_.extent + across_.begin_inside(block.column + c);
          const int there =
              (2 * block.row - before + at / width) * across_.extent + 2 * block.column - before + at % width;
          part.element[k] = at < 0 ? first : there;
        }
        *reinterpret_cast<Neighbours<std::int64_t, together>*>(to + half) = part;
      }
    }
  }

  PoolBlocks<int> blocks_;
  PoolAxisOf<int> down_, across_;
  PoolTensorOf<int> x_, out_, index_;
  bool exclusive_;
};

}  // namespace portops::impl
