// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/reshape/reshape.hpp"

#include <string_view>

namespace portops::impl {

/// The extents that the shape gives to a tensor with the elements of one of extents x. Throws Error, in the name of
/// `op`, where it gives none.
Extents reshaped_extents(std::string_view op, const Extents& x, const std::vector<std::int64_t>& shape);

struct ReshapeExtents {
  ExpectedExtents out;
};
ReshapeExtents reshape_extents(std::string_view op, const TensorRef& x, const ReshapeParams& params);

}  // namespace portops::impl
