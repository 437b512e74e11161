// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

/// The swish by hard_sigmoid, element by element:
///
///   out = x · min(max(x + 3, 0), 6) / 6
///
/// x      of any extents, with any strides.
/// out    has the extents of x; may be the same tensor as x (in place).
///
/// f64 and f32 are right within 3 units in the last place, the 16-bit types within 0.55. NaN gives NaN. x = −Inf gives
/// −0, the limit, where PyTorch has NaN.
///
/// All tensors have one element type: f64, f32, f16 or bf16. The 16-bit types compute in f32 and round once. The result
/// has the same bits on every backend (NaN payloads apart). Tensors without elements are valid, and nothing is enqueued
/// for them.
///
/// Throws portops::Error, before anything is enqueued, when `out` has other extents, element types differ, a tensor is
/// empty (not given) or lies where the context's backend cannot reach it, `out` is read-only, has two elements at one
/// address, or overlaps x other than as said above.
///
/// Semantics: PyTorch's and Paddle's `hardswish`, ONNX' HardSwish.
PORTOPS_EXPORT void hard_swish(const Context& ctx, const TensorRef& x, const TensorRef& out);

/// The gradient of hard_swish:
///
///   x_grad = 0 where x ≤ −3, out_grad where x ≥ 3, else out_grad · (x / 3 + 1 / 2)
///
/// x          as in hard_swish.
/// out_grad   has the extents of x.
/// x_grad     has the extents of x; may be the same tensor as out_grad; empty, it is not wanted, and costs nothing.
///
/// The factor of out_grad is right within 3 units in the last place of the sum of its terms' magnitudes. Where x is
/// NaN, so is x_grad.
///
/// Throws portops::Error as hard_swish does.
///
/// Semantics: PyTorch's `hardswish_backward`.
PORTOPS_EXPORT void hard_swish_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad,
                                    const TensorRef& x_grad);

}  // namespace portops
