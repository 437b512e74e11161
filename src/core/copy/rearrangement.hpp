// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/types/macros.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace portops::impl {

/// The same elements in two layouts: batches of matrices of so many rows, whose columns may lie along two axes. Nothing
/// here knows Kokkos.
struct Rearrangement {
  /// Data and strides, in elements.
  struct Side {
    void* data = nullptr;
    std::int64_t batch = 0;
    std::int64_t row = 0;
    std::int64_t y = 0;
    std::int64_t x = 0;
  };

  std::int64_t batches = 1;
  std::int64_t rows = 1;
  std::int64_t height = 1;
  std::int64_t width = 1;
  Side from, to;

  PORTOPS_FUNCTION std::int64_t columns() const { return height * width; }
  std::int64_t size() const { return batches * rows * columns(); }

  /// Where a column lies on a side, from the first one.
  PORTOPS_FUNCTION std::int64_t along_columns(const Side& side, std::int64_t column) const {
    if (height == 1) return column * side.x;
    const std::int64_t y = quotient(column, width);
    return y * side.y + (column - y * width) * side.x;
  }

  /// Joins the columns' two axes where both sides allow it: no division is needed then to find an element.
  void merge_columns() {
    if (height != 1 && from.y == width * from.x && to.y == width * to.x) {
      width *= height;
      height = 1;
    }
  }

  /// Exchanges rows and columns but for the columns' other axis, where the fewer of both are then more.
  void balance() {
    if (std::min(rows, columns()) >= std::min(width, height * rows)) return;
    std::swap(rows, width);
    std::swap(from.row, from.x);
    std::swap(to.row, to.x);
  }
};

}  // namespace portops::impl
