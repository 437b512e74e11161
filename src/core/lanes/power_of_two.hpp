// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace portops::impl {

/// The least power of two that is not below `value`, within [1, most]. `most` is a power of two.
constexpr int power_of_two_at_least(std::int64_t value, std::int64_t most) {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(value, 1, most))));
}

}  // namespace portops::impl
