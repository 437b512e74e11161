// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace portops::impl {

/// Teams that are at work on a GPU at once: two for each of the multiprocessors that the largest ones have.
inline constexpr std::int64_t gpu_teams_at_once = 264;

}  // namespace portops::impl
