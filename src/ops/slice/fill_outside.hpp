// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/slice/slice_rules.hpp"

namespace portops::impl {

/// Enqueues zeros for the elements of a tensor that do not belong to a slice of it. The others are left alone.
void fill_outside(const Context& ctx, const TensorRef& tensor, const std::array<AxisSlice, max_rank>& slices);

}  // namespace portops::impl
