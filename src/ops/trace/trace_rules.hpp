// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/trace/trace.hpp"

#include <string_view>

namespace portops::impl {

/// A diagonal of each matrix of a tensor.
struct Diagonal {
  int axis1 = 0;
  int axis2 = 1;
  std::int64_t offset = 0;  ///< as given, or the nearest one that is outside of the matrix too
  std::int64_t row = 0;     ///< of its first element
  std::int64_t column = 0;
  std::int64_t length = 0;
};

struct TraceExtents {
  Diagonal diagonal;
  ExpectedExtents out;
};

/// Throws Error where the attributes do not fit x.
TraceExtents trace_extents(std::string_view op, const TensorRef& x, const TraceParams& params);

}  // namespace portops::impl
