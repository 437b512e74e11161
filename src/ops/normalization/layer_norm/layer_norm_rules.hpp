// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/normalization/layer_norm/layer_norm.hpp"

#include <string_view>

namespace portops::impl {

/// The first normalised axis, and the extents of the other tensors.
struct LayerNormExtents {
  int first;
  ExpectedExtents scale, bias, mean, inv_std;
};

/// Throws Error where begin_norm_axis is out of range.
LayerNormExtents layer_norm_extents(std::string_view op, const TensorRef& x, const LayerNormParams& params);

}  // namespace portops::impl
