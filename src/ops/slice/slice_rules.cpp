// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/slice/slice_rules.hpp"

#include <algorithm>
#include <vector>

namespace portops::impl {
namespace {

/// Counted from the first element, and not beyond where a slice can start or end.
std::int64_t bounded(std::int64_t place, std::int64_t extent, std::int64_t low, std::int64_t high) {
  return std::clamp(place < 0 ? place + extent : place, low, high);
}

AxisSlice axis_slice(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  const bool forwards = step > 0;
  const std::int64_t low = forwards ? 0 : -1, high = forwards ? extent : extent - 1;
  const std::int64_t first = bounded(start, extent, low, high), last = bounded(end, extent, low, high);
  const std::int64_t distance = forwards ? last - first : first - last;
  if (distance <= 0) return {0, 1, 0};
  // The magnitude of the least step has no sign that fits.
  const std::uint64_t length =
      forwards ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  const auto count = static_cast<std::int64_t>(static_cast<std::uint64_t>(distance - 1) / length) + 1;
  return {first, count > 1 ? step : 1, count};
}

void check_count(std::string_view op, std::string_view name, std::size_t count, std::size_t expected) {
  if (count == expected) return;
  fail("portops::", op, ": ", name, " has ", count, " numbers, expected ", expected, " (one for each of axes)");
}

}  // namespace

std::array<AxisSlice, max_rank> axis_slices(std::string_view op, const Extents& x, const SliceParams& params) {
  check_count(op, "starts", params.starts.size(), params.axes.size());
  check_count(op, "ends", params.ends.size(), params.axes.size());
  if (!params.strides.empty()) check_count(op, "strides", params.strides.size(), params.axes.size());
  std::array<AxisSlice, max_rank> slices;
  for (int axis = 0; axis < x.rank(); ++axis) slices[static_cast<std::size_t>(axis)] = {0, 1, x[axis]};
  std::vector<std::int64_t> seen;
  for (std::size_t i = 0; i < params.axes.size(); ++i) {
    const std::int64_t axis = params.axes[i] < 0 ? params.axes[i] + x.rank() : params.axes[i];
    if (axis < 0 || axis >= x.rank()) {
      fail("portops::", op, ": axes names the axis ", params.axes[i], ", expected ", -x.rank(), " to ", x.rank() - 1,
           " (x has rank ", x.rank(), ")");
    }
    if (std::find(seen.begin(), seen.end(), axis) != seen.end()) {
      fail("portops::", op, ": axes names the axis ", params.axes[i], " twice");
    }
    seen.push_back(axis);
    const std::int64_t step = params.strides.empty() ? 1 : params.strides[i];
    if (step == 0) fail("portops::", op, ": strides[", i, "] is 0, expected another number");
    slices[static_cast<std::size_t>(axis)] =
        axis_slice(params.starts[i], params.ends[i], step, x[static_cast<int>(axis)]);
  }
  return slices;
}

SliceExtents slice_extents(std::string_view op, const TensorRef& x, const SliceParams& params) {
  const auto slices = axis_slices(op, x.extents(), params);
  Extents extents = x.extents();
  for (int axis = 0; axis < x.rank(); ++axis) extents[axis] = slices[static_cast<std::size_t>(axis)].count;
  return {{extents, "those of the slice of x"}};
}

}  // namespace portops::impl
