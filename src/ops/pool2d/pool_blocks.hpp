// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/pack.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/pool2d/pool2d_plan.hpp"

// What the kernels of pool2d share: blocks of neighbours, columns of one row or channels of one pixel or window.

namespace portops::impl {

/// Some neighbours: `count` columns from `column` on, or channels from `channel` on.
struct PoolBlock {
  std::int64_t image;
  std::int64_t channel;
  std::int64_t row;
  std::int64_t column;
  int count;
};

/// The blocks of images, or of their windows. `N` neighbours are a block; the last one of a row, or pixel, may be
/// shorter.
template <int N>
class PoolBlocks {
 public:
  PoolBlocks(const PoolPlan& plan, std::int64_t rows, std::int64_t columns)
      : by_channels_(plan.by_channels),
        neighbours_(plan.by_channels ? plan.channels : columns),
        middle_(plan.by_channels ? columns : rows),
        outer_(plan.by_channels ? rows : plan.channels),
        blocks_(ceil_div(neighbours_, N)),
        count_(plan.images * plan.channels * rows * columns == 0 ? 0 : plan.images * outer_ * middle_ * blocks_),
        by_blocks_(blocks_ > 0 ? blocks_ : 1),
        by_middle_(middle_ > 0 ? middle_ : 1),
        by_outer_(outer_ > 0 ? outer_ : 1) {}

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t count() const { return count_; }

  KOKKOS_FORCEINLINE_FUNCTION PoolBlock operator[](std::int64_t index) const {
    const std::int64_t line = by_blocks_.quotient(index);
    const std::int64_t first = (index - line * blocks_) * N;
    const std::int64_t outer = by_middle_.quotient(line);
    const std::int64_t middle = line - outer * middle_;
    PoolBlock block{};
    block.image = by_outer_.quotient(outer);
    const std::int64_t inner = outer - block.image * outer_;
    block.channel = by_channels_ ? first : inner;
    block.row = by_channels_ ? inner : middle;
    block.column = by_channels_ ? middle : first;
    block.count = static_cast<int>(neighbours_ - first < N ? neighbours_ - first : N);
    return block;
  }

 private:
  bool by_channels_;
  std::int64_t neighbours_;
  std::int64_t middle_;
  std::int64_t outer_;
  std::int64_t blocks_;  ///< of neighbours
  std::int64_t count_;
  IndexDivisor by_blocks_;
  IndexDivisor by_middle_;
  IndexDivisor by_outer_;
};

KOKKOS_FORCEINLINE_FUNCTION std::int64_t offset_of(const PoolTensor& tensor, const PoolBlock& block) {
  return block.image * tensor.image + block.channel * tensor.channel + block.row * tensor.row +
         block.column * tensor.column;
}

/// Reads `count` neighbours `stride` apart; `wide` where all N are one access of a GPU.
template <Backend B, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void read_block(T (&elements)[N], const T* from, std::int64_t stride, int count,
                                            [[maybe_unused]] bool wide) {
  if constexpr (B == Backend::cuda && N > 1) {
    if (wide && count == N) {
      const Pack<T, N> pack = read_pack<B, T, N>(from);
      PORTOPS_UNROLL
      for (int k = 0; k < N; ++k) elements[k] = pack.element[k];
      return;
    }
  }
  PORTOPS_UNROLL
  for (int k = 0; k < N; ++k) {
    if (k < count) elements[k] = from[k * stride];
  }
}

/// Writes them, each rounded once.
template <Backend B, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void write_block(T* to, const Arithmetic<T> (&values)[N], std::int64_t stride, int count,
                                             [[maybe_unused]] bool wide) {
  if constexpr (B == Backend::cuda && N > 1) {
    if (wide && count == N) return store_pack<B, T, N>(to, values, false);
  }
  store_elements<B, T, N>(to, values, stride, count);
}

/// The neighbours of a block: on a GPU a pack of the widest access, on a host as many as make vectors worth it.
template <Backend B, class T>
inline constexpr int pool_neighbours = B == Backend::cuda ? gpu_pack_bytes / static_cast<int>(sizeof(T)) : 64;

}  // namespace portops::impl
