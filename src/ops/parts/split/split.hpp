// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace portops {

struct SplitParams {
  std::vector<std::int64_t> sections;  ///< the parts' extents along the axis; one may be -1: what the others leave
  std::int64_t axis = 0;               ///< along which x is divided; negative ones are counted from the last
};

/// A tensor divided into parts along an axis:
///
///   out[i][…, j, …] = x[…, s(i) + j, …]     s(i) = the sum of the extents of out[0] … out[i−1] along the axis
///
/// x     the tensor, of rank 1 or more.
/// out   a tensor for each of `sections`: the extents of x, but along the axis the section's. Sections may be 0.
///
/// All tensors have one element type: f64, f32, f16 or bf16, and any strides. Elements keep their bits. Tensors without
/// elements are valid. Kernels as in concat.
///
/// Throws portops::Error, before anything is enqueued, when `sections` is empty, has a negative number other than one
/// -1 or does not add up to the extent of x along the axis, the axis is out of range, extents do not fit, element types
/// differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, or an output is
/// read-only, has two elements at one address, or overlaps x or another output.
///
/// Semantics: Paddle's `split`, which however wants the -1 to stand for one element or more; PyTorch's
/// `split_with_sizes`, which has no -1, with copies for views.
PORTOPS_EXPORT void split(const Context& ctx, const TensorRef& x, std::span<const TensorRef> out,
                          const SplitParams& params);

/// The gradient of split: the gradients of the parts one behind the other.
///
/// out_grad   a tensor for each of `sections`, of the extents of out.
/// x_grad     has the extents of x; may be an empty TensorRef, and then costs nothing.
///
/// Throws portops::Error as concat does.
PORTOPS_EXPORT void split_grad(const Context& ctx, std::span<const TensorRef> out_grad, const TensorRef& x_grad,
                               const SplitParams& params);

}  // namespace portops
