// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/trace/trace_rules.hpp"

#include "core/loop/axes.hpp"

#include <algorithm>
#include <string>

namespace portops::impl {
namespace {

int find_axis(std::string_view op, std::string_view name, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    fail("portops::", op, ": ", name, " is ", axis, ", expected ", -rank, " to ", rank - 1, " (x has rank ", rank, ")");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace

TraceExtents trace_extents(std::string_view op, const TensorRef& x, const TraceParams& params) {
  const Extents& extents = x.extents();
  if (x.rank() < 2) fail("portops::", op, ": x has extents ", extents.to_string(), ", expected 2 axes or more");
  Diagonal diagonal;
  diagonal.axis1 = find_axis(op, "axis1", params.axis1, x.rank());
  diagonal.axis2 = find_axis(op, "axis2", params.axis2, x.rank());
  const auto [first, second] = std::minmax(diagonal.axis1, diagonal.axis2);
  if (first == second) {
    fail("portops::", op, ": axis1 is ", params.axis1, " and axis2 is ", params.axis2, ", expected two axes of x");
  }
  const std::int64_t rows = extents[diagonal.axis1], columns = extents[diagonal.axis2];
  diagonal.offset = std::clamp(params.offset, -rows, columns);
  diagonal.row = std::max<std::int64_t>(-diagonal.offset, 0);
  diagonal.column = std::max<std::int64_t>(diagonal.offset, 0);
  diagonal.length = std::min(rows - diagonal.row, columns - diagonal.column);
  AxisSet others{};
  others[static_cast<std::size_t>(first)] = others[static_cast<std::size_t>(second)] = true;
  return {diagonal,
          {reduced_extents(extents, others, false),
           "the extents of x without axes " + std::to_string(first) + " and " + std::to_string(second)}};
}

}  // namespace portops::impl
