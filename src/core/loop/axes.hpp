// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "core/types/tensor_ref.hpp"

#include <array>
#include <span>
#include <string_view>

// The axes of a reduction, as callers name them.

namespace portops::impl {

/// For each axis of a tensor, whether it is reduced.
using AxisSet = std::array<bool, max_rank>;

/// The axes of a tensor of rank `rank` that `axis` names, negative ones counted from the last, or all of them. A tensor
/// of rank 0 is taken for one of extents [1]. Throws Error when none is named, one is out of range or named twice.
AxisSet reduced_axes(std::string_view op, int rank, std::span<const std::int64_t> axis, bool all);

/// The extents of the result: reduced axes are left out or, with `keepdim`, have extent 1.
Extents reduced_extents(const Extents& extents, const AxisSet& reduced, bool keepdim);

/// What a call reduces, and the extents of its result.
struct Reduction {
  AxisSet reduced{};
  ExpectedExtents out;
};

/// From the attributes that the shape rule `reduced` stands for. Throws Error as reduced_axes does.
Reduction reduction_of(std::string_view op, const Named& x, std::span<const std::int64_t> axis, bool keepdim,
                       bool asvector);

/// A tensor of reduced extents as one of the rank that it would have with keepdim, strides 0 along reduced axes.
TensorRef with_reduced_axes(const TensorRef& tensor, const Extents& extents, const AxisSet& reduced, bool keepdim);

}  // namespace portops::impl
