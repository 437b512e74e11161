// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <vector>

namespace portops {

/// The attributes of slice and slice_grad: of each axis that is sliced where the slice starts, where it ends, and its
/// step, as Python's slices have them. A start or end below 0 is counted from the end of the axis; beyond it, it is the
/// end that is nearer. A step below 0 goes backwards: then an end below −n, n being the axis' extent, takes the first
/// element in.
struct SliceParams {
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> strides = {};  ///< none: 1 for each
};

/// out = x[start : end : stride] along each of `axes`, as a copy. Where other strides are enough, sliced() says them
/// without touching memory, and every operator reads tensors of any strides.
///
/// x      any rank, extents and strides.
/// out    has the extents of the slice, any strides. Where it is the same memory as sliced(x, params), it holds the
///        result already, and nothing is enqueued.
///
/// Both have one element type: f64, f32, f16 or bf16. No bit of an element changes. Slices and tensors without elements
/// are valid.
///
/// Throws portops::Error, before anything is enqueued, when `axes` names an axis that x does not have, or one twice,
/// when starts, ends or strides are not as many, when a stride is 0, when `out` has other extents, element types
/// differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, or `out` overlaps x other
/// than as said above.
///
/// Semantics: Paddle's `slice` and `strided_slice`; Python's slices.
PORTOPS_EXPORT void slice(const Context& ctx, const TensorRef& x, const TensorRef& out, const SliceParams& params);

/// The gradient of slice: out_grad where the slice is, and 0 elsewhere. The elements of x are not read: it may be
/// TensorRef::without_data. x_grad has the extents of x, or is an empty TensorRef: nothing is enqueued then.
PORTOPS_EXPORT void slice_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad,
                               const TensorRef& x_grad, const SliceParams& params);

/// The slice of x where it lies. Touches no memory; x may be TensorRef::without_data. Throws portops::Error as slice
/// does for wrong attributes.
///
/// Semantics: Python's slices.
PORTOPS_EXPORT TensorRef sliced(const TensorRef& x, const SliceParams& params);

}  // namespace portops
