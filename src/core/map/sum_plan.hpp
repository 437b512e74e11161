// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/loop/loop.hpp"
#include "core/map/tile_plan.hpp"

#include <span>
#include <vector>

// The sums that are left to do where an output is summed beyond a tile.

namespace portops::impl {

/// out = Σ partial: what is left to do of a sum whose tiles have each written their share. Axes run from the fastest of
/// the partial array to the slowest. A long sum is done in two steps: first in `parts` chunks, whose sums are partial
/// sums again.
struct SumPlan {
  int kept_rank = 0;
  int summed_rank = 0;
  std::int64_t kept = 1;
  std::int64_t summed = 1;
  std::int64_t kept_extent[max_rank + 2] = {};
  std::int64_t kept_stride[max_rank + 2] = {};  ///< in the partial array
  std::int64_t out_stride[max_rank + 2] = {};
  std::int64_t summed_extent[max_rank + 2] = {};
  std::int64_t summed_stride[max_rank + 2] = {};
  bool kept_is_fastest = false;  ///< neighbours in the partial array belong to different results
  std::int64_t parts = 1;
  std::int64_t chunk = 0;  ///< terms of a part; the last part may have fewer
  std::int64_t partial_at = 0;
  std::byte* out = nullptr;         ///< the tensor, or, of a first step,
  std::int64_t out_partial_at = 0;  ///< the array [part][kept] in the workspace
};

/// The sums of a loop without elements: zeros, where an output has elements.
std::vector<SumPlan> make_empty_sum_plans(const Loop& loop);

/// The sums that remain after the tiles of `plan`, in the order in which they must run.
std::vector<SumPlan> make_sum_plans(const Loop& loop, const TilePlan& plan);

/// Elements of workspace that the tiles and the sums need together.
std::int64_t partial_elements(const TilePlan& plan, std::span<const SumPlan> sums);

/// Bytes of workspace that the loop needs on a backend.
std::size_t map_workspace(const Loop& loop, Backend backend);

}  // namespace portops::impl
