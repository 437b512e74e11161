// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"

#include <optional>

namespace portops::impl {

/// An index that stands for none, and the argument that says so.
struct IgnoredIndex {
  std::int64_t index;
  std::string_view name;
};

/// Where the host reads the tensor, which holds indices: each is at least 0 and less than `count`, the number of
/// `what`, or the ignored one. On cuda nothing is checked.
void check_indices(std::string_view op, const Context& ctx, const Named& indices, std::int64_t count,
                   std::string_view what, const std::optional<IgnoredIndex>& ignored = {});

}  // namespace portops::impl
