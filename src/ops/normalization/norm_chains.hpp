// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/normalization/norm_functions.hpp"
#include "ops/normalization/norm_reduce.hpp"

// What a GPU's thread adds up of packs, element by element of a pack, in as few instructions as the sums take, and what
// the threads of a team come to.

namespace portops::impl {

/// Joins a number of each thread of a team, by a tree; every thread gets the result. `scratch` has room for a number a
/// warp, and is not written again before the next barrier but one.
template <class A, class Team>
KOKKOS_FORCEINLINE_FUNCTION A sum_over_team(const Team& team, A* scratch, A value) {
  constexpr int warp = 32;
  value = sum_over_lanes(value, warp);
  const int warps = team.team_size() / warp;
  if (warps == 1) return value;
  if (team.team_rank() % warp == 0) scratch[team.team_rank() / warp] = value;
  team.team_barrier();
  return sum_over_lanes(scratch[team.team_rank() & (warps - 1)], warps);
}

/// Sums that are joined by adding them up: a functor's State for each element of a pack.
template <class A, class F, int width>
class NormChains {
 public:
  using State = typename F::State;

  KOKKOS_FORCEINLINE_FUNCTION NormChains() {
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) chain_[i] = F::identity();
  }

  /// The first packs that a thread takes in, so many.
  template <class T, int batch>
  KOKKOS_FORCEINLINE_FUNCTION void start(const Word<T, width> (&)[F::inputs][batch], int) {}

  template <class T, int sides>
  KOKKOS_FORCEINLINE_FUNCTION void add(const Word<T, width> (&in)[F::inputs], const A (&side)[sides]) {
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      A value[F::inputs][1], side_of_value[F::sides][1];
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) value[k][0] = static_cast<A>(in[k][i]);
      PORTOPS_UNROLL
      for (int k = 0; k < F::sides; ++k) side_of_value[k][0] = side[k];
      F().add(chain_[i], value, side_of_value, 1);
    }
  }

  /// What the threads of a team come to, which have so many packs. `scratch` has room for three numbers a warp.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION State joined(const Team& team, A* scratch, int, int) const {
    const State own = join_array(chain_, F());
    const int warps = team.team_size() / 32;
    return {sum_over_team(team, scratch, own.sum), sum_over_team(team, scratch + warps, own.product)};
  }

 private:
  State chain_[width];
};

/// Moments: sums of distances to a number near all of the thread's elements, and of their squares. It is the mean of
/// the first packs: as to what that does to the error see MomentsOf::add().
template <class A, int width>
class NormChains<A, MomentsOf<A>, width> {
 public:
  KOKKOS_FORCEINLINE_FUNCTION NormChains() : near_(A(0)) {
    fill(sum_, A(0));
    fill(squares_, A(0));
  }

  /// Packs that are not there are 0.
  template <class T, int batch>
  KOKKOS_FORCEINLINE_FUNCTION void start(const Word<T, width> (&in)[1][batch], int packs) {
    A sums[batch];
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      A values[width];
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) values[i] = static_cast<A>(in[0][b][i]);
      sums[b] = sum_of(values);
    }
    near_ = sum_of(sums) / static_cast<A>(packs * width);
  }

  template <class T, int sides>
  KOKKOS_FORCEINLINE_FUNCTION void add(const Word<T, width> (&in)[1], const A (&)[sides]) {
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      const A distance = static_cast<A>(in[0][i]) - near_;
      sum_[i] += distance;
      squares_[i] = Kokkos::fma(distance, distance, squares_[i]);
    }
  }

  /// About the mean of what is near each thread's elements: two joins of numbers, where joining moments takes a division
  /// for each two of them.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION Moments<A> joined(const Team& team, A* scratch, int packs, int packs_of_team) const {
    const int warps = team.team_size() / 32;
    const A count = static_cast<A>(packs * width), count_of_team = static_cast<A>(packs_of_team * width);
    const A near_all = sum_over_team(team, scratch, near_ * (count / count_of_team));
    const A shift = near_ - near_all, shifts = count * shift, sum = sum_of(sum_);
    const A squares = Kokkos::fma(shift, A(2) * sum + shifts, sum_of(squares_));
    return JoinMoments<A>::about(near_all, count_of_team, sum_over_team(team, scratch + warps, sum + shifts),
                                 sum_over_team(team, scratch + 2 * warps, squares));
  }

 private:
  A near_;
  A sum_[width];
  A squares_[width];
};

}  // namespace portops::impl
