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

/// The attributes of mean and mean_grad.
struct MeanParams {
  /// The axes over which the mean is taken, in any order; negative ones count from the last. Without any, all axes.
  std::vector<std::int64_t> axis = {};
  /// Whether reduced axes stay in `out`, with extent 1.
  bool keepdim = false;
};

/// The mean over one axis or more, or over all:
///
///   out = Σ x / n     n the number of terms
///
/// x      any rank, extents and strides. Of a tensor of extents [], axis 0 or −1 is its only element.
/// out    has the extents of x without the reduced axes or, with keepdim, with extent 1 in their place.
///
/// Both have one element type: f64, f32, f16 or bf16. Sums are accumulated in f32 (f64 for f64), in trees of fixed
/// shape, divided, and rounded once: the same bits on every run, for any number of threads and on every backend (NaN
/// payloads apart), whether the context asks for it or not. So a mean of 16-bit numbers exists where their sum is
/// beyond the largest one. The error is within 1e-12 (f64) and 2e-6 (other types, and one rounding of the 16-bit ones)
/// of Σ |x| / n, however many terms there are. An axis without elements gives NaN. Tensors without elements are valid.
/// NaN and Inf follow from the formula.
///
/// Throws portops::Error, before anything is enqueued, when an axis is out of range or named twice, `out` has other
/// extents, element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach it,
/// `out` is read-only, has two elements at one address, or overlaps x. Temporaries: partial sums of long reductions,
/// from the library's pool or the context's workspace; mean_workspace gives their size.
///
/// Semantics: Paddle's `mean`, torch.mean.
PORTOPS_EXPORT void mean(const Context& ctx, const TensorRef& x, const TensorRef& out, const MeanParams& params = {});

/// The gradient of mean: x_grad = out_grad / n, for each x of the mean that it belongs to, n the number of terms.
///
/// x          as in mean; its elements are not read: it may be TensorRef::without_data.
/// out_grad   has the extents that mean gives.
/// x_grad     has the extents of x, or is an empty TensorRef, and then nothing is done.
///
/// Throws portops::Error as mean does; x_grad may not overlap anything.
///
/// Semantics: Paddle's `mean_grad`, autograd's of torch.mean.
PORTOPS_EXPORT void mean_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad,
                              const TensorRef& x_grad, const MeanParams& params = {});

/// The bytes of workspace that the same call of mean needs. Tensors of the same extents, strides and alignment need the
/// same.
PORTOPS_EXPORT std::size_t mean_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                          const MeanParams& params = {});

}  // namespace portops
