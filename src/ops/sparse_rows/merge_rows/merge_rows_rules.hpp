// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/sparse_rows/merge_rows/merge_rows.hpp"

#include <string_view>

namespace portops::impl {

struct MergeRowsExtents {
  ExpectedExtents count;
};

/// Throws Error unless values has a row for each of rows, and height is not negative.
MergeRowsExtents merge_rows_extents(std::string_view op, const TensorRef& rows, const TensorRef& values,
                                    const MergeRowsParams& params);

}  // namespace portops::impl
