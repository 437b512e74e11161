// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/maximum.hpp"
#include "core/lanes/pack.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/pool2d/pool2d_plan.hpp"

// What the kernels of pool2d share: blocks of neighbours, columns of one row or channels of one pixel or window.

namespace portops::impl {

enum class PoolKind { average, maximum, maximum_with_index };

/// Where a block begins.
template <class Index>
struct PoolBlock {
  Index image;
  Index channel;
  Index row;
  Index column;
};

/// How much a block takes along the axes, less at the ends.
struct BlockShape {
  int channels = 1;
  int rows = 1;
  int columns = 1;
};

/// The blocks of images, or of their windows. Neighbours come first, so that the threads of a warp have them.
template <class Index>
class PoolBlocks {
 public:
  PoolBlocks(const PoolPlan& plan, std::int64_t rows, std::int64_t columns, BlockShape shape)
      : by_channels_(plan.by_channels), shape_(shape) {
    const std::int64_t channel_blocks = ceil_div(plan.channels, shape.channels);
    const std::int64_t row_blocks = ceil_div(rows, shape.rows), column_blocks = ceil_div(columns, shape.columns);
    const std::int64_t inner = by_channels_ ? channel_blocks : column_blocks;
    const std::int64_t middle = by_channels_ ? column_blocks : row_blocks;
    const std::int64_t outer = by_channels_ ? row_blocks : channel_blocks;
    count_ = plan.images * inner * middle * outer;
    if (count_ == 0) return;
    inner_ = static_cast<Index>(inner), by_inner_ = make_divisor(inner_);
    middle_ = static_cast<Index>(middle), by_middle_ = make_divisor(middle_);
    outer_ = static_cast<Index>(outer), by_outer_ = make_divisor(outer_);
  }

  std::int64_t count() const { return count_; }

  KOKKOS_FORCEINLINE_FUNCTION PoolBlock<Index> operator[](std::int64_t item) const {
    const auto index = static_cast<Index>(item);
    const auto line = static_cast<Index>(by_inner_.quotient(index));
    const auto lines = static_cast<Index>(by_middle_.quotient(line));
    const auto image = static_cast<Index>(by_outer_.quotient(lines));
    const Index inner = index - line * inner_, middle = line - lines * middle_, outer = lines - image * outer_;
    return {image, (by_channels_ ? inner : outer) * shape_.channels, (by_channels_ ? outer : middle) * shape_.rows,
            (by_channels_ ? middle : inner) * shape_.columns};
  }

 private:
  bool by_channels_;
  BlockShape shape_;
  std::int64_t count_ = 0;
  Index inner_ = 1, middle_ = 1, outer_ = 1;
  DivisorOf<Index> by_inner_, by_middle_, by_outer_;
};

/// Where an image's channel begins.
template <class Index>
KOKKOS_FORCEINLINE_FUNCTION Index offset_of_plane(const PoolTensorOf<Index>& tensor, const PoolBlock<Index>& block) {
  return block.image * tensor.image + block.channel * tensor.channel;
}
template <class Index>
KOKKOS_FORCEINLINE_FUNCTION Index offset_of(const PoolTensorOf<Index>& tensor, const PoolBlock<Index>& block) {
  return offset_of_plane(tensor, block) + block.row * tensor.row + block.column * tensor.column;
}

/// The pixel of a maximum, by its index; −1 for an index that 32 bits do not hold, where pixels are counted by these.
/// (Both words are looked at, so that both are read: by packs.)
template <class Index>
KOKKOS_FORCEINLINE_FUNCTION Index pixel_of(std::int64_t index) {
  if constexpr (sizeof(Index) == sizeof(std::int64_t)) return index;
  return index >> 32 == 0 ? static_cast<Index>(index) : -1;
}

/// Of `all`, those from `first` on, at most `most`.
template <class Index>
KOKKOS_FORCEINLINE_FUNCTION int count_from(Index first, Index all, int most) {
  return all - first < most ? static_cast<int>(all - first) : most;
}

/// Neighbours that a GPU reads or writes at once.
template <class T, int N>
struct alignas(N * sizeof(T)) Neighbours {
  static_assert(N * sizeof(T) <= gpu_pack_bytes);
  T element[N];
};

/// Reads `count` neighbours `stride` apart; `wide` where all N are one access of a GPU.
template <Backend B, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void read_block(Arithmetic<T> (&values)[N], const T* from, std::int64_t stride, int count,
                                            [[maybe_unused]] bool wide) {
  if constexpr (B == Backend::cuda && N * sizeof(T) == gpu_pack_bytes) {
    if (wide && count == N) return convert_pack<B, T, N>(values, read_pack<B, T, N>(from), N);
  } else if constexpr (B == Backend::cuda && N > 1) {
    if (wide && count == N) {
      const auto all = *reinterpret_cast<const Neighbours<T, N>*>(from);
      PORTOPS_UNROLL
      for (int k = 0; k < N; ++k) values[k] = static_cast<Arithmetic<T>>(all.element[k]);
      return;
    }
  }
  PORTOPS_UNROLL
  for (int k = 0; k < N; ++k) {
    if (k < count) values[k] = static_cast<Arithmetic<T>>(from[k * stride]);
  }
}

/// Writes them, each rounded once.
template <Backend B, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void write_block(T* to, const Arithmetic<T> (&values)[N], std::int64_t stride, int count,
                                             [[maybe_unused]] bool wide) {
  if constexpr (B == Backend::cuda && N * sizeof(T) == gpu_pack_bytes) {
    if (wide && count == N) return store_pack<B, T, N>(to, values, false);
  } else if constexpr (B == Backend::cuda && N > 1) {
    if (wide && count == N) {
      Neighbours<T, N> all;
      PORTOPS_UNROLL
      for (int k = 0; k < N; ++k) all.element[k] = static_cast<T>(values[k]);
      *reinterpret_cast<Neighbours<T, N>*>(to) = all;
      return;
    }
  }
  store_elements<B, T, N>(to, values, stride, count);
}

/// The neighbours of a block: on a GPU a pack of the widest access, on a host as many as make vectors worth it.
template <Backend B, class T>
inline constexpr int pool_neighbours = B == Backend::cuda ? gpu_pack_bytes / static_cast<int>(sizeof(T)) : 64;

}  // namespace portops::impl
