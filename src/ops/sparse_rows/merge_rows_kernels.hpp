// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/sparse_rows/row_order.hpp"
#include "ops/sparse_rows/sparse_rows.hpp"

namespace portops::impl {

/// The launches of merge_rows and of embedding_sparse_gradient on one backend for one element type. Defined in
/// merge_rows_kernels_impl.hpp and compiled once for each pair.
template <Backend B, class T>
struct MergeRowsKernels {
  /// Operands: values, out_values.
  static void merge(const Context& ctx, const SparseRows& sparse, const NumberedPlaces& numbered);
  /// Operands: out_grad, values.
  static void embedding(const Context& ctx, const SparseRows& sparse, const NumberedPlaces& numbered);
};

}  // namespace portops::impl
