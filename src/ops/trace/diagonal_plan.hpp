// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/tensor_ref.hpp"
#include "ops/trace/trace_rules.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

// How a tensor is filled with zeros but for the diagonals of its matrices. Nothing here knows Kokkos.

namespace portops::impl {

/// The tensor's axes in the order in which they lie in memory: the fastest gives the columns of rows, whose number
/// counts along the others. Elements are numbered row by row.
struct DiagonalPlan {
  /// An axis of the matrices, where rows count along it: their position there is row / below % extent.
  struct MatrixAxis {
    std::int64_t below = 1;
    std::int64_t extent = 1;
  };

  std::byte* x_grad = nullptr;
  const std::byte* out_grad = nullptr;
  std::int64_t size = 0;
  std::int64_t columns = 1;
  std::int64_t x_column_stride = 1;
  std::int64_t out_column_stride = 0;
  int rank = 0;  ///< of the rows
  std::array<std::int64_t, max_rank> extent{};
  std::array<std::int64_t, max_rank> x_stride{};
  std::array<std::int64_t, max_rank> out_stride{};  ///< 0 along the matrices' axes
  bool is_dense = false;                            ///< element i lies at x_grad + i

  /// Whether positions and their sums fit 32 bits.
  bool is_small() const { return size < INT32_MAX / 2; }

  /// Where the columns are one of the matrices' axes, a row has one element of a diagonal at most: in column
  /// position along `first` + shift. Else a row is one of such elements where the position along `second` is that one.
  bool crosses = false;
  std::int64_t shift = 0;
  MatrixAxis first, second;
};

/// For a tensor x_grad of one element or more, whose diagonals take their elements from out_grad.
DiagonalPlan make_diagonal_plan(const TensorRef& x_grad, const TensorRef& out_grad, const Diagonal& diagonal);

/// The same without diagonals: zeros.
DiagonalPlan make_zero_plan(const TensorRef& tensor);

}  // namespace portops::impl
