// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/transpose/transpose.hpp"

#include <string_view>
#include <vector>

namespace portops::impl {

/// The axes that `perm` names, counted from the first. Throws Error, in the name of `op`, unless each of a tensor of
/// this rank is named once.
std::vector<int> checked_perm(std::string_view op, int rank, const std::vector<std::int64_t>& perm);

struct TransposeExtents {
  ExpectedExtents out;
};
TransposeExtents transpose_extents(std::string_view op, const TensorRef& x, const TransposeParams& params);

}  // namespace portops::impl
