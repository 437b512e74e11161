// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

/// The positive part (rectified linear unit), element by element:
///
///   out = max(x, 0)
///
/// x      of any extents, with any strides.
/// out    has the extents of x; may be the same tensor as x (in place).
///
/// NaN gives NaN, and −0 gives −0.
///
/// All tensors have one element type: f64, f32, f16 or bf16. The 16-bit types compute in f32 and round once. The result
/// has the same bits on every backend (NaN payloads apart). Tensors without elements are valid, and nothing is enqueued
/// for them.
///
/// Throws portops::Error, before anything is enqueued, when `out` has other extents, element types differ, a tensor is
/// empty (not given) or lies where the context's backend cannot reach it, `out` is read-only, has two elements at one
/// address, or overlaps x other than as said above.
///
/// Semantics: Paddle's and PyTorch's `relu`.
PORTOPS_EXPORT void relu(const Context& ctx, const TensorRef& x, const TensorRef& out);

/// The gradient of relu:
///
///   x_grad = out_grad where out > 0, else 0
///
/// out        the result of relu, of any extents, with any strides.
/// out_grad   has the extents of out.
/// x_grad     has the extents of out; may be the same tensor as out_grad; empty, it is not wanted, and costs nothing.
///
/// Where out is NaN, x_grad is out_grad. out holds all that is needed of x, and so the operator may have been in place.
///
/// Throws portops::Error as relu does.
///
/// Semantics: Paddle's `relu_grad`, PyTorch's `threshold_backward`.
PORTOPS_EXPORT void relu_grad(const Context& ctx, const TensorRef& out, const TensorRef& out_grad,
                              const TensorRef& x_grad);

}  // namespace portops
