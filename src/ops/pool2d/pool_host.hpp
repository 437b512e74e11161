// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/pool2d/pool_blocks.hpp"

namespace portops::impl {

/// out = the maximum or the average of each window, on a host: an item is a block of windows in a row, or of channels
/// of one. It goes tap by tap: the elements of the block's windows that a tap has in the image lie at equal distances.
template <Backend B, class T, bool is_max>
class PoolOnHost {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;
  static constexpr int N = pool_neighbours<B, T>;

  explicit PoolOnHost(const PoolPlan& plan)
      : blocks_(plan, plan.down.windows, plan.across.windows,
                plan.by_channels ? BlockShape{.channels = N} : BlockShape{.columns = N}),
        neighbours_(plan.by_channels ? plan.channels : plan.across.windows),
        down_(plan.down),
        across_(plan.across),
        x_(plan.x),
        out_(plan.out),
        index_(plan.index),
        by_channels_(plan.by_channels),
        exclusive_(plan.exclusive) {}

  std::int64_t items() const { return blocks_.count(); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const PoolBlock<std::int64_t> block = blocks_[item];
    const int count = count_from(by_channels_ ? block.channel : block.column, neighbours_, N);
    A value[N];
    std::int64_t pixel[N];  // of a maximum
    const std::int64_t top = down_.begin(block.row), left = across_.begin(block.column);
    const T* const from = static_cast<const T*>(x_.data) + offset_of_plane(x_, block);
    const std::int64_t move = by_channels_ ? 0 : across_.stride;  // from one window of the block to the next
    const std::int64_t step = by_channels_ ? x_.channel : across_.stride * x_.column;
    const std::int64_t first_row = top < 0 ? 0 : top;
    const std::int64_t end_row = top + down_.kernel < down_.extent ? top + down_.kernel : down_.extent;
    for (int k = 0; k < count; ++k) {
      const std::int64_t first_column = left + k * move;
      value[k] = is_max ? no_maximum<A> : A(0);
      if (index_.data != nullptr) pixel[k] = first_row * across_.extent + (first_column < 0 ? 0 : first_column);
    }
    for (std::int64_t row = first_row; row < end_row; ++row) {
      A sum[N] = {};
      for (std::int64_t tap = 0; tap < across_.kernel; ++tap) {
        const std::int64_t column = left + tap;  // of the first window
        int begin = 0, end = count;
        if (by_channels_) {
          if (column < 0 || column >= across_.extent) continue;
        } else {
          if (column >= across_.extent) break;
          if (column < 0) begin = static_cast<int>(quotient(move - 1 - column, move));
          if (column + (count - 1) * move >= across_.extent) {
            end = static_cast<int>(quotient(across_.extent - 1 - column, move)) + 1;
          }
        }
        const T* const at = from + row * x_.row + column * x_.column;
        // Distances that compilers know become loads of vectors.
        const std::int64_t first = row * across_.extent + column;
        switch (step) {
          case 1: add_tap<1>(value, pixel, sum, at, step, begin, end, first, move); break;
          case 2: add_tap<2>(value, pixel, sum, at, step, begin, end, first, move); break;
          default: add_tap<0>(value, pixel, sum, at, step, begin, end, first, move);
        }
      }
      for (int k = 0; k < count && !is_max; ++k) value[k] += sum[k];
    }
    if constexpr (!is_max) {
      const std::int64_t rows = down_.size(block.row, exclusive_);
      for (int k = 0; k < count; ++k) {
        const std::int64_t window = block.column + (by_channels_ ? 0 : k);
        value[k] /= static_cast<A>(rows * across_.size(window, exclusive_));
      }
    }
    write_block<B, T, N>(static_cast<T*>(out_.data) + offset_of(out_, block), value,
                         by_channels_ ? out_.channel : out_.column, count, false);
    if (!is_max || index_.data == nullptr) return;
    const std::int64_t apart = by_channels_ ? index_.channel : index_.column;
    auto* const to = static_cast<std::int64_t*>(index_.data) + offset_of(index_, block);
    for (int k = 0; k < count; ++k) to[k * apart] = pixel[k];
  }

 private:
  /// The elements lie `known_step` apart or, where that is 0, `given_step`.
  template <int known_step>
  KOKKOS_FORCEINLINE_FUNCTION void add_tap(A (&values)[N], std::int64_t (&pixels)[N], A (&sum)[N], const T* at,
                                           std::int64_t given_step, int begin, int end, std::int64_t pixel,
                                           std::int64_t move) const {
    const std::int64_t step = known_step != 0 ? known_step : given_step;
    if constexpr (!is_max) {
      for (int k = begin; k < end; ++k) sum[k] += static_cast<A>(at[k * step]);
    } else if (index_.data == nullptr) {
      for (int k = begin; k < end; ++k) {
        const A value = static_cast<A>(at[k * step]);
        values[k] = is_larger(value, values[k]) ? value : values[k];
      }
    } else {
      for (int k = begin; k < end; ++k) {
        const A value = static_cast<A>(at[k * step]);
        const bool takes = is_larger(value, values[k]);
        values[k] = takes ? value : values[k];
        pixels[k] = takes ? pixel + k * move : pixels[k];
      }
    }
  }

  PoolBlocks<std::int64_t> blocks_;
  std::int64_t neighbours_;
  PoolAxis down_, across_;
  PoolTensor x_, out_, index_;
  bool by_channels_;
  bool exclusive_;
};

}  // namespace portops::impl
