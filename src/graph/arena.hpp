// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/schedule.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace portops::graph {

/// What every place in the arena is a multiple of, in bytes: as memory from the pool is.
inline constexpr std::int64_t arena_alignment = 256;

/// Bytes that steps use, from the first one to the last one.
struct Block {
  std::int64_t bytes = 0;
  std::span<const std::int32_t> steps = {};  ///< in their order; one at least
};

struct ArenaLayout {
  std::vector<std::int64_t> offsets;  ///< of each block, in bytes
  std::int64_t bytes = 0;             ///< of all
  std::int64_t live_bytes = 0;        ///< the largest sum of the bytes of blocks that are in use at one step
};

/// Lays blocks into one arena, so that two share bytes only where all steps of the one happen before all steps of the
/// other; without `reuse` none do. The largest first, each into the smallest gap that takes it, and again in other
/// orders while the arena is larger than what lives; where too many live at one time for that, in the order of the
/// steps. The same blocks get the same layout on every machine. Throws Error where the sum of their bytes does not fit
/// into 64 bits.
ArenaLayout lay_out(const std::vector<Block>& blocks, const Schedule& schedule, bool reuse);

}  // namespace portops::graph
