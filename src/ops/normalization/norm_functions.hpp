// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/lanes.hpp"
#include "core/types/macros.hpp"

#include <Kokkos_Core.hpp>

// The arithmetic of normalisation, on numbers: what elements that are normalised together come to, and what becomes of
// an element. Shared by rows and columns, and by the backends.
//
// A reduction is
//
//   inputs, sides             constants: tensors of the call's type that it reads, and operands beside them
//   State, identity()         what elements come to
//   operator()(State, State)  joins two
//   add(state, in, side, n)   takes in the first n elements of arrays; those behind them are 0
//   Sums, start()             what a GPU's thread adds up on its way, in fewer instructions; add() takes these too
//   state_of(sums)            what they come to
//
// and a map has inputs and sides and gives an element of its output, which is written as written<T>() of it.

namespace portops::impl {

/// How many numbers there are, their mean, which is mean + rest, and the sum of the squares of their distances from it.
/// The mean is two numbers so that distances of means keep their digits where the mean is large: of 1e6 + noise, too.
template <class A>
struct Moments {
  A count;
  A mean;
  A rest;
  A squares;

  KOKKOS_FORCEINLINE_FUNCTION A variance() const { return squares / count; }
};

/// Of numbers, how many there are, the sum of their distances from a number near them, and that of their squares.
template <class A>
struct Distances {
  A count;
  A near;
  A sum;
  A squares;
};

/// (T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms for computing the sample variance, The American Statistician 37,
/// 1983; the batches by its two-pass algorithm.)
template <class A>
struct JoinMoments {
  using State = Moments<A>;

  KOKKOS_FORCEINLINE_FUNCTION static State identity() { return {A(0), A(0), A(0), A(0)}; }

  KOKKOS_FORCEINLINE_FUNCTION State operator()(const State& a, const State& b) const {
    // Beside nothing, a mean keeps both of its numbers.
    if (a.count == A(0)) return b;
    if (b.count == A(0)) return a;
    const A count = a.count + b.count, share = b.count / count;
    const A distance = (b.mean - a.mean) + (b.rest - a.rest);
    const A shift = Kokkos::fma(distance, share, a.rest);
    // mean + rest = a.mean + shift, exactly.
    const A mean = a.mean + shift;
    const A part = mean - a.mean;
    const A rest = (a.mean - (mean - part)) + (shift - part);
    return {count, mean, rest, Kokkos::fma(distance * (a.count * share), distance, a.squares + b.squares)};
  }

  /// The moments of numbers of which the mean is nearly known, from their distances to it: Σ distance and Σ distance².
  KOKKOS_FORCEINLINE_FUNCTION static State about(A mean, A count, A distances, A squares) {
    const A rest = distances / count;
    const A about_mean = Kokkos::fma(-rest, distances, squares);
    return {count, mean, rest, about_mean < A(0) ? A(0) : about_mean};
  }
};

/// The moments of x.
template <class A>
struct MomentsOf : JoinMoments<A> {
  static constexpr int inputs = 1;
  static constexpr int sides = 0;
  using State = Moments<A>;
  using Sums = Distances<A>;
  using JoinMoments<A>::operator();

  KOKKOS_FORCEINLINE_FUNCTION static Sums start() { return {A(0), A(0), A(0), A(0)}; }

  /// The number near all is the mean of the first m elements. Where it lies a distance d from the mean of all N, the
  /// squares about the mean are about m · d² or more, and what is subtracted of those about the number is N · d²: N/m
  /// times as much at most, so that rounding is too. A thread takes few N.
  template <int n>
  KOKKOS_FORCEINLINE_FUNCTION void add(Sums& sums, const A (&in)[inputs][n], const A (&)[1][n], int count) const {
    if (count == 0) return;
    if (sums.count == A(0)) sums.near = sum_of(in[0]) / static_cast<A>(count);
    A distances[n], squares[n];
    PORTOPS_UNROLL
    for (int i = 0; i < n; ++i) {
      distances[i] = count == n || i < count ? in[0][i] - sums.near : A(0);
      squares[i] = distances[i] * distances[i];
    }
    sums.count += static_cast<A>(count);
    sums.sum += sum_of(distances);
    sums.squares += sum_of(squares);
  }

  KOKKOS_FORCEINLINE_FUNCTION static State state_of(const Sums& sums) {
    if (sums.count == A(0)) return JoinMoments<A>::identity();
    return JoinMoments<A>::about(sums.near, sums.count, sums.sum, sums.squares);
  }

  template <int n>
  KOKKOS_FORCEINLINE_FUNCTION void add(State& state, const A (&in)[inputs][n], const A (&)[1][n], int count) const {
    if (count == 0) return;
    const A mean = sum_of(in[0]) / static_cast<A>(count);
    A distances[n], squares[n];
    PORTOPS_UNROLL
    for (int i = 0; i < n; ++i) {
      distances[i] = i < count ? in[0][i] - mean : A(0);
      squares[i] = distances[i] * distances[i];
    }
    const auto own = JoinMoments<A>::about(mean, static_cast<A>(count), sum_of(distances), sum_of(squares));
    state = (*this)(state, own);
  }
};

/// Σ g and Σ g · (x − mean) · inv_std, with g = out_grad · weight.
template <class A>
struct GradientSums {
  A sum;
  A product;
};

template <class A>
struct JoinGradientSums {
  using State = GradientSums<A>;

  KOKKOS_FORCEINLINE_FUNCTION static State identity() { return {A(0), A(0)}; }
  KOKKOS_FORCEINLINE_FUNCTION State operator()(const State& a, const State& b) const {
    return {a.sum + b.sum, a.product + b.product};
  }
};

/// The operands of a gradient, by their places: inputs, and sides.
inline constexpr int grad_x = 0, grad_out_grad = 1;
inline constexpr int side_mean = 0, side_inv_std = 1, side_weight = 2, side_mean_of_sum = 3, side_mean_of_product = 4;

template <class A>
struct GradientSumsOf : JoinGradientSums<A> {
  static constexpr int inputs = 2;
  static constexpr int sides = 3;  ///< mean, inv_std, weight
  using State = GradientSums<A>;
  using Sums = State;
  using JoinGradientSums<A>::operator();

  KOKKOS_FORCEINLINE_FUNCTION static Sums start() { return JoinGradientSums<A>::identity(); }
  KOKKOS_FORCEINLINE_FUNCTION static State state_of(const Sums& sums) { return sums; }

  template <int n>
  KOKKOS_FORCEINLINE_FUNCTION void add(State& state, const A (&in)[inputs][n], const A (&side)[sides][n], int) const {
    A weighted[n], products[n];
    PORTOPS_UNROLL
    for (int i = 0; i < n; ++i) {
      weighted[i] = in[grad_out_grad][i] * side[side_weight][i];
      products[i] = weighted[i] * ((in[grad_x][i] - side[side_mean][i]) * side[side_inv_std][i]);
    }
    state.sum += sum_of(weighted);
    state.product += sum_of(products);
  }
};

/// out_grad as relu of what was normalised passes it, which as T is what it was then: all but where that is 0 or less.
template <class A, class T>
KOKKOS_FORCEINLINE_FUNCTION A passed_by_relu(A out_grad, A normal, A weight, A bias) {
  return static_cast<A>(static_cast<T>(Kokkos::fma(normal, weight, bias))) <= A(0) ? A(0) : out_grad;
}

/// Σ g and Σ g · (x − mean) · inv_std, with g = out_grad as relu passes it.
template <class A, class T>
struct ReluGradientSumsOf : JoinGradientSums<A> {
  static constexpr int inputs = 2;
  static constexpr int sides = 4;  ///< mean, inv_std, weight, bias
  using State = GradientSums<A>;
  using Sums = State;
  using JoinGradientSums<A>::operator();

  KOKKOS_FORCEINLINE_FUNCTION static Sums start() { return JoinGradientSums<A>::identity(); }
  KOKKOS_FORCEINLINE_FUNCTION static State state_of(const Sums& sums) { return sums; }

  template <int n>
  KOKKOS_FORCEINLINE_FUNCTION void add(State& state, const A (&in)[inputs][n], const A (&side)[sides][n], int) const {
    A passed[n], products[n];
    PORTOPS_UNROLL
    for (int i = 0; i < n; ++i) {
      const A normal = (in[grad_x][i] - side[side_mean][i]) * side[side_inv_std][i];
      passed[i] = passed_by_relu<A, T>(in[grad_out_grad][i], normal, side[side_weight][i], side[3][i]);
      products[i] = passed[i] * normal;
    }
    state.sum += sum_of(passed);
    state.product += sum_of(products);
  }
};

/// A map whose elements are written as they are computed.
template <class A>
struct PlainMap {
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static A written(A value) {
    return value;
  }
};

/// out = (x − mean) · inv_std · weight + bias. The mean is subtracted first: folded into the bias, a large one would
/// leave nothing of the digits of x. `with_relu`: what relu makes of that once it is rounded.
template <class A, bool with_relu = false>
struct Normalize {
  static constexpr int inputs = 1;
  static constexpr int sides = 4;  ///< mean, inv_std, weight, bias

  KOKKOS_FORCEINLINE_FUNCTION A operator()(const A (&in)[inputs], const A (&side)[sides]) const {
    return Kokkos::fma((in[0] - side[side_mean]) * side[side_inv_std], side[side_weight], side[3]);
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static A written(A value) {
    if constexpr (with_relu) {
      const auto rounded = static_cast<A>(static_cast<T>(value));
      return rounded < A(0) ? A(0) : rounded;
    } else {
      return value;
    }
  }
};

/// x_grad = inv_std · (g − mean of g − x̂ · mean of g · x̂), with g = out_grad · weight and x̂ = (x − mean) · inv_std.
template <class A>
struct NormalizeGrad : PlainMap<A> {
  static constexpr int inputs = 2;
  static constexpr int sides = 5;

  KOKKOS_FORCEINLINE_FUNCTION A operator()(const A (&in)[inputs], const A (&side)[sides]) const {
    const A normal = (in[grad_x] - side[side_mean]) * side[side_inv_std];
    const A rest = Kokkos::fma(in[grad_out_grad], side[side_weight], -side[side_mean_of_sum]);
    return side[side_inv_std] * Kokkos::fma(-normal, side[side_mean_of_product], rest);
  }
};

/// The same with out_grad as relu passes it. The sides are mean, inv_std, weight, bias, and the means.
template <class A, class T>
struct ReluNormalizeGrad : PlainMap<A> {
  static constexpr int inputs = 2;
  static constexpr int sides = 6;

  KOKKOS_FORCEINLINE_FUNCTION A operator()(const A (&in)[inputs], const A (&side)[sides]) const {
    const A normal = (in[grad_x] - side[side_mean]) * side[side_inv_std];
    return of_passed(passed_by_relu<A, T>(in[grad_out_grad], normal, side[side_weight], side[3]), normal, side);
  }
  KOKKOS_FORCEINLINE_FUNCTION static A of_passed(A passed, A normal, const A (&side)[sides]) {
    const A rest = Kokkos::fma(passed, side[side_weight], -side[4]);
    return side[side_inv_std] * Kokkos::fma(-normal, side[5], rest);
  }
};

/// out_grad · inv_std · weight.
template <class A>
struct Scale : PlainMap<A> {
  static constexpr int inputs = 1;
  static constexpr int sides = 2;

  KOKKOS_FORCEINLINE_FUNCTION A operator()(const A (&in)[inputs], const A (&side)[sides]) const {
    return in[0] * (side[0] * side[1]);
  }
};

}  // namespace portops::impl
