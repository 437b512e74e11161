// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

namespace portops::impl {

/// The sum of the values of the team's threads before this one. `scratch` has room for a value a warp. All threads of
/// the team must call it; what they wrote to scratch before, each sees afterwards. (Kokkos' team_scan takes more
/// barriers.)
template <int threads, class Team, class A>
KOKKOS_FORCEINLINE_FUNCTION A sum_of_threads_before(const Team& team, [[maybe_unused]] A* scratch, A value) {
#if defined(__CUDA_ARCH__)
  constexpr int warp = 32;
  const int lane = team.team_rank() % warp, own_warp = team.team_rank() / warp;
  A sum = value;
  for (int distance = 1; distance < warp; distance *= 2) {
    const A before = __shfl_up_sync(0xffffffffu, sum, distance);
    if (lane >= distance) sum += before;
  }
  if (lane == warp - 1) scratch[own_warp] = sum;
  team.team_barrier();
  for (int w = 0; w < threads / warp; ++w) sum += w < own_warp ? scratch[w] : A(0);
  return sum - value;
#else
  return team.team_scan(value);
#endif
}

}  // namespace portops::impl
