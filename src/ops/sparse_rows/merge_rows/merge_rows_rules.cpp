// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/merge_rows/merge_rows_rules.hpp"

#include "core/types/fail.hpp"

namespace portops::impl {

MergeRowsExtents merge_rows_extents(std::string_view op, const TensorRef& rows, const TensorRef& values,
                                    const MergeRowsParams& params) {
  if (rows.rank() != 1) {
    fail("portops::", op, ": rows has extents ", rows.extents().to_string(), ", expected rank 1");
  }
  if (values.rank() < 1 || values.extent(0) != rows.extent(0)) {
    fail("portops::", op, ": values has extents ", values.extents().to_string(), ", expected [", rows.extent(0),
         ", ...] (a row for each of rows)");
  }
  if (params.height < 0) fail("portops::", op, ": height is ", params.height, ", expected 0 or more");
  return {{{}, "one number"}};
}

}  // namespace portops::impl
