// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/pool2d/pool_blocks.hpp"

namespace portops::impl {

/// x_grad = the sum over the windows that have a pixel, on a GPU, whatever the windows are. A thread takes N channels
/// of a pixel, or some pixels below each other of one channel, and goes through the windows that have one of them.
template <class T, class Index, int N, bool is_max>
class SpreadDown {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;
  static constexpr int pixels = N == 1 ? 4 : 1;
  static constexpr int together = N == 1 ? 5 : 1;  ///< windows that are read at once

  explicit SpreadDown(const PoolPlan& plan)
      : blocks_(plan, plan.down.extent, plan.across.extent, {.channels = N, .rows = pixels}),
        channels_(static_cast<Index>(plan.channels)),
        down_(axis_of<Index>(plan.down)),
        across_(axis_of<Index>(plan.across)),
        x_grad_(tensor_of<Index>(plan.x)),
        out_grad_(tensor_of<Index>(plan.out)),
        index_(tensor_of<Index>(plan.index)),
        exclusive_(plan.exclusive),
        wide_x_(plan.wide_images),
        wide_out_(plan.wide_windows) {}

  std::int64_t items() const { return blocks_.count(); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const PoolBlock<Index> block = blocks_[item];
    const int rows = count_from(block.row, down_.extent, pixels);
    const int channels = count_from(block.channel, channels_, N);
    const Index last_row = down_.last_window(block.row + rows - 1);
    const Index first_column = across_.first_window(block.column), last_column = across_.last_window(block.column);
    const T* const from = static_cast<const T*>(out_grad_.data) + offset_of_plane(out_grad_, block);
    const auto* const from_index = static_cast<const std::int64_t*>(index_.data) + offset_of_plane(index_, block);
    const Index pixel = block.row * across_.extent + block.column;
    A total[pixels][N] = {};
    for (Index row = down_.first_window(block.row); row <= last_row; ++row) {
      A sum[is_max ? pixels : 1][N] = {};  // an average is the same for all pixels that the window has
      for (Index first = first_column; first <= last_column; first += together) {
        const int windows = count_from(first, last_column + 1, together);
        A value[together][N] = {};
        Index behind[together][N];  // the pixel of a maximum, from this thread's first on
        PORTOPS_UNROLL
        for (int j = 0; j < together; ++j) {
          if (j < windows) {
            read_block<Backend::cuda, T, N>(value[j], from + row * out_grad_.row + (first + j) * out_grad_.column,
                                            out_grad_.channel, channels, wide_out_);
          }
          if constexpr (is_max) {
            const std::int64_t* const found = from_index + row * index_.row + (first + j) * index_.column;
            PORTOPS_UNROLL
            for (int k = 0; k < N; ++k) {
              behind[j][k] = j < windows && k < channels ? pixel_of<Index>(found[k * index_.channel]) - pixel : -1;
            }
          }
        }
        PORTOPS_UNROLL
        for (int j = 0; j < together; ++j) {
          if constexpr (is_max) {
            PORTOPS_UNROLL
            for (int k = 0; k < N; ++k) {
              PORTOPS_UNROLL
              for (int r = 0; r < pixels; ++r) sum[r][k] += behind[j][k] == r * across_.extent ? value[j][k] : A(0);
            }
          } else if (j < windows) {
            const auto size = static_cast<A>(down_.size(row, exclusive_) * across_.size(first + j, exclusive_));
            PORTOPS_UNROLL
            for (int k = 0; k < N; ++k) sum[0][k] += value[j][k] / size;
          }
        }
      }
      PORTOPS_UNROLL
      for (int r = 0; r < pixels; ++r) {
        if (!is_max && !down_.has(row, block.row + r)) continue;
        PORTOPS_UNROLL
        for (int k = 0; k < N; ++k) total[r][k] += sum[is_max ? r : 0][k];
      }
    }
    const Index to = offset_of(x_grad_, block);
    PORTOPS_UNROLL
    for (int r = 0; r < pixels; ++r) {
      if (r >= rows) continue;
      write_block<Backend::cuda, T, N>(static_cast<T*>(x_grad_.data) + to + r * x_grad_.row, total[r], x_grad_.channel,
                                       channels, wide_x_);
    }
  }

 private:
  PoolBlocks<Index> blocks_;
  Index channels_;
  PoolAxisOf<Index> down_, across_;
  PoolTensorOf<Index> x_grad_, out_grad_, index_;
  bool exclusive_;
  bool wide_x_;
  bool wide_out_;
};

}  // namespace portops::impl
