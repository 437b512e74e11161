// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/sparse_rows/row_axes.hpp"

#include <array>
#include <cstddef>

// Rows of a table, gathered by their places: words are moved, which are as wide as rows and addresses allow, so that
// the kernels know no element types. Nothing here knows Kokkos.

namespace portops::impl {

/// out[row i][c] = table[place of row i][c]. Strides and columns count words, but those of places.
struct GatherPlan {
  const std::byte* table = nullptr;
  std::byte* out = nullptr;
  const std::int64_t* places = nullptr;
  RowAxes axes;  ///< row_stride is that of out
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t height = 0;  ///< of the table
  std::int64_t table_row_stride = 0;
  std::int64_t table_column_stride = 0;
  std::int64_t out_column_stride = 0;
  int word_bytes = 0;                  ///< 2, 4, 8 or 16
  std::array<std::byte, 16> nan = {};  ///< a word for places that the table does not have
};

/// `out` has elements.
GatherPlan make_gather_plan(const TensorRef& table, const TensorRef& places, const TensorRef& out);

/// Enqueues it.
void gather_rows(const Context& ctx, const GatherPlan& plan);

}  // namespace portops::impl
