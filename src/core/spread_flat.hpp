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
  static constexpr int pack = tile_shape(B, ElementTypeOf<T>::value).pack;
  /// Teams that should fit a multiprocessor at once.
  static constexpr int blocks = sizeof(T) == 2 ? 5 : 7;

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
        A values[pack];
        load(values, at);
        Cursor cursor = cursor_at(at);
        map(cursor, values);
        store_pack<B, T, pack>(y_ + at, values, false);
      } else {
        Cursor cursor = cursor_at(at);
        for (int p = 0; p < run_packs_ && first + p < packs_; ++p) {
          alignas(64) A values[pack];
          load(values, at + p * pack);
          map(cursor, values);
          store_pack<B, T, pack>(y_ + at + p * pack, values, streaming_);
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

  KOKKOS_FORCEINLINE_FUNCTION void load(A (&values)[pack], Index at) const {
    if (x_packs_) {
      convert_pack<B, T, pack>(values, read_pack<B, T, pack>(x_ + at), pack);
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) values[i] = static_cast<A>(x_[at + i]);
    }
  }

  /// Maps a pack, whose first element is in the cursor's row.
  KOKKOS_FORCEINLINE_FUNCTION void map(Cursor& cursor, A (&values)[pack]) const {
    if (B == Backend::cuda && columns_ >= pack) {
      // The pack reaches into the next row, or not.
      Row second = cursor.value;
      if (cursor.left < pack) second = read_row(cursor.row + 1);
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        if (i == cursor.left) cursor.value = second;
        values[i] = f_(values[i], cursor.value);
      }
    } else if (B == Backend::cuda) {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        if (cursor.left == i) next_row(cursor);
        values[i] = f_(values[i], cursor.value);
      }
    } else {
      for (int i = 0; i < pack;) {
        if (cursor.left == 0) next_row(cursor);
        const int end = i + static_cast<int>(cursor.left < pack - i ? cursor.left : pack - i);
        cursor.left -= end - i;
        const Row value = cursor.value;
        for (; i < end; ++i) values[i] = f_(values[i], value);
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
