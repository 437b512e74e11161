// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

struct SparseSgdParams {
  /// i64, extents []: given where rows and values are merged, as merge_rows gives them; rows from count on are passed
  /// over.
  TensorRef count = {};
  double learning_rate = 0.0;
};

/// A step of gradient descent by a sparse gradient: for each place r in rows
///
///   param_out[r] = param[r] − learning_rate · g,   g = Σ values[i] over all i with rows[i] = r
///
/// and param_out = param in all other rows.
///
/// param       [height, …], rank 1 or more: the table.
/// rows        i64 [n]: places in the table, in any order, any of them more than once. Merged rows ascend.
/// values      [n, …]: the gradient's rows.
/// param_out   the extents of param; may be the same tensor (in place). Where it is another, all of param is copied.
///
/// param, values and param_out have one element type: f64, f32, f16 or bf16. Sums are those of merge_rows, but not
/// rounded on the way: the 16-bit types compute in f32 and round once. The same bits on every run, for any number of
/// threads and on every backend; but not on a GPU without ctx.deterministic(), in f32 and f64 and without count. There
/// rows are added to the table atomically, in any order, as PyTorch does: of n rows of one place the error is within
/// (n + 1) · 2^-24 (f64: 2^-53) of the magnitudes added up, that of param among them. Without count, rows of one
/// place are added up within the call; what is merged already is only read.
///
/// A place outside of the table is an Error, before anything is enqueued, where the host reads rows (serial, openmp),
/// and so are merged rows that do not ascend. On cuda such rows are passed over: merge_rows and merged_count tell of
/// them. Tensors without elements are valid.
///
/// Throws portops::Error, before anything is enqueued, when extents do not fit, element types differ, a tensor is empty
/// (not given; count may be) or lies where the context's backend cannot reach it, param_out is read-only, has two
/// elements at one address, or overlaps anything other than as said above. Temporaries come from the library's pool or
/// the context's workspace; sparse_sgd_workspace gives their size.
///
/// Semantics: Paddle's `sgd` with a gradient of SelectedRows, and PyTorch's SGD, without momentum, of a sparse
/// gradient.
PORTOPS_EXPORT void sparse_sgd(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                               const TensorRef& values, const TensorRef& param_out, const SparseSgdParams& params);

/// The bytes of workspace that the same call of sparse_sgd needs.
PORTOPS_EXPORT std::size_t sparse_sgd_workspace(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                                                const TensorRef& values, const TensorRef& param_out,
                                                const SparseSgdParams& params);

}  // namespace portops
