// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/pool2d/pool_by_packs.hpp"

namespace portops::impl {

/// x_grad = the sum over the windows that have a pixel, for the windows of PoolByPacks, on a GPU. Window (i, j) and the
/// cell of two by two pixels from (2 i, 2 j) on belong together: a thread takes cells, whose pixels lie in their own
/// windows and, where K is 3, in those behind.
template <class T, int K, bool by_channels, int pack, bool is_max>
class SpreadByPacks {
 public:
  using A = Arithmetic<T>;
  using Shape = PackShape<K, by_channels, pack>;
  static constexpr int blocks = 0;

  explicit SpreadByPacks(const PoolPlan& plan)
      : blocks_(plan, ceil_div(plan.down.extent, 2), ceil_div(plan.across.extent, 2), Shape::block),
        down_(axis_of<int>(plan.down)),
        across_(axis_of<int>(plan.across)),
        x_grad_(tensor_of<int>(plan.x)),
        out_grad_(tensor_of<int>(plan.out)),
        index_(tensor_of<int>(plan.index)),
        exclusive_(plan.exclusive) {}

  std::int64_t items() const { return blocks_.count(); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const PoolBlock<int> block = blocks_[item];
    A value[window_rows][window_columns][channels];
    int found[window_rows][window_columns][channels];
    PORTOPS_UNROLL
    for (int i = 0; i < window_rows; ++i) read_windows(value[i], found[i], block, i);
    PORTOPS_UNROLL
    for (int r = 0; r < 2 * rows; ++r) {
      A total[width][channels];
      PORTOPS_UNROLL
      for (int c = 0; c < width; ++c) {
        const int pixel = (2 * block.row + r) * across_.extent + 2 * block.column + c;
        PORTOPS_UNROLL
        for (int k = 0; k < channels; ++k) {
          total[c][k] = A(0);
          PORTOPS_UNROLL
          for (int i = r / 2; i <= (r + before) / 2; ++i) {
            A sum = 0;
            PORTOPS_UNROLL
            for (int j = c / 2; j <= (c + before) / 2; ++j) {
              sum += !is_max || found[i][j][k] == pixel ? value[i][j][k] : A(0);
            }
            total[c][k] += sum;
          }
        }
      }
      if (2 * block.row + r < down_.extent) write_row(total, block, 2 * block.row + r);
    }
  }

 private:
  static constexpr int rows = Shape::rows, columns = Shape::columns, channels = Shape::channels;
  static constexpr int before = Shape::before;
  static constexpr int window_rows = rows + before, window_columns = columns + before;
  static constexpr int width = 2 * columns;

  /// What the windows of a row have for each of their pixels, 0 where there is no window, and, of maxima, for which.
  KOKKOS_FORCEINLINE_FUNCTION void read_windows(A (&value)[window_columns][channels],
                                                int (&found)[window_columns][channels], const PoolBlock<int>& block,
                                                int i) const {
    const int row = block.row + i;
    const bool is_inside = row < down_.windows;
    const int at = is_inside ? offset_of(out_grad_, block) + i * out_grad_.row : 0;
    const int at_index = is_inside ? offset_of(index_, block) + i * index_.row : 0;
    const T* const from = static_cast<const T*>(out_grad_.data) + at;
    const auto* const from_index = static_cast<const std::int64_t*>(index_.data) + at_index;
    // The pack of a row's windows and the single one behind it, or a pack of each window's channels.
    PORTOPS_UNROLL
    for (int j = 0; j < window_columns; j += by_channels ? 1 : pack) {
      const bool is_there = is_inside && block.column + j < across_.windows;
      const bool is_pack = by_channels || j == 0;
      A values[pack] = {};
      int founds[pack];
      PORTOPS_UNROLL
      for (int k = 0; k < pack; ++k) founds[k] = -1;
      if (is_there) {
        if (is_pack) {
          read_block<Backend::cuda, T, pack>(values, from + j * out_grad_.column, 1, pack, true);
          if constexpr (is_max) read_index(founds, from_index + j * index_.column);
        } else {
          values[0] = static_cast<A>(from[j]);
          if constexpr (is_max) founds[0] = pixel_of<int>(from_index[j]);
        }
      }
      const A size_of_first = size_of(row, block.column + j);
      PORTOPS_UNROLL
      for (int k = 0; k < (is_pack ? pack : 1); ++k) {
        const int c = by_channels ? j : j + k;
        const A size = by_channels ? size_of_first : size_of(row, block.column + c);
        value[c][by_channels ? k : 0] = is_max ? values[k] : is_there ? values[k] / size : A(0);
        found[c][by_channels ? k : 0] = founds[k];
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION A size_of(int row, int column) const {
    return is_max ? A(1) : static_cast<A>(down_.size(row, exclusive_) * across_.size(column, exclusive_));
  }

  KOKKOS_FORCEINLINE_FUNCTION static void read_index(int (&found)[pack], const std::int64_t* from) {
    constexpr int together = pack < 2 ? pack : 2;
    PORTOPS_UNROLL
    for (int k = 0; k < pack; k += together) {
      const auto part = *reinterpret_cast<const Neighbours<std::int64_t, together>*>(from + k);
      PORTOPS_UNROLL
      for (int i = 0; i < together; ++i) found[k + i] = pixel_of<int>(part.element[i]);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write_row(const A (&total)[width][channels], const PoolBlock<int>& block,
                                             int row) const {
    T* const to = static_cast<T*>(x_grad_.data) + offset_of_plane(x_grad_, block) + row * x_grad_.row;
    const int column = 2 * block.column;
    if constexpr (by_channels) {
      PORTOPS_UNROLL
      for (int c = 0; c < width; ++c) {
        if (column + c >= across_.extent) continue;
        write_block<Backend::cuda, T, channels>(to + (column + c) * x_grad_.column, total[c], 1, channels, true);
      }
    } else {
      A values[width];
      PORTOPS_UNROLL
      for (int c = 0; c < width; ++c) values[c] = total[c][0];
      write_block<Backend::cuda, T, width>(to + column, values, 1, width, true);
    }
  }

  PoolBlocks<int> blocks_;
  PoolAxisOf<int> down_, across_;
  PoolTensorOf<int> x_grad_, out_grad_, index_;
  bool exclusive_;
};

}  // namespace portops::impl
