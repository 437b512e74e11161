// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"

#include <Kokkos_Core.hpp>

#include <bit>

namespace portops::impl {

struct Plus {
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION A operator()(A a, A b) const {
    return a + b;
  }
};

/// A team's scratch, which Kokkos aligns to 8 bytes. (Where it is aligned to more by hand, nvcc forgets that it is
/// scratch: every access becomes a generic one, after a dozen instructions for the address.)
template <class T, class Team>
KOKKOS_FORCEINLINE_FUNCTION T* scratch_of(const Team& team) {
  static_assert(alignof(T) <= 8);
  return static_cast<T*>(team.team_scratch(0).get_shmem(0));
}

/// Joins `value` over groups of `lanes` neighbouring threads (a power of two; of a warp where there are more), by a
/// tree of fixed shape; every thread gets its group's. All threads of a warp must call it. On hosts a group is one
/// thread.
template <class A, class Join>
KOKKOS_INLINE_FUNCTION A join_over_lanes(A value, [[maybe_unused]] int lanes, [[maybe_unused]] const Join& join) {
#if defined(__CUDA_ARCH__)
  PORTOPS_UNROLL
  for (int distance = 16; distance > 0; distance /= 2) {
    if (distance < lanes) value = join(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
#endif
  return value;
}

template <class A>
KOKKOS_INLINE_FUNCTION A sum_over_lanes(A value, int lanes) {
  return join_over_lanes(value, lanes, Plus());
}

/// Whether the condition holds in any thread of a warp, all of which must call it. On hosts a warp is one thread.
KOKKOS_INLINE_FUNCTION bool any_lane(bool condition) {
#if defined(__CUDA_ARCH__)
  return __any_sync(0xffffffffu, condition) != 0;
#else
  return condition;
#endif
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

/// Half of the least power of two that is not below N; here, as device code cannot call what computes it.
template <int N>
inline constexpr int half_of_leaves = static_cast<int>(std::bit_ceil(static_cast<unsigned>(N)) / 2);

/// Joins the values of an array, by the tree that has leaves for a power of two of them.
template <int N, class A, class Join>
KOKKOS_INLINE_FUNCTION A join_array(const A (&values)[N], const Join& join) {
  if constexpr (N == 1) {
    return values[0];
  } else {
    constexpr int count = half_of_leaves<N>;
    A half[count];
    PORTOPS_UNROLL
    for (int i = 0; i < count; ++i) half[i] = i + count < N ? join(values[i], values[i + count]) : values[i];
    return join_array(half, join);
  }
}

template <int N, class A>
KOKKOS_INLINE_FUNCTION A sum_of(const A (&values)[N]) {
  return join_array(values, Plus());
}

/// Joins the values of groups of `lanes` threads of a team (a power of two): a warp or less, or the whole team of
/// `threads`, by a tree of fixed shape; every thread gets its group's. `scratch` has room for a value a warp.
template <int threads, class Team, class A, class Join>
KOKKOS_INLINE_FUNCTION A join_over_group(const Team& team, A* scratch, A value, int lanes, const Join& join) {
  constexpr int warp = 32;
  value = join_over_lanes(value, lanes < warp ? lanes : warp, join);
  if (lanes <= warp) return value;
  if (team.team_rank() % warp == 0) scratch[team.team_rank() / warp] = value;
  team.team_barrier();
  A values[threads / warp];
  PORTOPS_UNROLL
  for (int w = 0; w < threads / warp; ++w) values[w] = scratch[w];
  team.team_barrier();
  return join_array(values, join);
}

/// Joins, in each group of slots · lanes neighbouring threads of a team, the values that the slots of a lane have in
/// their packs, by a tree in `scratch`, which has room for all values of the team; every thread gets its lane's.
/// `slots` and `lanes` are powers of two.
template <class Team, class A, int pack, class Join>
KOKKOS_INLINE_FUNCTION void join_over_slots(const Team& team, A* scratch, int slots, int lanes, A (&values)[pack],
                                            const Join& join) {
  if (slots == 1) return;
  const int threads = team.team_size();
  const int member = team.team_rank() & (slots * lanes - 1);  // slot · lanes + lane
  A* const own = scratch + team.team_rank();
  PORTOPS_UNROLL
  for (int i = 0; i < pack; ++i) own[i * threads] = values[i];
  for (int half = slots * lanes / 2; half >= lanes; half /= 2) {
    team.team_barrier();
    if (member >= half) continue;
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) own[i * threads] = join(own[i * threads], own[i * threads + half]);
  }
  team.team_barrier();
  const A* const of_lane = own - (member & ~(lanes - 1));
  PORTOPS_UNROLL
  for (int i = 0; i < pack; ++i) values[i] = of_lane[i * threads];
  team.team_barrier();
}

}  // namespace portops::impl
