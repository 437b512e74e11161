// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <span>

namespace portops {

struct ConcatParams {
  std::int64_t axis = 0;  ///< along which the tensors follow each other; negative ones are counted from the last
};

/// Tensors one behind the other along an axis:
///
///   out[…, s(i) + j, …] = x[i][…, j, …]     s(i) = the sum of the extents of x[0] … x[i−1] along the axis
///
/// x     one tensor or more, as many as there are. They have the same rank, from 1 on, and the same extents but for the
///       axis; there they may have any, 0 too. (A tensor of extents [0] beside others of a higher rank does not fit.)
/// out   their extents, with the sum of them along the axis.
///
/// All tensors have one element type: f64, f32, f16 or bf16, and any strides. Elements keep their bits. Tensors without
/// elements are valid, and nothing is enqueued for them. On a GPU a kernel moves as many tensors as its arguments can
/// tell of: 3968 contiguous ones of the same extents, 1984 or 1322 contiguous ones of different extents (along the
/// outermost axis or another one), fewer where they are strided; for more tensors there are more kernels.
///
/// Throws portops::Error, before anything is enqueued, when x is empty, the axis is out of range, extents do not fit,
/// element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, or `out` is
/// read-only, has two elements at one address, or overlaps an input.
///
/// Semantics: Paddle's `concat`, PyTorch's `cat` without its conversion of types and its exception for extents [0].
PORTOPS_EXPORT void concat(const Context& ctx, std::span<const TensorRef> x, const TensorRef& out,
                           const ConcatParams& params = {});

/// The gradients of concat: x_grad[i] is what lies in out_grad where x[i] lay in out.
///
/// x          as in concat. Only its extents are read: TensorRef::without_data is enough.
/// out_grad   has the extents of out.
/// x_grad     a tensor for each of x, of its extents. Each may be an empty TensorRef, or all of the list missing ({}),
///            and then costs nothing.
///
/// Throws portops::Error as concat does; no output may overlap anything.
PORTOPS_EXPORT void concat_grad(const Context& ctx, std::span<const TensorRef> x, const TensorRef& out_grad,
                                std::span<const TensorRef> x_grad, const ConcatParams& params = {});

}  // namespace portops
