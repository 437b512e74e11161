// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/pool2d/pool_blocks.hpp"

#include <algorithm>
#include <limits>

namespace portops::impl {

/// out = the maximum or the average of each window. On a GPU a thread takes N channels of a window, or four single
/// windows, of which all pixels are under way together where windows are K by K; K is 0 for other ones. On a host an
/// item is a block of windows in a row, or of channels of one, which goes through the taps of the windows.
template <Backend B, class T, int N, int K, bool is_max>
class PoolWindows {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  explicit PoolWindows(const PoolPlan& plan)
      : blocks_(plan, plan.down.windows, plan.across.windows),
        down_(plan.down),
        across_(plan.across),
        x_(plan.x),
        out_(plan.out),
        index_(plan.index),
        by_channels_(plan.by_channels),
        exclusive_(plan.exclusive),
        wide_x_(plan.wide_images),
        wide_out_(plan.wide_windows) {}

  std::int64_t items() const {
    return batch == 1 ? blocks_.count() : ceil_div(blocks_.count(), batch * threads) * threads;
  }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t first = batch == 1 ? item : item / threads * (batch * threads) + item % threads;
    Result result[batch];
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      const std::int64_t index = first + k * threads;
      if (batch > 1 && index >= blocks_.count()) continue;
      if constexpr (B == Backend::cuda) {
        take(result[k], blocks_[index]);
      } else {
        take_on_host(result[k], blocks_[index]);
      }
    }
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      if (batch == 1 || first + k * threads < blocks_.count()) store(result[k]);
    }
  }

 private:
  static constexpr int threads = 256;  ///< of a team
  static constexpr int batch = B == Backend::cuda && N == 1 && K > 0 ? 4 : 1;
  static constexpr A least = -std::numeric_limits<A>::infinity();

  struct Result {
    std::int64_t out;  ///< where it goes
    std::int64_t index;
    int count;
    A value[N];
    std::int64_t pixel[N];  ///< of a maximum
  };

  /// Whether `value` takes the place of the maximum so far.
  KOKKOS_FORCEINLINE_FUNCTION static bool is_larger(A value, A maximum) { return value > maximum || value != value; }

  KOKKOS_FORCEINLINE_FUNCTION static bool is_inside(std::int64_t pixel, const PoolAxis& axis) {
    return static_cast<std::uint64_t>(pixel) < static_cast<std::uint64_t>(axis.extent);
  }

  /// All of the block have one window.
  KOKKOS_FORCEINLINE_FUNCTION void take(Result& result, const PoolBlock& block) const {
    const std::int64_t top = down_.begin(block.row), left = across_.begin(block.column);
    const T* const from = static_cast<const T*>(x_.data) + block.image * x_.image + block.channel * x_.channel;
    const std::int64_t first_row = top < 0 ? 0 : top, first_column = left < 0 ? 0 : left;
    PORTOPS_UNROLL
    for (int k = 0; k < N; ++k) {
      result.value[k] = is_max ? least : A(0);
      result.pixel[k] = first_row * across_.extent + first_column;
    }
    if constexpr (K > 0) {
      const std::int64_t first = top * x_.row + left * x_.column;
      T elements[K * K][N];
      PORTOPS_UNROLL
      for (int tap = 0; tap < K * K; ++tap) {
        PORTOPS_UNROLL
        for (int k = 0; k < N; ++k) elements[tap][k] = static_cast<T>(is_max ? least : A(0));
        if (is_inside(top + tap / K, down_) && is_inside(left + tap % K, across_)) {
          read_block<B, T, N>(elements[tap], from + (first + tap / K * x_.row + tap % K * x_.column), x_.channel,
                              block.count, wide_x_);
        }
      }
      A sum[N] = {};
      int found[N];
      PORTOPS_UNROLL
      for (int k = 0; k < N; ++k) found[k] = -1;
      PORTOPS_UNROLL
      for (int tap = 0; tap < K * K; ++tap) {
        PORTOPS_UNROLL
        for (int k = 0; k < N; ++k) {
          const A value = static_cast<A>(elements[tap][k]);
          if constexpr (is_max) {
            if (is_larger(value, result.value[k])) result.value[k] = value, found[k] = tap;
          } else {
            sum[k] = tap % K == 0 ? value : sum[k] + value;
            if (tap % K == K - 1) result.value[k] += sum[k];
          }
        }
      }
      if constexpr (is_max) {
        PORTOPS_UNROLL
        for (int k = 0; k < N; ++k) {
          if (found[k] >= 0) result.pixel[k] = (top + found[k] / K) * across_.extent + left + found[k] % K;
        }
      }
    } else {
      const std::int64_t end_row = top + down_.kernel < down_.extent ? top + down_.kernel : down_.extent;
      const std::int64_t end_column = left + across_.kernel < across_.extent ? left + across_.kernel : across_.extent;
      for (std::int64_t row = first_row; row < end_row; ++row) {
        A sum[N] = {};
        for (std::int64_t column = first_column; column < end_column; ++column) {
          T elements[N] = {};
          read_block<B, T, N>(elements, from + row * x_.row + column * x_.column, x_.channel, block.count, wide_x_);
          PORTOPS_UNROLL
          for (int k = 0; k < N; ++k) {
            const A value = static_cast<A>(elements[k]);
            if constexpr (!is_max) {
              sum[k] += value;
            } else if (is_larger(value, result.value[k])) {
              result.value[k] = value, result.pixel[k] = row * across_.extent + column;
            }
          }
        }
        PORTOPS_UNROLL
        for (int k = 0; k < N && !is_max; ++k) result.value[k] += sum[k];
      }
    }
    if constexpr (!is_max) {
      const auto size = static_cast<A>(down_.size(block.row, exclusive_) * across_.size(block.column, exclusive_));
      PORTOPS_UNROLL
      for (int k = 0; k < N; ++k) result.value[k] /= size;
    }
    aim(result, block);
  }

  /// Tap by tap: the elements of the block's windows that it has in the image lie at equal distances.
  KOKKOS_FORCEINLINE_FUNCTION void take_on_host(Result& result, const PoolBlock& block) const {
    const std::int64_t top = down_.begin(block.row), left = across_.begin(block.column);
    const T* const from = static_cast<const T*>(x_.data) + block.image * x_.image + block.channel * x_.channel;
    const std::int64_t move = by_channels_ ? 0 : across_.stride;  // from one window of the block to the next
    const std::int64_t step = by_channels_ ? x_.channel : across_.stride * x_.column;
    const std::int64_t first_row = top < 0 ? 0 : top;
    const std::int64_t end_row = top + down_.kernel < down_.extent ? top + down_.kernel : down_.extent;
    for (int k = 0; k < block.count; ++k) {
      const std::int64_t first_column = left + k * move;
      result.value[k] = is_max ? least : A(0);
      result.pixel[k] = first_row * across_.extent + (first_column < 0 ? 0 : first_column);
    }
    for (std::int64_t row = first_row; row < end_row; ++row) {
      A sum[N] = {};
      for (std::int64_t tap = 0; tap < across_.kernel; ++tap) {
        const std::int64_t column = left + tap;  // of the first window
        int begin = 0, end = block.count;
        if (by_channels_) {
          if (column < 0 || column >= across_.extent) continue;
        } else {
          if (column >= across_.extent) break;
          if (column < 0) begin = static_cast<int>(quotient(move - 1 - column, move));
          const std::int64_t inside = quotient(across_.extent - 1 - column, move) + 1;
          if (inside < end) end = static_cast<int>(inside);
        }
        const T* const at = from + row * x_.row + column * x_.column;
        step == 1 ? add_tap(result, sum, at, 1, begin, end, row * across_.extent + column, move)
                  : add_tap(result, sum, at, step, begin, end, row * across_.extent + column, move);
      }
      for (int k = 0; k < block.count && !is_max; ++k) result.value[k] += sum[k];
    }
    if constexpr (!is_max) {
      const std::int64_t rows = down_.size(block.row, exclusive_);
      for (int k = 0; k < block.count; ++k) {
        const std::int64_t window = block.column + (by_channels_ ? 0 : k);
        result.value[k] /= static_cast<A>(rows * across_.size(window, exclusive_));
      }
    }
    aim(result, block);
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_tap(Result& result, A (&sum)[N], const T* at, std::int64_t step, int begin,
                                           int end, std::int64_t pixel, std::int64_t move) const {
    if constexpr (!is_max) {
      for (int k = begin; k < end; ++k) sum[k] += static_cast<A>(at[k * step]);
    } else if (index_.data == nullptr) {
      for (int k = begin; k < end; ++k) {
        const A value = static_cast<A>(at[k * step]);
        result.value[k] = is_larger(value, result.value[k]) ? value : result.value[k];
      }
    } else {
      for (int k = begin; k < end; ++k) {
        const A value = static_cast<A>(at[k * step]);
        const bool takes = is_larger(value, result.value[k]);
        result.value[k] = takes ? value : result.value[k];
        result.pixel[k] = takes ? pixel + k * move : result.pixel[k];
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void aim(Result& result, const PoolBlock& block) const {
    result.out = offset_of(out_, block);
    result.index = index_.data != nullptr ? offset_of(index_, block) : 0;
    result.count = block.count;
  }

  KOKKOS_FORCEINLINE_FUNCTION void store(const Result& result) const {
    write_block<B, T, N>(static_cast<T*>(out_.data) + result.out, result.value,
                         by_channels_ ? out_.channel : out_.column, result.count, wide_out_);
    if (!is_max || index_.data == nullptr) return;
    const std::int64_t step = by_channels_ ? index_.channel : index_.column;
    auto* const to = static_cast<std::int64_t*>(index_.data) + result.index;
    PORTOPS_UNROLL
    for (int k = 0; k < N; ++k) {
      if (k < result.count) to[k * step] = result.pixel[k];
    }
  }

  PoolBlocks<N> blocks_;
  PoolAxis down_, across_;
  PoolTensor x_, out_, index_;
  bool by_channels_;
  bool exclusive_;
  bool wide_x_;
  bool wide_out_;
};

}  // namespace portops::impl
