// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"

#include <string_view>

namespace portops::impl {

/// The extents of the rows that ids look up in the table `weight`. Throws Error unless weight has two axes, padding_idx
/// is -1 or one of its rows, and the result has a rank for ids.
ExpectedExtents looked_up_extents(std::string_view op, const TensorRef& weight, const TensorRef& ids,
                                  std::int64_t padding_idx);

}  // namespace portops::impl
