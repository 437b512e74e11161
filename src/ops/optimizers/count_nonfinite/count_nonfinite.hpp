// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <span>

namespace portops {

/// count = how many elements of the tensors of a list are Inf or NaN: what a step of an optimizer may be skipped for.
///
/// The tensors of x are of one element type, f64, f32, f16 or bf16, and of any extents and strides. count is a tensor
/// of i64 and extents []. One kernel reads all tensors that have no gaps; one each reads the others.
///
/// Semantics: PyTorch's isfinite, as its gradient scaler asks it of all gradients.
PORTOPS_EXPORT void count_nonfinite(const Context& ctx, std::span<const TensorRef> x, const TensorRef& count);

}  // namespace portops
