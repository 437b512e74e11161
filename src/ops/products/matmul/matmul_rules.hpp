// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/products/matmul/matmul.hpp"

#include <string_view>

namespace portops::impl {

struct MatmulExtents {
  ExpectedExtents out;
};

/// Throws Error where x and y do not fit together.
MatmulExtents matmul_extents(std::string_view op, const TensorRef& x, const TensorRef& y, const MatmulParams& params);

}  // namespace portops::impl
