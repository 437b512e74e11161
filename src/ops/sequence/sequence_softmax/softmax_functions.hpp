// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/lanes.hpp"

namespace portops::impl {

/// The largest of some numbers, and the sum of exp(number − largest).
template <class A>
struct Softmax {
  static constexpr int inputs = 1;
  struct State {
    A largest;
    A sum;
  };

  KOKKOS_FORCEINLINE_FUNCTION static State identity() { return {fill(), A(0)}; }
  /// What stands for rows that are not there.
  KOKKOS_FORCEINLINE_FUNCTION static A fill() { return -Kokkos::Experimental::infinity_v<A>; }
  /// What is subtracted: of nothing but negative infinities nothing is, so that they count as 0 and not as NaN.
  KOKKOS_FORCEINLINE_FUNCTION static A shift(A largest) { return largest == fill() ? A(0) : largest; }

  KOKKOS_FORCEINLINE_FUNCTION State operator()(const State& a, const State& b) const {
    const A largest = Kokkos::fmax(a.largest, b.largest);
    const A by = shift(largest);
    return {largest, a.sum * Kokkos::exp(a.largest - by) + b.sum * Kokkos::exp(b.largest - by)};
  }

  template <int rows>
  KOKKOS_FORCEINLINE_FUNCTION void add(State& state, const A (&in)[inputs][rows]) const {
    A largest = state.largest;
    PORTOPS_UNROLL
    for (int r = 0; r < rows; ++r) largest = Kokkos::fmax(largest, in[0][r]);
    const A by = shift(largest);
    A terms[rows];
    PORTOPS_UNROLL
    for (int r = 0; r < rows; ++r) terms[r] = Kokkos::exp(in[0][r] - by);
    state.sum = state.sum * Kokkos::exp(state.largest - by) + sum_of(terms);
    state.largest = largest;
  }

  KOKKOS_FORCEINLINE_FUNCTION A apply(const State& state, const A (&in)[inputs]) const {
    return Kokkos::exp(in[0] - shift(state.largest)) / state.sum;
  }
};

/// Σ out · out_grad.
template <class A>
struct SoftmaxGrad {
  static constexpr int inputs = 2;
  using State = A;

  KOKKOS_FORCEINLINE_FUNCTION static State identity() { return A(0); }
  KOKKOS_FORCEINLINE_FUNCTION static A fill() { return A(0); }
  KOKKOS_FORCEINLINE_FUNCTION State operator()(State a, State b) const { return a + b; }

  template <int rows>
  KOKKOS_FORCEINLINE_FUNCTION void add(State& state, const A (&in)[inputs][rows]) const {
    A terms[rows];
    PORTOPS_UNROLL
    for (int r = 0; r < rows; ++r) terms[r] = in[0][r] * in[1][r];
    state += sum_of(terms);
  }

  KOKKOS_FORCEINLINE_FUNCTION A apply(State state, const A (&in)[inputs]) const { return in[0] * (in[1] - state); }
};

}  // namespace portops::impl
