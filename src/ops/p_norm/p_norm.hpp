// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <vector>

namespace portops {

/// The attributes of p_norm and p_norm_grad.
struct PNormParams {
  /// The order p: any number but NaN, infinities too.
  double porder = 2.0;
  /// The axes over which the norm is taken, in any order; negative ones count from the last.
  std::vector<std::int64_t> axis = {-1};
  /// Keeps p_norm_grad finite where a norm is 0; p_norm does not use it. Not negative, finite.
  double epsilon = 1e-12;
  /// Whether reduced axes stay in `out`, with extent 1.
  bool keepdim = false;
  /// Whether the norm is taken over all axes; `axis` is then ignored.
  bool asvector = false;
};

/// The norm of order p over one axis or more:
///
///   out = (Σ |x|^p)^(1/p)     for any other p, negative ones included
///   out = max |x|, min |x|    for p = inf, −inf
///   out = number of x ≠ 0     for p = 0
///
/// x      any rank, extents and strides. Of a tensor of extents [], axis 0 or −1 is its only element.
/// out    has the extents of x without the reduced axes or, with keepdim, with extent 1 in their place.
///
/// Both have one element type: f64, f32, f16 or bf16. Sums are accumulated in f32 (f64 for f64), in trees of fixed
/// shape: the same bits on every run and for any number of threads, whether the context asks for it or not; for p = 0,
/// 1, 2, 3, 4 and ±inf also on every backend (NaN payloads apart), while other powers are computed in the way that is
/// fastest on each. Nothing overflows or underflows on the
/// way to a result that the element type can hold: where the plain sum comes out zero, not finite or so small that
/// terms were lost, it is taken anew, relative to the element that dominates it. A result too large for the element
/// type is Inf. The error is within 1e-12 (f64) and 2e-6 (other types, and one rounding of the 16-bit ones) of the
/// result; for 0 < |p| < 1 within 1/|p| times that, because the root multiplies the error of the sum. The norm of one
/// element is its magnitude, for every p but 0.
///
/// A NaN gives NaN (for p = 0 it counts as non-zero), an Inf gives Inf for p > 0. For p < 0 a zero gives 0. An axis
/// without elements gives 0 for every p. `epsilon` is not used. Tensors without elements are valid.
///
/// Throws portops::Error, before anything is enqueued, when porder is NaN, an axis is out of range or named twice, none
/// is named, epsilon is negative or not finite, `out` has other extents, element types differ, a tensor is empty (not
/// given) or lies where the context's backend cannot reach it, `out` is read-only, has two elements at one address, or
/// overlaps x. Temporaries: partial results of long reductions, from the library's pool or the context's workspace;
/// p_norm_workspace gives their size.
///
/// Semantics: Paddle's `p_norm`; torch.linalg.vector_norm gives the same but refuses empty axes for p < 0 and inf.
PORTOPS_EXPORT void p_norm(const Context& ctx, const TensorRef& x, const TensorRef& out,
                           const PNormParams& params = {});

/// The gradient of p_norm, in one pass over x:
///
///   x_grad = sign(x) · |x|^(p−1) · out_grad · (out + epsilon)^(1−p)
///          = sign(x) · (|x| / (out + epsilon))^(p−1) · out_grad       to the same effect: neither power may overflow
///   x_grad = sign(x) · out_grad / n where |x| = out, 0 elsewhere      for p = ±inf; n elements of the axis are such
///   x_grad = 0                                                        for p = 0
///
/// x          as in p_norm.
/// out        the result of p_norm for x; its elements are needed for every p but 0 and 1.
/// out_grad   has the extents of out.
/// x_grad     has the extents of x; may be the same tensor as x (in place), or an empty TensorRef, and then nothing is
///            done.
///
/// A zero vector has gradient 0, and so has a zero element for p ≤ 1; finite arguments never give NaN. For p = 0 the
/// gradient is 0 whatever x holds. For other p a NaN in x gives NaN there, and a NaN in `out` gives NaN in its whole
/// row (for p = ±inf only where x is NaN; for p = 1 nowhere, as out is not used). The 16-bit types compute in f32 and
/// round once. The error grows with the order: in f32 it is within 1.5e-7 · |p − 1| of the result, and so beyond 2e-6
/// from |p − 1| = 14 on. For p = 1.5, 2, 2.5, 3 and 4 the result may be too small where out + epsilon is subnormal in
/// what is computed in (f32 but for f64), and out_grad so large that |out_grad| / (2^127 · (out + epsilon))^(p−1)
/// exceeds the largest number (in f64 with 2^1023). The result has the same bits on every run and, for the orders of
/// which p_norm has, on every backend. Tensors without elements are valid.
///
/// Throws portops::Error as p_norm does, and when out or out_grad has other extents than p_norm gives, or x_grad
/// overlaps an input other than as said above. Temporaries: for p = ±inf the numbers n of long axes;
/// p_norm_grad_workspace gives their size.
///
/// Semantics: Paddle's `p_norm_grad`, but for ±inf and where that divides zero by zero; PyTorch's where epsilon is 0.
PORTOPS_EXPORT void p_norm_grad(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& out_grad,
                                const TensorRef& x_grad, const PNormParams& params = {});

/// The bytes of workspace that the same call of p_norm needs. Tensors of the same extents, strides and alignment need
/// the same.
PORTOPS_EXPORT std::size_t p_norm_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                            const PNormParams& params = {});

/// The same of p_norm_grad: 0 but for p = ±inf.
PORTOPS_EXPORT std::size_t p_norm_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                                 const TensorRef& out_grad, const TensorRef& x_grad,
                                                 const PNormParams& params = {});

}  // namespace portops
