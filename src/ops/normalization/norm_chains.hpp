// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/normalization/norm_functions.hpp"
#include "ops/normalization/norm_reduce.hpp"

// What a GPU's thread adds up of packs, element by element of a pack, in as few instructions as the sums take, and what
// the threads of a team come to.

namespace portops::impl {

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

  /// Takes in some packs, as far as they are there.
  template <class T, int batch, int sides>
  KOKKOS_FORCEINLINE_FUNCTION void add(const Word<T, width> (&in)[F::inputs][batch], int packs,
                                       const A (&side)[sides]) {
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      if (b < packs) add_pack(in, b, side);
    }
  }

  /// What the threads of a team come to, this one by so many packs. `scratch` has room for three numbers a warp.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION State joined(const Team& team, A* scratch, int, int) const {
    const State own = join_array(chain_, F());
    A sums[2] = {own.sum, own.product};
    sum_over_group(team, scratch, sums, team_bits(team));
    return {sums[0], sums[1]};
  }

 private:
  template <class T, int batch, int sides>
  KOKKOS_FORCEINLINE_FUNCTION void add_pack(const Word<T, width> (&in)[F::inputs][batch], int b,
                                            const A (&side)[sides]) {
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      A value[F::inputs][1], side_of_value[F::sides][1];
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) value[k][0] = static_cast<A>(in[k][b][i]);
      PORTOPS_UNROLL
      for (int k = 0; k < F::sides; ++k) side_of_value[k][0] = side[k];
      F().add(chain_[i], value, side_of_value, 1);
    }
  }

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

  /// A batch is added up apart: sums of many packs, one by one, would lose as many digits.
  template <class T, int batch, int sides>
  KOKKOS_FORCEINLINE_FUNCTION void add(const Word<T, width> (&in)[1][batch], int packs, const A (&)[sides]) {
    A sum[width], squares[width];
    fill(sum, A(0));
    fill(squares, A(0));
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      if (b >= packs) continue;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        const A distance = static_cast<A>(in[0][b][i]) - near_;
        sum[i] += distance;
        squares[i] = Kokkos::fma(distance, distance, squares[i]);
      }
    }
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      sum_[i] += sum[i];
      squares_[i] += squares[i];
    }
  }

  /// About the mean of what is near each thread's elements: two joins of numbers, where joining moments takes a
  /// division for each two of them.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION Moments<A> joined(const Team& team, A* scratch, int packs, int packs_of_team) const {
    const A count = static_cast<A>(packs * width), count_of_team = static_cast<A>(packs_of_team * width);
    A near_all[1] = {near_ * (count / count_of_team)};
    sum_over_group(team, scratch, near_all, team_bits(team));
    const A shift = near_ - near_all[0], shifts = count * shift, sum = sum_of(sum_);
    A sums[2] = {sum + shifts, Kokkos::fma(shift, A(2) * sum + shifts, sum_of(squares_))};
    sum_over_group(team, scratch + team.team_size() / 32, sums, team_bits(team));
    return JoinMoments<A>::about(near_all[0], count_of_team, sums[0], sums[1]);
  }

 private:
  A near_;
  A sum_[width];
  A squares_[width];
};

}  // namespace portops::impl
