// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

/// Linear interpolation: out = x + weight · (y − x), computed as fma(weight, y − x, x).
///
/// x, y, weight   inputs of any ranks and extents that broadcast together by NumPy's rules, any strides. `weight` may
///                be a number.
/// out            has the broadcast extents; may be the same tensor as x (in place).
///
/// All tensors have one element type: f64, f32, f16 or bf16. The 16-bit types compute in f32 and round once; a number
/// is rounded to the type that the arithmetic is done in. The result has the same bits on every backend (NaN payloads
/// apart). weight = 1 gives y up to the rounding of y − x. NaN and Inf follow from the formula. Tensors without
/// elements are valid, and nothing is enqueued for them.
///
/// Throws portops::Error, before anything is enqueued, when the extents do not broadcast, `out` has other extents,
/// element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, `out` is
/// read-only, has two elements at one address, or overlaps an input other than as said above.
///
/// Semantics: Paddle's `lerp`; PyTorch's differs in the last bit, where it branches at weight = 0.5.
PORTOPS_EXPORT void lerp(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorOrNumber& weight,
                         const TensorRef& out);

/// lerp with weight = 0.5.
inline void lerp(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorRef& out) {
  lerp(ctx, x, y, 0.5, out);
}

/// The gradients of lerp, in one pass over the inputs:
///
///   x_grad      = Σ (out_grad − weight · out_grad)
///   y_grad      = Σ weight · out_grad
///   weight_grad = Σ out_grad · (y − x)
///
/// Σ runs over the axes along which that operand was broadcast, accumulated in f32 (f64 for f64) in a fixed tree:
/// the same bits on every run and for any number of threads, whether the context asks for it or not.
///
/// x, y, weight   as in lerp. The elements of x and y are read only when weight_grad is wanted; otherwise they may be
///                TensorRef::without_data.
/// out_grad       has the broadcast extents of x, y and weight.
/// x_grad, y_grad, weight_grad   have the extents of x, y and weight; each may be an empty TensorRef, and then costs
///                nothing. weight_grad must be empty when weight is a number.
///
/// Where the broadcast tensor has no elements, gradients that have some are filled with zeros. Throws portops::Error as
/// lerp does; no output may overlap anything. Temporaries: partial sums of broadcast operands, from the library's pool
/// or the context's workspace; lerp_grad_workspace gives their size.
PORTOPS_EXPORT void lerp_grad(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorOrNumber& weight,
                              const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad,
                              const TensorRef& weight_grad = {});

/// The bytes of workspace that the same call of lerp_grad needs: 0 where no operand was broadcast. Tensors of the same
/// extents, strides and alignment need the same.
PORTOPS_EXPORT std::size_t lerp_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& y,
                                               const TensorOrNumber& weight, const TensorRef& out_grad,
                                               const TensorRef& x_grad, const TensorRef& y_grad,
                                               const TensorRef& weight_grad = {});

}  // namespace portops
