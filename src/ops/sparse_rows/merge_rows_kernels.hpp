// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sparse_rows/sparse_rows_memory.hpp"

namespace portops::impl {

/// The launches of merge_rows and of embedding_sparse_gradient on one backend for one element type. Defined in
/// merge_rows_kernels_impl.hpp and compiled once for each pair.
template <Backend B, class T>
struct MergeRowsKernels {
  /// out[number of a place] = the sum of its rows. Operands: the rows, out.
  static void merge(const Context& ctx, const SparseRowsLabels& labels, const SparseRows& sparse,
                    const NumberedPlaces& numbered);
};

}  // namespace portops::impl
