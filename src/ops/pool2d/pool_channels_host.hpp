// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/pool2d/pool_blocks.hpp"

namespace portops::impl {

/// out = the maximum or the average of each window, on a host, where channels are neighbours: an item is a block of
/// channels of a window, and goes through its pixels.
template <Backend B, class T, PoolKind kind>
class PoolChannelsOnHost {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;
  static constexpr int N = pool_neighbours<B, T>;

  explicit PoolChannelsOnHost(const PoolPlan& plan)
      : blocks_(plan, plan.down.windows, plan.across.windows, {.channels = N}),
        channels_(plan.channels),
        down_(plan.down),
        across_(plan.across),
        x_(plan.x),
        out_(plan.out),
        index_(plan.index),
        exclusive_(plan.exclusive) {}

  std::int64_t items() const { return blocks_.count(); }

  void operator()(std::int64_t item) const {
    const PoolBlock<std::int64_t> block = blocks_[item];
    const int count = count_from(block.channel, channels_, N);
    // Numbers and distances that compilers know become vectors.
    if (count == N && x_.channel == 1) return pool<1>(block, N);
    x_.channel == 1 ? pool<1>(block, count) : pool<0>(block, count);
  }

 private:
  static constexpr bool is_max = kind != PoolKind::average, has_index = kind == PoolKind::maximum_with_index;

  /// Of so many channels, which lie `known_step` apart or, where that is 0, as they do in x.
  template <int known_step>
  KOKKOS_FORCEINLINE_FUNCTION void pool(const PoolBlock<std::int64_t>& block, int count) const {
    const T* const from = static_cast<const T*>(x_.data) + offset_of_plane(x_, block);
    const std::int64_t first_row = down_.begin_inside(block.row), end_row = down_.end_inside(block.row);
    const std::int64_t first_column = across_.begin_inside(block.column), end_column = across_.end_inside(block.column);
    A value[N];
    std::int64_t pixel[N];  // of a maximum
    for (int k = 0; k < count; ++k) {
      value[k] = is_max ? no_maximum<A> : A(0);
      if constexpr (has_index) pixel[k] = first_row * across_.extent + first_column;
    }
    for (std::int64_t row = first_row; row < end_row; ++row) {
      A sum[N] = {};
      for (std::int64_t column = first_column; column < end_column; ++column) {
        add_pixel<known_step>(value, pixel, sum, from + row * x_.row + column * x_.column, count,
                              row * across_.extent + column);
      }
      for (int k = 0; k < count && !is_max; ++k) value[k] += sum[k];
    }
    if constexpr (!is_max) {
      const auto size = static_cast<A>(down_.size(block.row, exclusive_) * across_.size(block.column, exclusive_));
      for (int k = 0; k < count; ++k) value[k] /= size;
    }
    write_block<B, T, N>(static_cast<T*>(out_.data) + offset_of(out_, block), value, out_.channel, count, false);
    if constexpr (has_index) {
      auto* const to = static_cast<std::int64_t*>(index_.data) + offset_of(index_, block);
      for (int k = 0; k < count; ++k) to[k * index_.channel] = pixel[k];
    }
  }

  template <int known_step>
  KOKKOS_FORCEINLINE_FUNCTION void add_pixel(A (&values)[N], std::int64_t (&pixels)[N], A (&sum)[N], const T* at,
                                             int count, std::int64_t pixel) const {
    const std::int64_t step = known_step != 0 ? known_step : x_.channel;
    for (int k = 0; k < count; ++k) {
      const A value = static_cast<A>(at[k * step]);
      if constexpr (!is_max) {
        sum[k] += value;
      } else {
        const bool takes = is_larger(value, values[k]);
        values[k] = takes ? value : values[k];
        if constexpr (has_index) pixels[k] = takes ? pixel : pixels[k];
      }
    }
  }

  PoolBlocks<std::int64_t> blocks_;
  std::int64_t channels_;
  PoolAxis down_, across_;
  PoolTensor x_, out_, index_;
  bool exclusive_;
};

}  // namespace portops::impl
