// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/trace/trace_extents.hpp"

#include "core/check/check.hpp"

#include <algorithm>
#include <array>

namespace portops::impl {
namespace {

int find_axis(std::string_view op, std::string_view name, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    fail("portops::", op, ": ", name, " is ", axis, ", expected ", -rank, " to ", rank - 1, " (x has rank ", rank, ")");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace

Diagonal find_diagonal(std::string_view op, const Extents& x, const TraceParams& params) {
  if (x.rank() < 2) fail("portops::", op, ": x has extents ", x.to_string(), ", expected 2 axes or more");
  Diagonal result;
  result.axis1 = find_axis(op, "axis1", params.axis1, x.rank());
  result.axis2 = find_axis(op, "axis2", params.axis2, x.rank());
  if (result.axis1 == result.axis2) {
    fail("portops::", op, ": axis1 is ", params.axis1, " and axis2 is ", params.axis2, ", expected two axes of x");
  }
  const std::int64_t rows = x[result.axis1], columns = x[result.axis2];
  result.offset = std::clamp(params.offset, -rows, columns);
  result.row = std::max<std::int64_t>(-result.offset, 0);
  result.column = std::max<std::int64_t>(result.offset, 0);
  result.length = std::min(rows - result.row, columns - result.column);
  result.kept = Extents::of_rank(x.rank() - 2);
  int kept = 0;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis != result.axis1 && axis != result.axis2) result.kept[kept++] = x[axis];
  }
  return result;
}

std::map<std::string, Extents, std::less<>> trace_extents(std::string_view op, const TensorRef& x,
                                                          const TraceParams& params) {
  const Extents out = find_diagonal(op, x.extents(), params).kept;
  return {{"out", out}, {"out_grad", out}, {"x_grad", x.extents()}};
}

}  // namespace portops::impl
