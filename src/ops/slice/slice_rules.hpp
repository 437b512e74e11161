// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/slice/slice.hpp"

#include <array>
#include <string_view>

namespace portops::impl {

/// What a slice takes of an axis: elements first, first + step, …, so many.
struct AxisSlice {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// Of each axis of a tensor of these extents. Throws Error, in the name of `op`, where the attributes do not fit.
std::array<AxisSlice, max_rank> axis_slices(std::string_view op, const Extents& x, const SliceParams& params);

struct SliceExtents {
  ExpectedExtents out;
};
SliceExtents slice_extents(std::string_view op, const TensorRef& x, const SliceParams& params);

}  // namespace portops::impl
