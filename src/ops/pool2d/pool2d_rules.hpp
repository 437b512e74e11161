// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/pool2d/pool2d.hpp"
#include "ops/pool2d/pool_axis.hpp"

#include <string_view>

namespace portops::impl {

/// The windows that x and the attributes give, and the extents of the other tensors.
struct Pool2dExtents {
  bool is_max;
  PoolAxis down, across;
  ExpectedExtents out, index;
};

/// Throws Error where the attributes do not fit x.
Pool2dExtents pool2d_extents(std::string_view op, const TensorRef& x, const Pool2dParams& params);

}  // namespace portops::impl
