// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/normalization/batch_norm/batch_norm.hpp"

#include <string_view>

namespace portops::impl {

/// The axis of the channels, and the extents of the other tensors: one number a channel.
struct BatchNormExtents {
  int axis;
  ExpectedExtents mean, variance, scale, bias, mean_out, variance_out, saved_mean, saved_inv_std;
};

/// Throws Error where the attributes do not fit x.
BatchNormExtents batch_norm_extents(std::string_view op, const TensorRef& x, const BatchNormParams& params);

}  // namespace portops::impl
