// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/pool2d/pool_blocks.hpp"

namespace portops::impl {

/// x_grad = the sum over the windows that have a pixel, on a host: an item is a block of columns of a row, or of
/// channels of a pixel, and goes through the windows that have one of them, each of which it reads once.
template <Backend B, class T, bool is_max>
class SpreadOnHost {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;
  static constexpr int N = pool_neighbours<B, T>;

  explicit SpreadOnHost(const PoolPlan& plan)
      : blocks_(plan, plan.down.extent, plan.across.extent,
                plan.by_channels ? BlockShape{.channels = N} : BlockShape{.columns = N}),
        neighbours_(plan.by_channels ? plan.channels : plan.across.extent),
        down_(plan.down),
        across_(plan.across),
        x_grad_(plan.x),
        out_grad_(plan.out),
        index_(plan.index),
        by_channels_(plan.by_channels),
        exclusive_(plan.exclusive) {}

  std::int64_t items() const { return blocks_.count(); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const PoolBlock<std::int64_t> block = blocks_[item];
    const int count = count_from(by_channels_ ? block.channel : block.column, neighbours_, N);
    const std::int64_t from = offset_of_plane(out_grad_, block);
    const std::int64_t from_index = offset_of_plane(index_, block);
    const std::int64_t last_row = down_.last_window(block.row);
    const std::int64_t first_column = across_.first_window(block.column);
    const std::int64_t last_column = across_.last_window(block.column + (by_channels_ ? 0 : count - 1));
    const std::int64_t pixel = block.row * across_.extent + block.column;
    A total[N] = {};
    for (std::int64_t row = down_.first_window(block.row); row <= last_row; ++row) {
      const std::int64_t rows = is_max ? 0 : down_.size(row, exclusive_);
      A sum[N] = {};
      for (std::int64_t column = first_column; column <= last_column; ++column) {
        const T* const at =
            static_cast<const T*>(out_grad_.data) + from + row * out_grad_.row + column * out_grad_.column;
        const std::int64_t* found = nullptr;
        if constexpr (is_max) {
          found =
              static_cast<const std::int64_t*>(index_.data) + from_index + row * index_.row + column * index_.column;
        }
        const A size = is_max ? A(1) : static_cast<A>(rows * across_.size(column, exclusive_));
        if (by_channels_) {
          add_channels(sum, at, found, pixel, size, count);
        } else {
          add_window(sum, static_cast<A>(*at), found, pixel, size, across_.begin(column) - block.column, count);
        }
      }
      for (int k = 0; k < N; ++k) total[k] += sum[k];
    }
    write_block<B, T, N>(static_cast<T*>(x_grad_.data) + offset_of(x_grad_, block), total,
                         by_channels_ ? x_grad_.channel : x_grad_.column, count, false);
  }

 private:
  /// A window of each channel, which has the pixel.
  KOKKOS_FORCEINLINE_FUNCTION void add_channels(A (&sum)[N], const T* at, const std::int64_t* found, std::int64_t pixel,
                                                A size, int count) const {
    for (int k = 0; k < count; ++k) {
      const A value = static_cast<A>(at[k * out_grad_.channel]);
      if constexpr (is_max) {
        if (found[k * index_.channel] == pixel) sum[k] += value;
      } else {
        sum[k] += value / size;
      }
    }
  }

  /// A window that has some of the columns, the first of them `first` behind the block's.
  KOKKOS_FORCEINLINE_FUNCTION void add_window(A (&sum)[N], A value, const std::int64_t* found, std::int64_t pixel,
                                              A size, std::int64_t first, int count) const {
    // The columns [begin, end) of the block get it.
    std::int64_t begin = 0, end = 0;
    if constexpr (is_max) {
      begin = *found - pixel;
      end = begin + 1;
      if (begin < 0 || begin >= count) return;
    } else {
      value /= size;
      begin = first;
      end = begin + across_.kernel;
    }
    const std::int64_t stop = end < count ? end : count;
    for (std::int64_t k = begin < 0 ? 0 : begin; k < stop; ++k) sum[k] += value;
  }

  PoolBlocks<std::int64_t> blocks_;
  std::int64_t neighbours_;
  PoolAxis down_, across_;
  PoolTensor x_grad_, out_grad_, index_;
  bool by_channels_;
  bool exclusive_;
};

}  // namespace portops::impl
