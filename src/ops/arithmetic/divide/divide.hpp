// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

/// True division, element by element: out = x / y.
///
/// x, y   inputs of any ranks and extents that broadcast together by NumPy's rules, any strides. `y` may be a number.
/// out    has the broadcast extents; may be the same tensor as x (in place).
///
/// Element types, numbers, bits, NaN and Inf, tensors without elements, and what is thrown are as in add.
///
/// Semantics: Paddle's `divide`, torch.div, numpy.true_divide.
PORTOPS_EXPORT void divide(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out);

/// The gradients of divide, in one pass over the inputs:
///
///   x_grad = Σ out_grad / y
///   y_grad = −Σ (out_grad / y) · (x / y)
///
/// Σ runs over the axes along which that operand was broadcast, accumulated in f32 (f64 for f64) in a fixed tree: the
/// same bits on every run and for any number of threads, whether the context asks for it or not. There is no y², which
/// would overflow before the gradient does; and x rather than the result is read, because that is as much to keep, and
/// rounded in the 16-bit types.
///
/// x          as in divide; its elements are read where y_grad is wanted: else it may be TensorRef::without_data.
/// y          as in divide; read.
/// out_grad   has the broadcast extents of x and y.
/// x_grad, y_grad   have the extents of x and y; each may be an empty TensorRef, and then costs nothing. x_grad may be
///            the same tensor as out_grad. y_grad must be empty when y is a number.
///
/// Where the broadcast tensor has no elements, gradients that have some are filled with zeros. Throws portops::Error as
/// divide does; no output may overlap anything other than as said above. Temporaries: partial sums of broadcast
/// operands, from the library's pool or the context's workspace; divide_grad_workspace gives their size.
///
/// Semantics: Paddle's `divide_grad`, autograd's of torch.div.
PORTOPS_EXPORT void divide_grad(const Context& ctx, const TensorRef& x, const TensorOrNumber& y,
                                const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad = {});

/// The bytes of workspace that the same call of divide_grad needs: 0 where no operand was broadcast. Tensors of the
/// same extents, strides and alignment need the same.
PORTOPS_EXPORT std::size_t divide_grad_workspace(const Context& ctx, const TensorRef& x, const TensorOrNumber& y,
                                                 const TensorRef& out_grad, const TensorRef& x_grad,
                                                 const TensorRef& y_grad = {});

}  // namespace portops
