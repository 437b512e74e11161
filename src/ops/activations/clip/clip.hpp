// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <limits>

namespace portops {

/// The options of clip and clip_grad: the bounds, any numbers but NaN.
struct ClipParams {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

/// The arguments within two bounds, element by element:
///
///   out = min(max(x, min), max)
///
/// x      of any extents, with any strides.
/// out    has the extents of x; may be the same tensor as x (in place).
///
/// The bounds are rounded to the element type. Where min is larger than max, out is max. NaN gives NaN, and a 0 that
/// equals a bound keeps its sign. ReLU6 is clip with the bounds 0 and 6.
///
/// All tensors have one element type: f64, f32, f16 or bf16. The result has the same bits on every backend (NaN
/// payloads apart). Tensors without elements are valid, and nothing is enqueued for them.
///
/// Throws portops::Error, before anything is enqueued, when a bound is NaN, `out` has other extents, element types
/// differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, `out` is read-only, has
/// two elements at one address, or overlaps x other than as said above.
///
/// Semantics: PyTorch's `clamp` and Paddle's `clip`, with numbers for bounds.
PORTOPS_EXPORT void clip(const Context& ctx, const TensorRef& x, const TensorRef& out, const ClipParams& params = {});

/// The gradient of clip:
///
///   x_grad = out_grad where min ≤ x ≤ max, else 0
///
/// x          as in clip.
/// out_grad   has the extents of x.
/// x_grad     has the extents of x; may be the same tensor as out_grad; empty, it is not wanted, and costs nothing.
///
/// Where x is NaN, x_grad is 0. Where it is a bound, x_grad is out_grad, as in PyTorch before 2.14; later ones and
/// Paddle have 0 there, and so has the gradient of PyTorch's `relu6`, which is out_grad for NaN.
///
/// Throws portops::Error as clip does.
///
/// Semantics: PyTorch's `clamp_backward`, but for that.
PORTOPS_EXPORT void clip_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad,
                              const TensorRef& x_grad, const ClipParams& params = {});

}  // namespace portops
