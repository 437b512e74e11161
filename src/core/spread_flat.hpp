// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/rows.hpp"
#include "core/spaces.hpp"
#include "core/tile_shape.hpp"

#include <algorithm>

namespace portops::impl {

/// y = f(x, value of the row) where rows lie one behind the other in x and y: over their memory as a whole, by packs
/// that may reach from a row into the next ones. Index holds every position in it.
template <Backend B, class T, class F, class Index>
class SpreadFlat {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  /// Packs that a work item takes together, to look up its row once. Elements of a pack, and of all.
  static constexpr int packs = B == Backend::cuda && sizeof(T) == 2 && F::is_light ? 2 : 1;
  static constexpr int width = tile_shape(B, ElementTypeOf<T>::value).pack;
  static constexpr int pack = packs * width;
  /// Teams that should fit a multiprocessor at once.
  static constexpr int blocks = sizeof(T) == 4 ? 8 : packs == 2 ? 4 : 5;

  SpreadFlat(const F& f, const ReducePlan& plan, const SpreadOperands& operands, bool streaming)
      : f_(f),
        x_(reinterpret_cast<const T*>(plan.operand[operands.x].data)),
        y_(reinterpret_cast<T*>(plan.operand[operands.y].data)),
        out_(reinterpret_cast<const T*>(plan.operand[operands.out].data)),
        out_grad_(reinterpret_cast<const T*>(plan.operand[operands.out_grad].data)),
        out_stride_(plan.operand[operands.out].stride[0]),
        out_grad_stride_(plan.operand[operands.out_grad].stride[0]),
        size_(static_cast<Index>(plan.kept * plan.columns)),
        columns_(static_cast<Index>(plan.columns)),
        streaming_(streaming) {
    const auto address = reinterpret_cast<std::uintptr_t>(y_);
    const auto alignment = static_cast<std::uintptr_t>(pack_alignment(B));
    const std::uintptr_t to_pack = (alignment - address % alignment) % alignment / sizeof(T);
    head_ = static_cast<int>(std::min<std::int64_t>(static_cast<std::int64_t>(to_pack), size_));
    // Long runs where stores are streamed, because each ends with a fence.
    run_packs_ = B == Backend::cuda ? 1 : streaming ? 512 : 64;
    packs_ = (size_ - head_) / pack;
    runs_ = static_cast<Index>(ceil_div(packs_, run_packs_));
    x_packs_ = B != Backend::cuda || reinterpret_cast<std::uintptr_t>(x_ + head_) % gpu_pack_bytes == 0;
    if constexpr (sizeof(Index) == 4) divisor_ = Divisor(static_cast<std::uint32_t>(columns_));
  }

  std::int64_t items() const { return static_cast<std::int64_t>(runs_) + (size_ - packs_ * pack); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const auto item = static_cast<Index>(index);
    if (item < runs_) {
      const Index first = item * run_packs_;
      const Index at = head_ + first * pack;
      if constexpr (B == Backend::cuda) {
        // The load of x is under way while the row is looked up.
        A values[packs][width];
        load(values, at);
        Cursor cursor = cursor_at(at);
        map(cursor, values);
        PORTOPS_UNROLL
        for (int p = 0; p < packs; ++p) store_pack<B, T, width>(y_ + at + p * width, values[p], false);
      } else {
        Cursor cursor = cursor_at(at);
        for (int p = 0; p < run_packs_ && first + p < packs_; ++p) {
          alignas(64) A values[1][width];
          load(values, at + p * pack);
          map(cursor, values);
          store_pack<B, T, width>(y_ + at + p * pack, values[0], streaming_);
        }
        if (streaming_) end_of_streaming<B>();
      }
    } else {
      const Index edge = item - runs_;
      const Index at = edge < head_ ? edge : edge + packs_ * pack;
      y_[at] = static_cast<T>(f_(static_cast<A>(x_[at]), cursor_at(at).value));
    }
  }

 private:
  /// A row, and how many of its columns are left.
  struct Cursor {
    Index row;
    Index left;
    Row value;
  };

  KOKKOS_FORCEINLINE_FUNCTION Cursor cursor_at(Index at) const {
    Index row;
    if constexpr (sizeof(Index) == 4) {
      row = static_cast<Index>(divisor_.quotient(static_cast<std::uint32_t>(at)));
    } else {
      row = quotient(at, columns_);
    }
    return {row, (row + 1) * columns_ - at, read_row(row)};
  }

  KOKKOS_FORCEINLINE_FUNCTION Row read_row(Index row) const {
    return f_.row(static_cast<A>(out_[row * out_stride_]), static_cast<A>(out_grad_[row * out_grad_stride_]));
  }

  KOKKOS_FORCEINLINE_FUNCTION void next_row(Cursor& cursor) const {
    ++cursor.row;
    cursor.left += columns_;
    cursor.value = read_row(cursor.row);
  }

  KOKKOS_FORCEINLINE_FUNCTION void load(A (&values)[packs][width], Index at) const {
    PORTOPS_UNROLL
    for (int p = 0; p < packs; ++p) {
      if (x_packs_) {
        convert_pack<B, T, width>(values[p], read_pack<B, T, width>(x_ + at + p * width), width);
      } else {
        PORTOPS_UNROLL
        for (int i = 0; i < width; ++i) values[p][i] = static_cast<A>(x_[at + p * width + i]);
      }
    }
  }

  /// Maps elements of which the first is in the cursor's row.
  KOKKOS_FORCEINLINE_FUNCTION void map(Cursor& cursor, A (&values)[packs][width]) const {
    if (B == Backend::cuda && columns_ >= pack) {
      // They reach into the next row, or not.
      Row second = cursor.value;
      if (cursor.left < pack) second = read_row(cursor.row + 1);
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        if (i == cursor.left) cursor.value = second;
        A& value = values[i / width][i % width];
        value = f_(value, cursor.value);
      }
    } else if (B == Backend::cuda) {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        if (cursor.left == i) next_row(cursor);
        A& value = values[i / width][i % width];
        value = f_(value, cursor.value);
      }
    } else {
      for (int i = 0; i < width;) {
        if (cursor.left == 0) next_row(cursor);
        const int end = i + static_cast<int>(cursor.left < width - i ? cursor.left : width - i);
        cursor.left -= end - i;
        const Row value = cursor.value;
        for (; i < end; ++i) values[0][i] = f_(values[0][i], value);
      }
    }
  }

  F f_;
  const T* x_;
  T* y_;
  const T* out_;
  const T* out_grad_;
  std::int64_t out_stride_;
  std::int64_t out_grad_stride_;
  Index size_;
  Index columns_;
  Index packs_;
  Index runs_;
  int head_;  ///< elements before the first pack of y
  int run_packs_;
  Divisor divisor_;
  bool x_packs_;  ///< x can be read by packs where y is written by packs
  bool streaming_;
};

}  // namespace portops::impl
