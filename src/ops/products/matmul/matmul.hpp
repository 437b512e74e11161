// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>

namespace portops {

/// The attributes of matmul and matmul_grad.
struct MatmulParams {
  /// Whether the last two axes of x are exchanged first; of a vector, nothing is.
  bool transpose_x = false;
  /// The same of y.
  bool transpose_y = false;
};

/// The products of matrices, in batches:
///
///   out[…, m, n] = Σ x[…, m, k] · y[…, k, n]    over k
///
/// x      […, M, K], or with transpose_x […, K, M]; or a vector, [K], which stands for a matrix of one row.
/// y      […, K, N], or with transpose_y […, N, K]; or a vector, [K], which stands for a matrix of one column.
/// out    […, M, N], without M where x is a vector and without N where y is one. The axes before those of the matrices
///        are those to which x and y broadcast by NumPy's rules.
///
/// All have any strides and one element type: f64, f32, f16 or bf16. Products are added up in f32 (f64 for f64) and
/// rounded once. With f32 operands, ctx.math() may let a GPU round them to tf32. The error is within 3 · K · 2^-24 of
/// the magnitudes summed, Σ |x| · |y| (f64: 3 · K · 2^-53; tf32: 2^-10 more), and one rounding of the result; where
/// products are portops' own on hosts, or M or N is 1, within 2e-6 (f64: 1e-12) of them whatever K is. K = 0 gives
/// zeros. Tensors without elements are valid. NaN and Inf follow from the formula, but on GPUs of compute
/// capability 9.0 an Inf may give NaN in f32. In deterministic mode the result has the same bits on every run and for
/// any number of threads.
///
/// An operand is read as it lies where one of its matrices' axes has stride 1 and the other a larger one; others are
/// copied first. So a transposed tensor costs nothing, whether strides or attributes say so.
///
/// Throws portops::Error, before anything is enqueued, when x or y has no axes, their inner extents differ, their other
/// axes do not broadcast, `out` has other extents, element types differ, a tensor is empty (not given) or lies where
/// the context's backend cannot reach it, `out` is read-only, has two elements at one address, or overlaps x or y, or
/// the context asks for products of Kokkos Kernels that it cannot have. Temporaries: copies of operands, and what
/// cuBLAS needs, from the library's pool or the context's workspace; matmul_workspace gives their size.
///
/// Semantics: Paddle's `matmul`, torch.matmul, numpy.matmul.
PORTOPS_EXPORT void matmul(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorRef& out,
                           const MatmulParams& params = {});

/// The gradients of matmul:
///
///   x_grad = Σ out_grad · yᵀ
///   y_grad = Σ xᵀ · out_grad
///
/// Σ runs over the axes along which that operand was broadcast, and is a part of the product: its terms are added up as
/// those of matmul, with K the number of all of them.
///
/// x          as in matmul; its elements are read where y_grad is wanted: else it may be TensorRef::without_data.
/// y          as in matmul.
/// out_grad   has the extents that matmul gives.
/// x_grad, y_grad   have the extents of x and y; each may be an empty TensorRef, and then costs nothing.
///
/// Sums over nothing are 0. Throws portops::Error as matmul does; no output may overlap anything.
///
/// Semantics: Paddle's `matmul_grad`, autograd's of torch.matmul.
PORTOPS_EXPORT void matmul_grad(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorRef& out_grad,
                                const TensorRef& x_grad, const TensorRef& y_grad, const MatmulParams& params = {});

/// The bytes of workspace that the same call of matmul, or of matmul_grad, needs. Tensors of the same extents, strides
/// and alignment need the same.
PORTOPS_EXPORT std::size_t matmul_workspace(const Context& ctx, const TensorRef& x, const TensorRef& y,
                                            const TensorRef& out, const MatmulParams& params = {});
PORTOPS_EXPORT std::size_t matmul_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& y,
                                                 const TensorRef& out_grad, const TensorRef& x_grad,
                                                 const TensorRef& y_grad, const MatmulParams& params = {});

}  // namespace portops
