// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>

namespace portops {

/// The attributes of softmax and softmax_grad.
struct SoftmaxParams {
  /// The axis along which the elements of out add up to 1; a negative one counts from the last.
  std::int64_t axis = -1;
};

/// The softmax along an axis:
///
///   out = exp(x − max x) / Σ exp(x − max x)     max and Σ along the axis
///
/// x      any rank, extents and strides. Of a tensor of extents [], axis 0 or −1 is its only element.
/// out    has the extents of x; may be the same tensor as x (in place).
///
/// Both have one element type: f64, f32, f16 or bf16. Sums are accumulated in f32 (f64 for f64), in trees of fixed
/// shape: the same bits on every run and for any number of threads, whether the context asks for it or not. Nothing
/// overflows. The error is within 2e-6 + 1.2e-7 · (max x − x) of the result (f64: 1e-12), subnormal results and one
/// rounding of the 16-bit types apart. What lies along the axis is NaN where one of its elements is NaN or an infinity
/// of positive sign, or all are infinities of negative sign; among others, these give 0. Tensors without elements are
/// valid.
///
/// Throws portops::Error, before anything is enqueued, when axis is out of range, `out` has other extents, element
/// types differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, `out` is read-only,
/// has two elements at one address, or overlaps x other than in place. Temporaries: what the parts of long axes add up
/// to, from the library's pool or the context's workspace; softmax_workspace gives their size.
///
/// Semantics: Paddle's `softmax`, torch.softmax.
PORTOPS_EXPORT void softmax(const Context& ctx, const TensorRef& x, const TensorRef& out,
                            const SoftmaxParams& params = {});

/// The gradient of softmax: x_grad = out · (out_grad − Σ out · out_grad), Σ along the axis.
///
/// x          as in softmax; its elements are not read, it may be TensorRef::without_data.
/// out        the result of softmax.
/// out_grad   has the extents of x.
/// x_grad     has the extents of x; may be the same tensor as out_grad (in place), or an empty TensorRef, and then
///            nothing is done.
///
/// Throws portops::Error, and takes temporaries, as softmax does; softmax_grad_workspace gives their size.
///
/// Semantics: Paddle's `softmax_grad`, autograd's of torch.softmax.
PORTOPS_EXPORT void softmax_grad(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                 const TensorRef& out_grad, const TensorRef& x_grad, const SoftmaxParams& params = {});

/// The bytes of workspace that the same call needs. Tensors of the same extents, strides and alignment need the same.
PORTOPS_EXPORT std::size_t softmax_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                             const SoftmaxParams& params = {});
PORTOPS_EXPORT std::size_t softmax_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                                  const TensorRef& out_grad, const TensorRef& x_grad,
                                                  const SoftmaxParams& params = {});

}  // namespace portops
