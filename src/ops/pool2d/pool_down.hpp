// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/pool2d/pool_blocks.hpp"

namespace portops::impl {

/// out = the maximum or the average of each window, on a GPU, whatever the windows are. A thread takes N channels of
/// some windows below each other, where these share rows, and goes down the rows: what a row comes to counts for each
/// window that has it.
template <class T, class Index, int N, bool is_max>
class PoolDown {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;
  static constexpr int most_windows = N == 1 ? 4 : 2;

  explicit PoolDown(const PoolPlan& plan)
      : windows_(plan.down.stride < plan.down.kernel ? most_windows : 1),
        blocks_(plan, plan.down.windows, plan.across.windows, {.channels = N, .rows = windows_}),
        channels_(static_cast<Index>(plan.channels)),
        down_(axis_of<Index>(plan.down)),
        across_(axis_of<Index>(plan.across)),
        x_(tensor_of<Index>(plan.x)),
        out_(tensor_of<Index>(plan.out)),
        index_(tensor_of<Index>(plan.index)),
        exclusive_(plan.exclusive),
        wide_x_(plan.wide_images),
        wide_out_(plan.wide_windows) {}

  std::int64_t items() const { return blocks_.count(); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const PoolBlock<Index> block = blocks_[item];
    const int windows = count_from(block.row, down_.windows, windows_);
    const int channels = count_from(block.channel, channels_, N);
    const Index first_row = down_.begin_inside(block.row), end_row = down_.end_inside(block.row + windows - 1);
    const Index first_column = across_.begin_inside(block.column), end_column = across_.end_inside(block.column);
    const T* const from = static_cast<const T*>(x_.data) + offset_of_plane(x_, block);
    A value[most_windows][N];
    Index pixel[most_windows][N];
    PORTOPS_UNROLL
    for (int w = 0; w < most_windows; ++w) {
      const Index top = w < windows ? down_.begin_inside(block.row + w) : 0;
      PORTOPS_UNROLL
      for (int k = 0; k < N; ++k) {
        value[w][k] = is_max ? no_maximum<A> : A(0);
        pixel[w][k] = top * across_.extent + first_column;
      }
    }
    for (Index row = first_row; row < end_row; ++row) {
      A of_row[N];
      Index column_of[N];
      PORTOPS_UNROLL
      for (int k = 0; k < N; ++k) of_row[k] = is_max ? no_maximum<A> : A(0), column_of[k] = first_column;
      const T* at = from + row * x_.row + first_column * x_.column;
      for (Index column = first_column; column < end_column; ++column, at += x_.column) {
        A element[N] = {};
        read_block<Backend::cuda, T, N>(element, at, x_.channel, channels, wide_x_);
        PORTOPS_UNROLL
        for (int k = 0; k < N; ++k) {
          if constexpr (!is_max) {
            of_row[k] += element[k];
          } else if (is_larger(element[k], of_row[k])) {
            of_row[k] = element[k], column_of[k] = column;
          }
        }
      }
      PORTOPS_UNROLL
      for (int w = 0; w < most_windows; ++w) {
        if (w >= windows || !down_.has(block.row + w, row)) continue;
        PORTOPS_UNROLL
        for (int k = 0; k < N; ++k) {
          if constexpr (!is_max) {
            value[w][k] += of_row[k];
          } else if (is_larger(of_row[k], value[w][k])) {
            value[w][k] = of_row[k], pixel[w][k] = row * across_.extent + column_of[k];
          }
        }
      }
    }
    const Index to = offset_of(out_, block), to_index = offset_of(index_, block);
    PORTOPS_UNROLL
    for (int w = 0; w < most_windows; ++w) {
      if (w >= windows) continue;
      if constexpr (!is_max) {
        const auto size =
            static_cast<A>(down_.size(block.row + w, exclusive_) * across_.size(block.column, exclusive_));
        PORTOPS_UNROLL
        for (int k = 0; k < N; ++k) value[w][k] /= size;
      }
      write_block<Backend::cuda, T, N>(static_cast<T*>(out_.data) + to + w * out_.row, value[w], out_.channel, channels,
                                       wide_out_);
      if (!is_max || index_.data == nullptr) continue;
      auto* const index = static_cast<std::int64_t*>(index_.data) + to_index + w * index_.row;
      PORTOPS_UNROLL
      for (int k = 0; k < N; ++k) {
        if (k < channels) index[k * index_.channel] = pixel[w][k];
      }
    }
  }

 private:
  int windows_;  ///< of a block
  PoolBlocks<Index> blocks_;
  Index channels_;
  PoolAxisOf<Index> down_, across_;
  PoolTensorOf<Index> x_, out_, index_;
  bool exclusive_;
  bool wide_x_;
  bool wide_out_;
};

}  // namespace portops::impl
