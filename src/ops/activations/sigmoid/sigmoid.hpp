// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

/// The logistic function, element by element:
///
///   out = 1 / (1 + e^−x)
///
/// x      of any extents, with any strides.
/// out    has the extents of x; may be the same tensor as x (in place).
///
/// f64 and f32 are right within 3 units in the last place, the 16-bit types within 0.55, for large |x| too.
///
/// All tensors have one element type: f64, f32, f16 or bf16. The 16-bit types compute in f32 and round once. The result
/// has the same bits on every backend (NaN payloads apart). Tensors without elements are valid, and nothing is enqueued
/// for them.
///
/// Throws portops::Error, before anything is enqueued, when `out` has other extents, element types differ, a tensor is
/// empty (not given) or lies where the context's backend cannot reach it, `out` is read-only, has two elements at one
/// address, or overlaps x other than as said above.
///
/// Semantics: Paddle's and PyTorch's `sigmoid`.
PORTOPS_EXPORT void sigmoid(const Context& ctx, const TensorRef& x, const TensorRef& out);

/// The gradient of sigmoid:
///
///   x_grad = out_grad · out · (1 − out)
///
/// out        the result of sigmoid, of any extents, with any strides.
/// out_grad   has the extents of out.
/// x_grad     has the extents of out; may be the same tensor as out_grad; empty, it is not wanted, and costs nothing.
///
/// out holds all that is needed of x, and so the operator may have been in place.
///
/// Throws portops::Error as sigmoid does.
///
/// Semantics: Paddle's `sigmoid_grad`, PyTorch's `sigmoid_backward`.
PORTOPS_EXPORT void sigmoid_grad(const Context& ctx, const TensorRef& out, const TensorRef& out_grad,
                                 const TensorRef& x_grad);

}  // namespace portops
