// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/tensor_ref.hpp"
#include "ops/sparse_rows/merge_rows/merge_rows.hpp"

#include <map>
#include <string>
#include <string_view>

namespace portops::impl {

/// Throws Error, in the name of `op`, where rows is not [n] or values not [n, …].
void check_sparse_rows(std::string_view op, const TensorRef& rows, const TensorRef& values);

/// The extents of count. Throws Error as check_sparse_rows does, and where height is negative.
std::map<std::string, Extents, std::less<>> merge_rows_extents(std::string_view op, const TensorRef& rows,
                                                               const TensorRef& values, const MergeRowsParams& params);

}  // namespace portops::impl
