// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/rows.hpp"

#include <bit>

namespace portops::impl {

/// Where a thread works that keeps to its columns and walks down the rows of its slot.
struct DownTile {
  std::int64_t kept;    ///< position along the kept axes
  std::int64_t column;  ///< the first of the thread's pack
  std::int64_t part;
  std::int64_t run;  ///< the slot's first one
  int runs;          ///< of the slot; every slots-th one. 0 for a thread without columns
  bool active;       ///< the thread has columns
};

/// The tiles of a plan with Direction::down, each of which a group of slots × lanes threads takes: lanes side by side,
/// a pack of columns each, and slots that share the rows. A group is a team; where tiles have few columns and few rows,
/// a team is several groups.
class DownTiles {
 public:
  explicit DownTiles(const ReducePlan& plan)
      : kept_(plan.kept),
        teams_(ceil_div(plan.kept * plan.parts() * plan.column_blocks, down_threads / (plan.lanes * plan.slots))),
        column_blocks_(plan.column_blocks),
        by_column_blocks_(plan.column_blocks),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))),
        slot_bits_(std::countr_zero(static_cast<unsigned>(plan.slots))),
        pack_(plan.pack) {}

  std::int64_t teams() const { return teams_; }

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }
  KOKKOS_FORCEINLINE_FUNCTION int slots() const { return 1 << slot_bits_; }
  KOKKOS_FORCEINLINE_FUNCTION int slot(int thread) const { return (thread >> lane_bits_) & (slots() - 1); }

  KOKKOS_FORCEINLINE_FUNCTION DownTile locate(const RowParts& parts, std::int64_t team, int thread) const {
    // What all threads of a team have in common is computed apart, and no division made that is not needed: nothing is
    // read before all this is known.
    DownTile tile;
    std::int64_t block = 0;
    if (column_blocks_ > 1) {
      const std::int64_t rest = by_column_blocks_.quotient(team);
      block = team - rest * column_blocks_;
      team = rest;
    }
    tile.part = 0;
    std::int64_t first_run = 0;
    auto runs = static_cast<int>(parts.part_runs);
    if (parts.parts > 1) {
      const std::int64_t rest = parts.by_parts.quotient(team);
      tile.part = team - rest * parts.parts;
      team = rest;
      first_run = tile.part * parts.part_runs;
      if (first_run + runs > parts.runs) runs = static_cast<int>(parts.runs - first_run);
    }
    // Groups that share a team have all columns, and all rows: the team's number counts along the kept axes alone.
    const int group_bits = lane_bits_ + slot_bits_;
    tile.kept = (team << (team_bits - group_bits)) + (thread >> group_bits);
    tile.column = block * (lanes() * pack_) + (thread & (lanes() - 1)) * pack_;
    tile.active = tile.column < parts.columns && tile.kept < kept_;
    tile.run = first_run + slot(thread);
    const int left = runs - slot(thread);
    tile.runs = tile.active && left > 0 ? ((left - 1) >> slot_bits_) + 1 : 0;
    return tile;
  }

 private:
  static constexpr int team_bits = std::countr_zero(static_cast<unsigned>(down_threads));

  std::int64_t kept_;
  std::int64_t teams_;
  std::int64_t column_blocks_;
  IndexDivisor by_column_blocks_;
  int lane_bits_;
  int slot_bits_;
  int pack_;
};

}  // namespace portops::impl
