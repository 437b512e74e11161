// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/copy/copy_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace portops::impl {
namespace {

constexpr int widest_word = 16;

/// Cuts the axes of both sides so that they have the same extents. False where no cut serves, or more axes come out
/// than there is room for.
bool cut_alike(StridedAxes& a, StridedAxes& b) {
  StridedAxes left, right;  // from the fastest axis to the slowest
  int i = a.rank - 1, j = b.rank - 1;
  while (i >= 0 && j >= 0) {
    const std::int64_t extent = std::min(a.extent[i], b.extent[j]);
    if (a.extent[i] % extent != 0 || b.extent[j] % extent != 0 || left.rank == max_rank) return false;
    left.add(extent, a.stride[i]);
    right.add(extent, b.stride[j]);
    for (auto [side, axis] : {std::pair{&a, &i}, std::pair{&b, &j}}) {
      side->extent[*axis] /= extent;
      side->stride[*axis] *= extent;
      if (side->extent[*axis] == 1) --*axis;
    }
  }
  std::reverse(left.extent.begin(), left.extent.begin() + left.rank);
  std::reverse(left.stride.begin(), left.stride.begin() + left.rank);
  std::reverse(right.extent.begin(), right.extent.begin() + right.rank);
  std::reverse(right.stride.begin(), right.stride.begin() + right.rank);
  a = left;
  b = right;
  return true;
}

/// Walks axes from their other ends where the copy would be written backwards.
void turn_negative_axes(CopyPlan& plan, std::int64_t bytes) {
  for (int axis = 0; axis < plan.to.axes.rank; ++axis) {
    if (plan.to.axes.stride[axis] >= 0) continue;
    for (CopyPlan::Side* side : {&plan.from, &plan.to}) {
      std::int64_t& stride = side->axes.stride[axis];
      side->data += stride * (side->axes.extent[axis] - 1) * bytes;
      stride = -stride;
    }
  }
}

/// Orders the axes of both sides as they lie where they are written, and merges neighbours that both sides allow.
void order_and_merge(CopyPlan& plan) {
  StridedAxes &from = plan.from.axes, &to = plan.to.axes;
  for (int sorted = 1; sorted < to.rank; ++sorted) {
    for (int axis = sorted; axis > 0 && to.stride[axis] > to.stride[axis - 1]; --axis) {
      for (StridedAxes* axes : {&from, &to}) {
        std::swap(axes->extent[axis], axes->extent[axis - 1]);
        std::swap(axes->stride[axis], axes->stride[axis - 1]);
      }
    }
  }
  const StridedAxes old_from = from, old_to = to;
  from.rank = to.rank = 0;
  for (int axis = 0; axis < old_to.rank; ++axis) {
    const std::int64_t extent = old_to.extent[axis];
    if (extent == 1) continue;
    const int last = to.rank - 1;
    const auto follows = [&](const StridedAxes& merged, const StridedAxes& old) {
      return merged.stride[last] == old.stride[axis] * extent;
    };
    if (last >= 0 && follows(from, old_from) && follows(to, old_to)) {
      for (StridedAxes* axes : {&from, &to}) axes->extent[last] *= extent;
      from.stride[last] = old_from.stride[axis];
      to.stride[last] = old_to.stride[axis];
    } else {
      from.add(extent, old_from.stride[axis]);
      to.add(extent, old_to.stride[axis]);
    }
  }
}

/// The widest word, in elements, that the side consists of.
int widest_word_of(const CopyPlan::Side& side, int element_bytes) {
  const StridedAxes& axes = side.axes;
  const int last = axes.rank - 1;
  if (last < 0 || axes.stride[last] != 1) return 1;
  auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(side.data)) |
              static_cast<std::uint64_t>(axes.extent[last] * element_bytes);
  for (int axis = 0; axis < last; ++axis)
    bits |= static_cast<std::uint64_t>(std::abs(axes.stride[axis]) * element_bytes);
  int word = widest_word;
  while (bits % static_cast<std::uint64_t>(word) != 0) word /= 2;
  return word / element_bytes;
}

void widen(StridedAxes& axes, int elements) {
  if (elements == 1) return;
  const int last = axes.rank - 1;
  axes.extent[last] /= elements;
  for (int axis = 0; axis < last; ++axis) axes.stride[axis] /= elements;
  if (axes.extent[last] == 1) --axes.rank;
}

}  // namespace

void StridedAxes::add(std::int64_t axis_extent, std::int64_t axis_stride) {
  extent[rank] = axis_extent;
  stride[rank++] = axis_stride;
}

StridedAxes merged_axes(const TensorRef& tensor) {
  StridedAxes result;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const std::int64_t extent = tensor.extent(axis), stride = tensor.stride(axis);
    if (extent == 1) continue;
    const int last = result.rank - 1;
    if (last >= 0 && result.stride[last] == stride * extent) {
      result.extent[last] *= extent;
      result.stride[last] = stride;
    } else {
      result.add(extent, stride);
    }
  }
  return result;
}

bool split_axes(const StridedAxes& axes, const Extents& extents, Extents& strides) {
  strides = extents.row_major_strides();  // for axes of extent 1, whose strides mean nothing
  int at = axes.rank - 1;
  std::int64_t taken = 1;  // of the axis `at`
  for (int axis = extents.rank() - 1; axis >= 0; --axis) {
    const std::int64_t extent = extents[axis];
    if (extent == 1) continue;
    if (axes.extent[at] / taken % extent != 0) return false;
    strides[axis] = axes.stride[at] * taken;
    taken *= extent;
    if (taken == axes.extent[at]) {
      --at;
      taken = 1;
    }
  }
  return true;
}

bool CopyPlan::is_small() const {
  const auto reach = [](const StridedAxes& axes) {
    std::int64_t result = 0;
    for (int axis = 0; axis < axes.rank; ++axis) result += std::abs(axes.stride[axis]) * axes.extent[axis];
    return result;
  };
  // Some threads ask for words behind the last one.
  constexpr std::int64_t slack = 4096;
  return std::max({size, reach(from.axes), reach(to.axes)}) < INT32_MAX - slack;
}

CopyPlan make_copy_plan(const TensorRef& from, const TensorRef& to) {
  CopyPlan plan;
  plan.from = {static_cast<std::byte*>(from.data()), merged_axes(from)};
  plan.to = {static_cast<std::byte*>(to.data()), merged_axes(to)};
  const int bytes = static_cast<int>(size_of(from.type()));
  StridedAxes cut_from = plan.from.axes, cut_to = plan.to.axes;
  plan.same_axes = cut_alike(cut_from, cut_to);
  if (plan.same_axes) {
    plan.from.axes = cut_from;
    plan.to.axes = cut_to;
    turn_negative_axes(plan, bytes);
    order_and_merge(plan);
  }
  const int elements = std::min(widest_word_of(plan.from, bytes), widest_word_of(plan.to, bytes));
  widen(plan.from.axes, elements);
  widen(plan.to.axes, elements);
  if (plan.same_axes) order_and_merge(plan);
  plan.word_bytes = elements * bytes;
  plan.size = from.size() / elements;
  return plan;
}

bool coincide_in_order(const TensorRef& a, const TensorRef& b) {
  if (a.data() != b.data() || a.type() != b.type()) return false;
  StridedAxes left = merged_axes(a), right = merged_axes(b);
  return cut_alike(left, right) &&
         std::equal(left.stride.begin(), left.stride.begin() + left.rank, right.stride.begin());
}

}  // namespace portops::impl
