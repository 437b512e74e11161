// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace portops::graph {

/// What every place in the arena is a multiple of, in bytes: as memory from the pool is.
inline constexpr std::int64_t arena_alignment = 256;

struct ArenaLayout {
  std::vector<std::int64_t> offsets;  ///< of each block, in bytes
  std::int64_t bytes = 0;             ///< of all
};

/// Lays blocks of these sizes into one arena, so that those which live at one time do not overlap: the largest first,
/// each into the smallest gap that takes it, and again in other orders while the arena is larger than `least`. The same
/// blocks get the same layout on every machine.
ArenaLayout lay_out(const std::vector<std::int64_t>& sizes, const std::function<bool(std::int32_t, std::int32_t)>& meet,
                    std::int64_t least);

}  // namespace portops::graph
