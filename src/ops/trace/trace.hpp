// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>

namespace portops {

/// The attributes of trace and trace_grad.
struct TraceParams {
  /// Which diagonal: so many columns to the right of the main one; negative ones lie below it.
  std::int64_t offset = 0;
  /// The axis of the matrices' rows; negative ones count from the last.
  std::int64_t axis1 = 0;
  /// The axis of their columns, another one than axis1.
  std::int64_t axis2 = 1;
};

/// The sums along diagonals of matrices:
///
///   out[…] = Σ x[…, i, i + offset]    over i, where i stands along axis1 and i + offset along axis2
///
/// x      any rank of 2 or more, any extents and strides.
/// out    has the extents of x without the axes axis1 and axis2.
///
/// Both have one element type: f64, f32, f16 or bf16. Sums are accumulated in f32 (f64 for f64), in trees of fixed
/// shape: the same bits on every run, for any number of threads and on every backend (NaN payloads apart), whether the
/// context asks for it or not. A diagonal without elements, as one outside of the matrix, gives 0. Tensors without
/// elements are valid. NaN and Inf follow from the formula.
///
/// Throws portops::Error, before anything is enqueued, when x has fewer than 2 axes, axis1 or axis2 is out of range, or
/// both name one axis, `out` has other extents, element types differ, a tensor is empty (not given) or lies where the
/// context's backend cannot reach it, `out` is read-only, has two elements at one address, or overlaps x. Temporaries:
/// partial sums of long diagonals, from the library's pool or the context's workspace; trace_workspace gives their
/// size.
///
/// Semantics: Paddle's `trace`, numpy.trace.
PORTOPS_EXPORT void trace(const Context& ctx, const TensorRef& x, const TensorRef& out, const TraceParams& params = {});

/// The gradient of trace, each element of which is written once:
///
///   x_grad[…, i, j] = out_grad[…] where j − i = offset, 0 elsewhere
///
/// x          as in trace; its elements are not read: it may be TensorRef::without_data.
/// out_grad   has the extents that trace gives.
/// x_grad     has the extents of x, or is an empty TensorRef, and then nothing is done.
///
/// Throws portops::Error as trace does; x_grad may not overlap anything.
///
/// Semantics: Paddle's `trace_grad`, autograd's of torch.diagonal and torch.sum.
PORTOPS_EXPORT void trace_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad,
                               const TensorRef& x_grad, const TraceParams& params = {});

/// The bytes of workspace that the same call of trace needs. Tensors of the same extents, strides and alignment need
/// the same.
PORTOPS_EXPORT std::size_t trace_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                           const TraceParams& params = {});

}  // namespace portops
