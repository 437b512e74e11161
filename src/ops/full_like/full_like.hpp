// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

namespace portops {

/// One number everywhere:
///
///   out = fill_value
///
/// x            of any extents, with any strides; its elements are not read, and may be nowhere.
/// fill_value   a number, or a tensor of extents [] in the type of sums (f64 for f64, else f32), which is read when the
///              kernel runs. It is rounded to the element type.
/// out          has the extents and the element type of x; may be the same tensor as x (in place).
///
/// The element types are f64, f32, f16 and bf16. Tensors without elements are valid, and nothing is enqueued for them.
///
/// Throws portops::Error, before anything is enqueued, when `out` has other extents or another element type than x,
/// fill_value other extents or another element type than said above, a tensor is empty (not given), out or fill_value
/// lies where the context's backend cannot reach it, `out` is read-only, has two elements at one address, or overlaps
/// another tensor other than as said above.
///
/// Semantics: NumPy's, PyTorch's and Paddle's `full_like`.
PORTOPS_EXPORT void full_like(const Context& ctx, const TensorRef& x, const TensorOrNumber& fill_value,
                              const TensorRef& out);

}  // namespace portops
