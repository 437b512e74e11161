// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/exponential.hpp"
#include "core/lanes/lanes.hpp"

// Softmax and its gradient as two passes over numbers that share a result: the first collects a state, which goes with
// others by a tree, and the second one turns each number into what it becomes.

namespace portops::impl {

inline constexpr int few_numbers = 8;
/// The chains of so many numbers.
PORTOPS_FUNCTION constexpr int chains_of(int count) { return count < 16 ? count : 16; }

/// chains[i] = join(chains[i], term(number i)), or term(number i) of the first ones: numbers side by side, so that
/// hosts make vectors of them. Few numbers are no loop: one inside of a loop would keep that from becoming vectors.
template <int count, int i = 0, class A, int side, class Term, class Join>
KOKKOS_FORCEINLINE_FUNCTION void fold(A (&chains)[side], const Term& term, const Join& join) {
  if constexpr (count <= few_numbers) {
    if constexpr (i < count) {
      chains[i] = term(i);
      fold<count, i + 1>(chains, term, join);
    }
  } else {
    static_assert(count % side == 0);
    PORTOPS_UNROLL
    for (int k = 0; k < side; ++k) chains[k] = term(k);
    PORTOPS_UNROLL
    for (int first = side; first < count; first += side) {
      PORTOPS_UNROLL
      for (int k = 0; k < side; ++k) chains[k] = join(chains[k], term(first + k));
    }
  }
}

/// The larger number; of NaN and a number either.
struct Larger {
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION A operator()(A a, A b) const {
#if defined(__CUDA_ARCH__)
    return Kokkos::fmax(a, b);
#else
    return b > a ? b : a;  // what compilers make vectors of
#endif
  }
};

/// The largest of some numbers, and the sum of exp(number − largest), which a NaN among them makes NaN. `flushes`:
/// what is below the normal numbers may be 0, as it makes no difference.
template <class A, bool flushes = false>
struct Softmax {
  static constexpr int inputs = 1;
  /// Whether the state is the largest number and a sum of terms below it.
  static constexpr bool sums_terms = true;
  /// Whether the terms of the sum are what the second pass computes again, so that it pays to keep them.
  static constexpr bool has_terms = true;
  struct State {
    A largest;
    A sum;
  };
  /// What numbers become: exp(number − shift) · factor.
  struct Row {
    A shift;
    A factor;
  };

  KOKKOS_FORCEINLINE_FUNCTION static State identity() { return {fill(), A(0)}; }
  /// What stands for numbers that are not there.
  KOKKOS_FORCEINLINE_FUNCTION static A fill() { return -Kokkos::Experimental::infinity_v<A>; }
  /// What is subtracted: of nothing but negative infinities nothing is, so that they count as 0 and not as NaN.
  KOKKOS_FORCEINLINE_FUNCTION static A shift(A largest) { return largest == fill() ? A(0) : largest; }

  KOKKOS_FORCEINLINE_FUNCTION State operator()(const State& a, const State& b) const {
    const A largest = Larger()(a.largest, b.largest);
    const A by = shift(largest);
    return {largest, a.sum * exponential(a.largest - by) + b.sum * exponential(b.largest - by)};
  }

  /// The state of many, of which join(number, functor) joins the numbers that each has.
  template <class Join>
  KOKKOS_FORCEINLINE_FUNCTION static State joined(const State& own, const Join& join) {
    const A largest = join(own.largest, Larger());
    return {largest, join(own.sum * exponential(own.largest - shift(largest)), Plus())};
  }

  template <int count>
  KOKKOS_FORCEINLINE_FUNCTION void add(State& state, const A (&in)[inputs][count]) const {
    A chains[chains_of(count)];
    fold<count>(chains, Number{in[0]}, Larger());
    const A largest = Larger()(state.largest, join_array(chains, Larger()));
    const A by = shift(largest);
    fold<count>(chains, Term{in[0], by}, Plus());
    state.sum = state.sum * exponential(state.largest - by) + sum_of(chains);
    state.largest = largest;
  }

  /// The terms of a sum, when the largest number of all is known.
  KOKKOS_FORCEINLINE_FUNCTION static A term(A in, A shift) {
    return flushes ? flushed_exponential(in - shift) : exponential(in - shift);
  }
  /// The same times a power of 2, where all of them are kept on a host: the factor of their sum takes it back. None is
  /// below the normal numbers; what would be less than any number is 0, and not computed.
  KOKKOS_FORCEINLINE_FUNCTION static A kept_term(A in, A shift) {
    const A x = in - shift;
    const bool is_nothing = x < ExponentialNumbers<A>::least;
    const A result = shifted_exp_of_bounded<A>(is_nothing ? A(0) : x);
    return is_nothing ? A(0) : result;
  }

  KOKKOS_FORCEINLINE_FUNCTION static Row row(const State& state) { return {shift(state.largest), A(1) / state.sum}; }
  KOKKOS_FORCEINLINE_FUNCTION A operator()(const Row& row, const A (&in)[inputs]) const {
    return term(in[0], row.shift) * row.factor;
  }

 private:
  struct Number {
    KOKKOS_FORCEINLINE_FUNCTION A operator()(int i) const { return in[i]; }
    const A* in;
  };
  struct Term {
    KOKKOS_FORCEINLINE_FUNCTION A operator()(int i) const { return term(in[i], shift); }
    const A* in;
    A shift;
  };
};

/// Σ out · out_grad.
template <class A>
struct SoftmaxGrad {
  static constexpr int inputs = 2;
  static constexpr bool sums_terms = false;
  static constexpr bool has_terms = false;
  using State = A;
  using Row = A;

  KOKKOS_FORCEINLINE_FUNCTION static State identity() { return A(0); }
  KOKKOS_FORCEINLINE_FUNCTION static A fill() { return A(0); }
  KOKKOS_FORCEINLINE_FUNCTION State operator()(State a, State b) const { return a + b; }

  template <class Join>
  KOKKOS_FORCEINLINE_FUNCTION static State joined(State own, const Join& join) {
    return join(own, Plus());
  }

  template <int count>
  KOKKOS_FORCEINLINE_FUNCTION void add(State& state, const A (&in)[inputs][count]) const {
    A chains[chains_of(count)];
    fold<count>(chains, Product{in[0], in[1]}, Plus());
    state += sum_of(chains);
  }

  KOKKOS_FORCEINLINE_FUNCTION static Row row(State state) { return state; }
  KOKKOS_FORCEINLINE_FUNCTION A operator()(Row row, const A (&in)[inputs]) const { return in[0] * (in[1] - row); }

 private:
  struct Product {
    KOKKOS_FORCEINLINE_FUNCTION A operator()(int i) const { return a[i] * b[i]; }
    const A* a;
    const A* b;
  };
};

}  // namespace portops::impl
