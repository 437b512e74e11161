// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace portops {

/// The attributes of sum and sum_grad.
struct SumParams {
  /// The axes over which is summed, in any order; negative ones count from the last. Without any, all axes.
  std::vector<std::int64_t> axis = {};
  /// Whether reduced axes stay in `out`, with extent 1.
  bool keepdim = false;
};

/// The sum over one axis or more, or over all:
///
///   out = Σ x
///
/// x      any rank, extents and strides. Of a tensor of extents [], axis 0 or −1 is its only element.
/// out    has the extents of x without the reduced axes or, with keepdim, with extent 1 in their place.
///
/// Both have one element type: f64, f32, f16 or bf16. Sums are accumulated in f32 (f64 for f64), in trees of fixed
/// shape, and rounded once: the same bits on every run, for any number of threads and on every backend (NaN payloads
/// apart), whether the context asks for it or not. The error is within 1e-12 (f64) and 2e-6 (other types, and one
/// rounding of the 16-bit ones) of Σ |x|, however many terms there are. An axis without elements gives 0. Tensors
/// without elements are valid. NaN and Inf follow from the formula.
///
/// Throws portops::Error, before anything is enqueued, when an axis is out of range or named twice, `out` has other
/// extents, element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach it,
/// `out` is read-only, has two elements at one address, or overlaps x. Temporaries: partial sums of long reductions,
/// from the library's pool or the context's workspace; sum_workspace gives their size.
///
/// Semantics: Paddle's `sum`, torch.sum.
PORTOPS_EXPORT void sum(const Context& ctx, const TensorRef& x, const TensorRef& out, const SumParams& params = {});

/// The gradient of sum: x_grad = out_grad, for each x the element that it was added to.
///
/// x          as in sum; its elements are not read: it may be TensorRef::without_data.
/// out_grad   has the extents that sum gives.
/// x_grad     has the extents of x, or is an empty TensorRef, and then nothing is done.
///
/// Throws portops::Error as sum does; x_grad may not overlap anything.
///
/// Semantics: Paddle's `sum_grad`, autograd's of torch.sum.
PORTOPS_EXPORT void sum_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
                             const SumParams& params = {});

/// The bytes of workspace that the same call of sum needs. Tensors of the same extents, strides and alignment need the
/// same.
PORTOPS_EXPORT std::size_t sum_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                         const SumParams& params = {});

}  // namespace portops
