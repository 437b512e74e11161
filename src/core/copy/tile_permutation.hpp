// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copy_plan.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/types/tensor_ref.hpp"

#include <array>
#include <cstdint>
#include <optional>

// A copy whose sides have their axes in different orders, cut into tiles for a GPU's teams. Nothing here knows Kokkos.

namespace portops::impl {

/// Tiles that hold, on both sides, so many neighbours in memory that lines are moved whole: a box that is long along
/// the fastest axes of either side. All have the same extents: where an axis is no multiple, the last tile along it
/// shares words with the one before, which both write alike.
struct TilePermutation {
  /// An axis of the copy: its extents in words, and the words from one to the next on each side and in a tile's
  /// scratch.
  struct Axis {
    std::int64_t extent = 1;
    int tile = 1;
    std::int64_t from = 0, to = 0;
    int scratch = 0;

    std::int64_t tiles() const { return ceil_div(extent, tile); }
  };

  int rank = 0;
  std::array<Axis, max_rank> axis{};    ///< the fastest of `to` first
  std::array<int, max_rank> in_from{};  ///< the numbers of the axes, the fastest of `from` first
  int volume = 1;                       ///< words of a tile
  int scratch = 1;                      ///< and those of its scratch

  std::int64_t tiles() const;
};

/// Words of scratch that tiles of so many words take at most.
constexpr std::int64_t most_scratch(std::int64_t words) { return words + words / 4; }

/// Tiles of at most `most` words, or nothing where they would not help: where both sides have their axes in one order,
/// or long rows in common, or boxes of so many words have no lines.
std::optional<TilePermutation> make_tile_permutation(const CopyPlan& plan, int most);

}  // namespace portops::impl
