// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/other_lane.hpp"
#include "core/types/macros.hpp"

#include <Kokkos_Core.hpp>

namespace portops::impl {

/// On a GPU: leaves the sums of the terms over the lanes of a warp that differ by multiples of `nearest`, a power of
/// two, with `distance` the half of a warp to begin with: in each round threads give away the half of the terms that
/// others go on with, as long as there are two halves. A thread writes those that it is left with behind `to`.
template <int terms, int distance, class A>
KOKKOS_FORCEINLINE_FUNCTION void add_over_lanes(A (&term)[terms], int lane, int nearest, A* to) {
  if constexpr (distance > 0) {
    if (distance >= nearest) {
      const bool upper = (lane & distance) != 0;
      constexpr int kept = terms % 2 == 0 ? terms / 2 : terms;
      A total[kept];
      PORTOPS_UNROLL
      for (int i = 0; i < kept; ++i) {
        const A own = upper ? term[terms - kept + i] : term[i], other = upper ? term[i] : term[terms - kept + i];
        total[i] = own + of_other_lane(other, distance);
      }
      return add_over_lanes<kept, distance / 2>(total, lane, nearest, upper ? to + (terms - kept) : to);
    }
  }
  PORTOPS_UNROLL
  for (int i = 0; i < terms; ++i) to[i] = term[i];
}

}  // namespace portops::impl
