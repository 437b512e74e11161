// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/reshape/reshape_rules.hpp"

#include "core/check/check.hpp"

#include <algorithm>

namespace portops::impl {

Extents reshaped_extents(std::string_view op, const Extents& x, const std::vector<std::int64_t>& shape) {
  if (shape.size() > max_rank) {
    fail("portops::", op, ": shape has ", shape.size(), " extents, expected at most ", max_rank);
  }
  Extents result{std::span<const std::int64_t>(shape)};
  const std::string given = result.to_string();
  int open = -1;  // the axis whose extent is −1
  for (int axis = 0; axis < result.rank(); ++axis) {
    if (result[axis] < -1) {
      fail("portops::", op, ": shape is ", given, ", expected extents, 0 for that of x, or -1 for what is left");
    }
    if (result[axis] == -1) {
      if (open >= 0) fail("portops::", op, ": shape is ", given, ", expected -1 once at most");
      open = axis;
    } else if (result[axis] == 0) {
      if (axis >= x.rank()) {
        fail("portops::", op, ": shape is ", given, " with 0 for axis ", axis, ", which x does not have (its rank is ",
             x.rank(), ")");
      }
      result[axis] = x[axis];
    }
  }
  const std::int64_t size = x.product();
  if (open >= 0) {
    result[open] = 1;
    const std::int64_t others = result.product();
    if (others == 0) fail("portops::", op, ": shape is ", given, ", where any extent would do for -1");
    result[open] = size / others;
  }
  if (result.product() != size) {
    fail("portops::", op, ": shape is ", given, ", expected one for ", size, " elements (those of x ", x.to_string(),
         ")");
  }
  return result;
}

ReshapeExtents reshape_extents(std::string_view op, const TensorRef& x, const ReshapeParams& params) {
  return {{reshaped_extents(op, x.extents(), params.shape), "what shape says"}};
}

}  // namespace portops::impl
