// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

namespace portops::impl {

/// The sum of `value` over groups of `lanes` neighbouring threads of a team (a power of two, at most a warp), by a tree
/// of fixed shape; every thread gets it. All threads of the team must call it. On hosts a group is one thread.
template <class A>
KOKKOS_INLINE_FUNCTION A sum_over_lanes(A value, [[maybe_unused]] int lanes) {
#if defined(__CUDA_ARCH__)
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
#endif
  return value;
}

/// Adds rows of `width` numbers in a team's scratch into the first, by a tree. `rows` is a power of two. What the team
/// has written there before, and the sums afterwards, every thread sees.
template <class Team, class A>
KOKKOS_INLINE_FUNCTION void add_rows_of_scratch(const Team& team, A* scratch, int rows, int width) {
  for (int half = rows / 2; half > 0; half /= 2) {
    team.team_barrier();
    for (int at = team.team_rank(); at < half * width; at += team.team_size())
      scratch[at] += scratch[at + half * width];
  }
  team.team_barrier();
}

/// The sum of an array, by a tree.
template <int N, class A>
KOKKOS_INLINE_FUNCTION A sum_of(const A (&values)[N]) {
  if constexpr (N == 1) {
    return values[0];
  } else {
    A half[N / 2];
    for (int i = 0; i < N / 2; ++i) half[i] = values[i] + values[i + N / 2];
    return sum_of<N / 2>(half);
  }
}

}  // namespace portops::impl
