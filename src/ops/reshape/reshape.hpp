// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace portops {

/// The attributes of reshape and reshape_grad.
struct ReshapeParams {
  /// The extents of `out`. 0 stands for the extent that x has there; −1, once at most, for what the others leave.
  std::vector<std::int64_t> shape;
};

/// The elements of x, in their order (last axis fastest), as a tensor of other extents.
///
/// x      any rank, extents and strides.
/// out    has the extents that `shape` gives, any strides. Where it is the same memory as x, element for element in
/// that
///        order (reshaped() makes such a tensor), it holds the result already, and nothing is enqueued.
///
/// Both have one element type: f64, f32, f16 or bf16. No bit of an element changes. Tensors without elements are valid,
/// and nothing is enqueued for them.
///
/// Throws portops::Error, before anything is enqueued, when `shape` has an extent less than −1, −1 more than once or
/// where any extent would do, 0 where x has no axis, or other than as many elements as x; when `out` has other extents,
/// element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, `out` is
/// read-only, has two elements at one address, or overlaps x other than as said above.
///
/// Semantics: Paddle's `reshape`; torch.reshape, where 0 is an extent.
PORTOPS_EXPORT void reshape(const Context& ctx, const TensorRef& x, const TensorRef& out, const ReshapeParams& params);

/// The gradient of reshape: the elements of out_grad, in their order, as a tensor of the extents of x.
///
/// x          as in reshape; its elements are not read: it may be TensorRef::without_data.
/// out_grad   has the extents that `shape` gives.
/// x_grad     has the extents of x; may be the same memory as out_grad, as in reshape, or an empty TensorRef: nothing
///            is enqueued then.
///
/// Throws portops::Error as reshape does, and when x_grad overlaps x.
PORTOPS_EXPORT void reshape_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad,
                                 const TensorRef& x_grad, const ReshapeParams& params);

/// The elements of x, in their order, as a tensor of other extents where they lie; none where no strides can say so,
/// and only `reshape` can give the result. `shape` is as in reshape. Touches no memory; x may be
/// TensorRef::without_data. Throws portops::Error as reshape does for wrong shapes.
///
/// Semantics: torch.Tensor.view, and none where that throws.
PORTOPS_EXPORT std::optional<TensorRef> reshaped(const TensorRef& x, const std::vector<std::int64_t>& shape);

}  // namespace portops
