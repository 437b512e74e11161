// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

struct MergeRowsParams {
  /// The number of rows of the table that rows counts in.
  std::int64_t height = 0;
};

/// Merges the rows of a sparse gradient, such as that of an embedding's table: rows of one place are added up.
///
///   out_rows[u]   = the u-th smallest of the places that occur in rows    for u < count
///   out_values[u] = Σ values[i] over all i with rows[i] = out_rows[u]
///
/// rows        i64 [n]: the place of each row in a table of `height` rows, in any order, any of them more than once.
/// values      [n, …], rank 1 or more, f64, f32, f16 or bf16.
/// out_rows    i64, the extents of rows. From count on it holds height, so that it ascends throughout.
/// out_values  the extents and element type of values. Rows from count on are left as they are.
/// count       i64, extents []: how many places occur. It lies where the context's backend reaches it, and nothing
///             waits for the device. merged_count reads it.
///
/// Sums are accumulated in f32 (f64 for f64) and rounded once, in trees that depend on the places alone: the same bits
/// on every run, for any number of threads and on every backend, whether the context asks for it or not. Rows of one
/// place are added in the order of their positions.
///
/// A place outside of [0, height) is refused. Where the host reads rows (serial, openmp) that is an Error before
/// anything is enqueued. On cuda rows are read when the call's turn comes: such rows are left out, and count becomes
/// −1 − the position of the first, for which merged_count throws.
///
/// Tensors are read with any strides. Tensors without elements are valid: for n = 0 only count is written. Throws
/// portops::Error, before anything is enqueued, when ranks or extents do not fit, height is negative, element types are
/// others, a tensor is empty (not given) or lies where the context's backend cannot reach it, an output is read-only,
/// has two elements at one address, or overlaps anything. Temporaries come from the library's pool or the context's
/// workspace; merge_rows_workspace gives their size.
///
/// Semantics: Paddle's `merge_selected_rows` and PyTorch's `coalesce` of a COO tensor with one sparse dimension, with
/// sorted rows. There the number of rows becomes an extent, for which the host must wait.
PORTOPS_EXPORT void merge_rows(const Context& ctx, const TensorRef& rows, const TensorRef& values,
                               const TensorRef& out_rows, const TensorRef& out_values, const TensorRef& count,
                               const MergeRowsParams& params);

/// The bytes of workspace that the same call of merge_rows needs.
PORTOPS_EXPORT std::size_t merge_rows_workspace(const Context& ctx, const TensorRef& rows, const TensorRef& values,
                                                const TensorRef& out_rows, const TensorRef& out_values,
                                                const TensorRef& count, const MergeRowsParams& params);

/// What merge_rows wrote to count, on the host. Waits until everything enqueued on the context is done. Throws Error
/// when a place was outside of the table.
PORTOPS_EXPORT std::int64_t merged_count(const Context& ctx, const TensorRef& count);

}  // namespace portops
