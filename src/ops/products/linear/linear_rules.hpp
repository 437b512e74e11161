// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/products/linear/linear.hpp"

#include <string_view>

namespace portops::impl {

struct LinearExtents {
  ExpectedExtents bias, out;
};

/// Throws Error where x and weight do not fit together.
LinearExtents linear_extents(std::string_view op, const TensorRef& x, const TensorRef& weight,
                             const LinearParams& params);

}  // namespace portops::impl
