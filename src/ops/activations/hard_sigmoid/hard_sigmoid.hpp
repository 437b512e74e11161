// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

/// The options of hard_sigmoid and hard_sigmoid_grad: any numbers but NaN.
struct HardSigmoidParams {
  double slope = 1.0 / 6.0;
  double offset = 0.5;
};

/// The sigmoid by pieces of straight lines, element by element:
///
///   out = min(max(slope · x + offset, 0), 1)
///
/// x      of any extents, with any strides.
/// out    has the extents of x; may be the same tensor as x (in place).
///
/// f64 and f32 are right within a unit in the last place of |slope · x| + |offset|. NaN gives NaN.
///
/// All tensors have one element type: f64, f32, f16 or bf16. The 16-bit types compute in f32 and round once. The result
/// has the same bits on every backend (NaN payloads apart). Tensors without elements are valid, and nothing is enqueued
/// for them.
///
/// Throws portops::Error, before anything is enqueued, when an option is NaN, `out` has other extents, element types
/// differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, `out` is read-only, has
/// two elements at one address, or overlaps x other than as said above.
///
/// Semantics: Paddle's `hardsigmoid`; by default PyTorch's, and with a slope of 0.2 ONNX' HardSigmoid.
PORTOPS_EXPORT void hard_sigmoid(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                 const HardSigmoidParams& params = {});

/// The gradient of hard_sigmoid:
///
///   x_grad = out_grad · slope where 0 < out < 1, else 0
///
/// out        the result of hard_sigmoid, of any extents, with any strides.
/// out_grad   has the extents of out.
/// x_grad     has the extents of out; may be the same tensor as out_grad; empty, it is not wanted, and costs nothing.
///
/// out holds all that is needed of x, and so the operator may have been in place. Where out is NaN, x_grad is 0.
///
/// Throws portops::Error as hard_sigmoid does.
///
/// Semantics: Paddle's `hardsigmoid_grad`. PyTorch's takes x, which tells of more elements of the 16-bit types that
/// they are within the bounds.
PORTOPS_EXPORT void hard_sigmoid_grad(const Context& ctx, const TensorRef& out, const TensorRef& out_grad,
                                      const TensorRef& x_grad, const HardSigmoidParams& params = {});

}  // namespace portops
