// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/slice/slice_rules.hpp"

namespace portops::impl {

/// Enqueues a tensor that is given by a slice of it: the elements of `from` where the slice is, which has as many along
/// each axis, and zeros elsewhere.
void fill_slice(const Context& ctx, const TensorRef& from, const TensorRef& to,
                const std::array<AxisSlice, max_rank>& slices);

}  // namespace portops::impl
