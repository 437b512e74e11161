// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/convolution/conv2d/conv2d.hpp"
#include "ops/convolution/windows.hpp"

#include <string_view>

namespace portops::impl {

/// The geometry that x, weight and the attributes give, and the extents of the other tensors.
struct Conv2dExtents {
  Windows windows;
  ExpectedExtents bias, out;
};

/// Throws Error, as that of the operator `op`, where ranks or attributes are wrong or x and weight do not fit together.
Conv2dExtents conv2d_extents(std::string_view op, const TensorRef& x, const TensorRef& weight,
                             const Conv2dParams& params);

}  // namespace portops::impl
