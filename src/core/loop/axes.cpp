// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/loop/axes.hpp"

#include "core/types/fail.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

/// "the extents of x without axes 0, 2"
std::string describe(std::string_view x, const AxisSet& reduced, int rank, bool keepdim) {
  std::string axes;
  int count = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (!reduced[static_cast<std::size_t>(axis)]) continue;
    axes += (count++ == 0 ? " " : ", ") + std::to_string(axis);
  }
  std::string text = "the extents of " + std::string(x);
  if (count == 0) return text;
  return text + (keepdim ? " with 1 for " : " without ") + (count == 1 ? "axis" : "axes") + axes;
}

}  // namespace

AxisSet reduced_axes(std::string_view op, int rank, std::span<const std::int64_t> axis, bool all) {
  AxisSet reduced{};
  if (all) {
    std::fill(reduced.begin(), reduced.begin() + rank, true);
    return reduced;
  }
  if (axis.empty()) fail("portops::", op, ": axis is empty, expected one axis or more, or asvector");
  const int axes = std::max(rank, 1);
  AxisSet named{};
  for (const std::int64_t given : axis) {
    if (given < -axes || given >= axes) {
      fail("portops::", op, ": axis is ", given, ", expected ", -axes, " to ", axes - 1, " (x has rank ", rank, ")");
    }
    const auto index = static_cast<std::size_t>(given < 0 ? given + axes : given);
    if (named[index]) fail("portops::", op, ": axis names axis ", index, " twice, expected each once");
    named[index] = true;
    reduced[index] = rank > 0;
  }
  return reduced;
}

Extents reduced_extents(const Extents& extents, const AxisSet& reduced, bool keepdim) {
  std::array<std::int64_t, max_rank> kept{};
  std::size_t count = 0;
  for (int axis = 0; axis < extents.rank(); ++axis) {
    const bool is_reduced = reduced[static_cast<std::size_t>(axis)];
    if (is_reduced && !keepdim) continue;
    kept[count++] = is_reduced ? 1 : extents[axis];
  }
  return Extents(std::span(kept.data(), count));
}

Reduction reduction_of(std::string_view op, const Named& x, std::span<const std::int64_t> axis, bool keepdim,
                       bool asvector) {
  const int rank = x.tensor.rank();
  const AxisSet reduced = reduced_axes(op, rank, axis, asvector);
  return {reduced, {reduced_extents(x.tensor.extents(), reduced, keepdim), describe(x.name, reduced, rank, keepdim)}};
}

TensorRef with_reduced_axes(const TensorRef& tensor, const Extents& extents, const AxisSet& reduced, bool keepdim) {
  if (!tensor.has_data()) return TensorRef::without_data(tensor.type(), reduced_extents(extents, reduced, true));
  Extents strides = Extents::of_rank(extents.rank());
  int own = 0;
  for (int axis = 0; axis < extents.rank(); ++axis) {
    const bool is_reduced = reduced[static_cast<std::size_t>(axis)];
    if (!is_reduced) strides[axis] = tensor.stride(own);
    if (!is_reduced || keepdim) ++own;
  }
  return {tensor.data(), tensor.type(),  reduced_extents(extents, reduced, true),
          strides,       tensor.space(), tensor.read_only()};
}

}  // namespace portops::impl
