// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

/// Addition: out = x + y.
///
/// x, y   inputs of any ranks and extents that broadcast together by NumPy's rules, any strides. `y` may be a number.
/// out    has the broadcast extents; may be the same tensor as x (in place).
///
/// All tensors have one element type: f64, f32, f16 or bf16. The 16-bit types compute in f32 and round once; a number
/// is rounded to the type that the arithmetic is done in. The result has the same bits on every backend (NaN payloads
/// apart). NaN and Inf follow from the formula. Tensors without elements are valid, and nothing is enqueued for them.
///
/// Throws portops::Error, before anything is enqueued, when the extents do not broadcast, `out` has other extents,
/// element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, `out` is
/// read-only, has two elements at one address, or overlaps an input other than as said above.
///
/// Semantics: Paddle's `add`, torch.add with alpha = 1, numpy.add.
PORTOPS_EXPORT void add(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out);

/// The gradients of add, in one pass over out_grad:
///
///   x_grad = Σ out_grad
///   y_grad = Σ out_grad
///
/// Σ runs over the axes along which that operand was broadcast, accumulated in f32 (f64 for f64) in a fixed tree:
/// the same bits on every run and for any number of threads, whether the context asks for it or not. The gradient of an
/// operand that was not broadcast is a copy of out_grad.
///
/// x, y       as in add; their elements are not read: they may be TensorRef::without_data.
/// out_grad   has the broadcast extents of x and y.
/// x_grad, y_grad   have the extents of x and y; each may be an empty TensorRef, and then costs nothing. x_grad may be
///            the same tensor as out_grad, and then costs nothing either. y_grad must be empty when y is a number.
///
/// Where the broadcast tensor has no elements, gradients that have some are filled with zeros. Throws portops::Error as
/// add does; no output may overlap anything other than as said above. Temporaries: partial sums of broadcast operands,
/// from the library's pool or the context's workspace; add_grad_workspace gives their size.
///
/// Semantics: Paddle's `add_grad`, autograd's of torch.add.
PORTOPS_EXPORT void add_grad(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out_grad,
                             const TensorRef& x_grad, const TensorRef& y_grad = {});

/// The bytes of workspace that the same call of add_grad needs: 0 where no operand was broadcast. Tensors of the same
/// extents, strides and alignment need the same.
PORTOPS_EXPORT std::size_t add_grad_workspace(const Context& ctx, const TensorRef& x, const TensorOrNumber& y,
                                              const TensorRef& out_grad, const TensorRef& x_grad,
                                              const TensorRef& y_grad = {});

}  // namespace portops
