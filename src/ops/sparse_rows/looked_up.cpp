// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/looked_up.hpp"

#include "core/types/fail.hpp"

namespace portops::impl {

ExpectedExtents looked_up_extents(std::string_view op, const TensorRef& weight, const TensorRef& ids,
                                  std::int64_t padding_idx) {
  if (weight.rank() != 2) {
    fail("portops::", op, ": weight has extents ", weight.extents().to_string(), ", expected 2 axes");
  }
  if (ids.rank() >= max_rank) {
    fail("portops::", op, ": ids has extents ", ids.extents().to_string(), ", expected ", max_rank - 1,
         " axes or fewer");
  }
  if (padding_idx < -1 || padding_idx >= weight.extent(0)) {
    fail("portops::", op, ": padding_idx is ", padding_idx, ", expected -1 or a row of weight, less than ",
         weight.extent(0));
  }
  Extents out = Extents::of_rank(ids.rank() + 1);
  for (int axis = 0; axis < ids.rank(); ++axis) out[axis] = ids.extent(axis);
  out[ids.rank()] = weight.extent(1);
  return {out, "the extents of ids, then a row of weight"};
}

}  // namespace portops::impl
