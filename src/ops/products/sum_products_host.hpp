// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/panels.hpp"
#include "core/exec/spaces.hpp"
#include "core/loop/loop.hpp"

#include <algorithm>
#include <cstring>

namespace portops::impl {

/// Products of a matrix and a vector on hosts, where the rows of the matrix have no gaps: either each row times the
/// vector, or sums of all rows, each times a number. A thread has some sums to itself, in blocks whose sizes are those
/// of the loop's extents alone.
///
/// Chains of 64 terms make a sum of a block, and these are added up in double.
template <class T>
class SumProductsHost {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  explicit SumProductsHost(const Loop& loop)
      : matrix_(reinterpret_cast<const T*>(loop.operand[0].data)),
        vector_(reinterpret_cast<const T*>(loop.operand[1].data)),
        out_(reinterpret_cast<T*>(loop.operand[2].data)),
        loop_(loop),
        first_(loop.rank - 2),
        rows_(loop.extent[first_]),
        columns_(loop.extent[first_ + 1]) {
    if (first_ == 1) outer_ = loop.extent[0];
    is_along_ = loop.operand[2].stride[first_ + 1] == 0;
    sums_of_item_ = is_along_ ? std::max<std::int64_t>(1, (1 << 15) / columns_) : columns_of_block;
    items_of_outer_ = ((is_along_ ? rows_ : columns_) - 1) / sums_of_item_ + 1;
  }

  /// For loops with elements, of two axes or, with a batch outside, three.
  static bool suits(const Loop& loop) {
    if (loop.rank < 2 || loop.rank > 3 || loop.inputs != 2 || loop.size() == 0) return false;
    const int row = loop.rank - 2, column = row + 1;
    const LoopOperand &matrix = loop.operand[0], &vector = loop.operand[1], &out = loop.operand[2];
    if (matrix.data == nullptr || vector.data == nullptr || matrix.stride[column] != 1) return false;
    if (row == 1 && out.stride[0] == 0) return false;
    const bool is_along = out.stride[column] == 0 && out.stride[row] != 0 && vector.stride[column] == 1;
    const bool is_down = out.stride[row] == 0 && out.stride[column] != 0 && vector.stride[column] == 0;
    return (is_along || is_down) && loop.extent[is_along ? column : row] <= longest;
  }

  std::int64_t items() const { return outer_ * items_of_outer_; }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((is_along_ ? multiply_rows(item) : add_rows(item);))
  }

 private:
  /// More terms of a sum would be more blocks than are added up one after the other.
  static constexpr std::int64_t longest = std::int64_t{1} << 18;
  static constexpr int columns_of_block = 256;
  static constexpr int chain = 64;
  static constexpr int lanes = blas::Blocks<A>::lanes, vectors = 8, width = lanes * vectors;
  using Vector = typename blas::Blocks<A>::Vector;

  std::int64_t stride(int operand, int axis) const { return loop_.operand[operand].stride[axis]; }
  std::int64_t start(int operand, std::int64_t outer) const { return first_ == 1 ? outer * stride(operand, 0) : 0; }

  void multiply_rows(std::int64_t item) const {
    const std::int64_t outer = item / items_of_outer_, first = item % items_of_outer_ * sums_of_item_;
    for (std::int64_t row = first; row < std::min(first + sums_of_item_, rows_); ++row) {
      const T* const x = matrix_ + start(0, outer) + row * stride(0, first_);
      const T* const y = vector_ + start(1, outer) + row * stride(1, first_);
      double total = 0.0;
      constexpr int block = chain * width;
      for (std::int64_t k = 0; k < columns_; k += block) {
        total += sum_of_block(x + k, y + k, static_cast<int>(std::min<std::int64_t>(block, columns_ - k)));
      }
      out_[start(2, outer) + row * stride(2, first_)] = static_cast<T>(static_cast<A>(total));
    }
  }

  /// The elements in registers, as they are computed with.
  static void load(Vector (&to)[vectors], const T* from, int count) {
    alignas(64) A numbers[width] = {};
    if (count == width && std::is_same_v<T, A>) {
      std::memcpy(to, from, sizeof(to));
      return;
    }
    blas::convert_run(numbers, from, count);
    std::memcpy(to, numbers, sizeof(to));
  }

  static A sum_of_block(const T* x, const T* y, int count) {
    Vector sums[vectors] = {}, left[vectors], right[vectors];
    for (int k = 0; k < count; k += width) {
      load(left, x + k, std::min(width, count - k));
      load(right, y + k, std::min(width, count - k));
      for (int i = 0; i < vectors; ++i) sums[i] += left[i] * right[i];
    }
    for (int half = vectors / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    A numbers[lanes];
    std::memcpy(numbers, sums, sizeof(numbers));
    for (int half = lanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) numbers[i] += numbers[i + half];
    }
    return numbers[0];
  }

  void add_rows(std::int64_t item) const {
    const std::int64_t outer = item / items_of_outer_, column = item % items_of_outer_ * columns_of_block;
    const int count = static_cast<int>(std::min<std::int64_t>(columns_of_block, columns_ - column));
    const T* const x = matrix_ + start(0, outer) + column;
    const T* const y = vector_ + start(1, outer);
    double totals[columns_of_block] = {};
    alignas(64) A sums[columns_of_block], numbers[columns_of_block];
    for (std::int64_t row = 0; row < rows_; row += chain) {
      std::fill_n(sums, columns_of_block, A(0));
      for (std::int64_t k = row; k < std::min(row + chain, rows_); ++k) {
        const T* const from = x + k * stride(0, first_);
        const auto factor = static_cast<A>(y[k * stride(1, first_)]);
        if constexpr (std::is_same_v<T, A>) {
          for (int j = 0; j < count; ++j) sums[j] += factor * from[j];
        } else {
          blas::convert_run(numbers, from, count);
          for (int j = 0; j < count; ++j) sums[j] += factor * numbers[j];
        }
      }
      for (int j = 0; j < count; ++j) totals[j] += sums[j];
    }
    T* const to = out_ + start(2, outer) + column * stride(2, first_ + 1);
    for (int j = 0; j < count; ++j) to[j * stride(2, first_ + 1)] = static_cast<T>(static_cast<A>(totals[j]));
  }

  const T* matrix_;
  const T* vector_;
  T* out_;
  Loop loop_;
  int first_;  ///< the axis of the rows
  std::int64_t rows_, columns_;
  std::int64_t outer_ = 1;
  bool is_along_ = false;
  std::int64_t sums_of_item_ = 1, items_of_outer_ = 1;
};

}  // namespace portops::impl
