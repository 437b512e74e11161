// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <vector>

namespace portops {

/// The attributes of transpose and transpose_grad.
struct TransposeParams {
  /// Which axis of x each axis of `out` is: all of them, in any order. Negative ones are counted from the last.
  std::vector<std::int64_t> perm;
};

/// out[i[perm[0]], i[perm[1]], …] = x[i[0], i[1], …]: the axes of x in another order, as a copy. Where other strides
/// are enough, transposed() says them without touching memory, and every operator reads tensors of any strides.
///
/// x      any rank, extents and strides.
/// out    has the extents of x in the order of `perm`, any strides. Where it is the same memory as transposed(x, perm),
///        it holds the result already, and nothing is enqueued.
///
/// Both have one element type: f64, f32, f16 or bf16. No bit of an element changes. Tensors without elements are valid.
///
/// Throws portops::Error, before anything is enqueued, when `perm` does not name every axis of x once, when `out` has
/// other extents, element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach
/// it, or `out` overlaps x other than as said above.
///
/// Semantics: Paddle's `transpose`; torch.permute.
PORTOPS_EXPORT void transpose(const Context& ctx, const TensorRef& x, const TensorRef& out,
                              const TransposeParams& params);

/// The gradient of transpose: the axes of out_grad in the order of x. The elements of x are not read: it may be
/// TensorRef::without_data. x_grad has the extents of x; may be the same memory as out_grad, as in transpose, or an
/// empty TensorRef: nothing is enqueued then.
PORTOPS_EXPORT void transpose_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad,
                                   const TensorRef& x_grad, const TransposeParams& params);

/// The axes of x in the order of `perm`, where they lie. Touches no memory; x may be TensorRef::without_data. Throws
/// portops::Error as transpose does for a wrong `perm`.
///
/// Semantics: torch.permute.
PORTOPS_EXPORT TensorRef transposed(const TensorRef& x, const std::vector<std::int64_t>& perm);

}  // namespace portops
