// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/rows.hpp"
#include "core/spaces.hpp"
#include "core/tile_shape.hpp"

#include <algorithm>

namespace portops::impl {

/// y = f(x, value of the row) where rows lie one behind the other in x and y: over their memory as a whole, by packs
/// that may reach from a row into the next ones.
template <Backend B, class T, class F>
class SpreadFlat {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  static constexpr int pack = tile_shape(B, ElementTypeOf<T>::value).pack;
  static constexpr int blocks = 0;

  SpreadFlat(const F& f, const ReducePlan& plan, const SpreadOperands& operands, bool streaming)
      : f_(f),
        axes_(plan),
        out_(plan.operand[operands.out]),
        out_grad_(plan.operand[operands.out_grad]),
        x_(reinterpret_cast<const T*>(plan.operand[operands.x].data)),
        y_(reinterpret_cast<T*>(plan.operand[operands.y].data)),
        size_(plan.kept * plan.columns),
        columns_(plan.columns),
        streaming_(streaming) {
    const auto address = reinterpret_cast<std::uintptr_t>(y_);
    const auto alignment = static_cast<std::uintptr_t>(pack_alignment(B));
    const std::uintptr_t to_pack = (alignment - address % alignment) % alignment / sizeof(T);
    head_ = static_cast<int>(std::min<std::int64_t>(static_cast<std::int64_t>(to_pack), size_));
    // Long runs where stores are streamed, because each ends with a fence.
    run_packs_ = B == Backend::cuda ? 1 : streaming ? 512 : 64;
    packs_ = (size_ - head_) / pack;
    runs_ = ceil_div(packs_, run_packs_);
    x_packs_ = B != Backend::cuda || reinterpret_cast<std::uintptr_t>(x_ + head_) % gpu_pack_bytes == 0;
    if (size_ <= INT32_MAX) divisor_ = Divisor(static_cast<std::uint32_t>(columns_));
  }

  std::int64_t items() const { return runs_ + (size_ - packs_ * pack); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    Cursor cursor{0, 0, {}};
    if (item < runs_) {
      const std::int64_t first = item * run_packs_;
      move_to(cursor, head_ + first * pack);
      for (int p = 0; p < run_packs_ && first + p < packs_; ++p) map_pack(cursor, head_ + (first + p) * pack);
      if (streaming_) end_of_streaming<B>();
    } else {
      const std::int64_t edge = item - runs_;
      const std::int64_t at = edge < head_ ? edge : edge + packs_ * pack;
      move_to(cursor, at);
      y_[at] = static_cast<T>(f_(static_cast<A>(x_[at]), cursor.value));
    }
  }

 private:
  /// A row, and how many of its columns are left.
  struct Cursor {
    std::int64_t row;
    std::int64_t left;
    Row value;
  };

  KOKKOS_FORCEINLINE_FUNCTION void move_to(Cursor& cursor, std::int64_t at) const {
    cursor.row = size_ <= INT32_MAX ? divisor_.quotient(static_cast<std::uint32_t>(at)) : at / columns_;
    cursor.left = (cursor.row + 1) * columns_ - at;
    read_row(cursor);
  }

  KOKKOS_FORCEINLINE_FUNCTION void read_row(Cursor& cursor) const {
    cursor.value = f_.row(static_cast<A>(out_.data[axes_.kept_offset(out_, cursor.row)]),
                          static_cast<A>(out_grad_.data[axes_.kept_offset(out_grad_, cursor.row)]));
  }

  KOKKOS_FORCEINLINE_FUNCTION void map_pack(Cursor& cursor, std::int64_t at) const {
    A values[pack];
    if (x_packs_) {
      convert_pack<B, T, pack>(values, read_pack<B, T, pack>(x_ + at), pack);
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) values[i] = static_cast<A>(x_[at + i]);
    }
    if constexpr (B == Backend::cuda) {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        if (i > 0 && cursor.left == i) {
          ++cursor.row;
          cursor.left += columns_;
          read_row(cursor);
        }
        values[i] = f_(values[i], cursor.value);
      }
    } else {
      for (int i = 0; i < pack;) {
        if (cursor.left == 0) {
          ++cursor.row;
          cursor.left = columns_;
          read_row(cursor);
        }
        const int end = i + static_cast<int>(cursor.left < pack - i ? cursor.left : pack - i);
        cursor.left -= end - i;
        const Row value = cursor.value;
        for (; i < end; ++i) values[i] = f_(values[i], value);
      }
    }
    store_pack<B, T, pack>(y_ + at, values, streaming_);
  }

  F f_;
  RowAxes axes_;
  RowOperand<T> out_;
  RowOperand<T> out_grad_;
  const T* x_;
  T* y_;
  std::int64_t size_;
  std::int64_t columns_;
  std::int64_t packs_;
  std::int64_t runs_;
  int head_;  ///< elements before the first pack of y
  int run_packs_;
  Divisor divisor_;
  bool x_packs_;  ///< x can be read by packs where y is written by packs
  bool streaming_;
};

}  // namespace portops::impl
