// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/exponential.hpp"
#include "core/lanes/reciprocal.hpp"

// x · σ(z), where σ(z) = 1 / (1 + e^−z) is a gate that lets x through or not, by e^−|z|. What is small is shifted (see
// shifted_exp) until the last product.

namespace portops::impl {

/// x · σ(z).
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> gated(Arithmetic<T> x, Arithmetic<T> z) {
  using A = Arithmetic<T>;
  constexpr A unshift = ExponentialNumbers<A>::unshift;
  const A e = shifted_exp<T>(-Kokkos::abs(z));
  const A result = (z < A(0) ? x * e : x) / Kokkos::fma(e, unshift, A(1));
  return z < A(0) ? result * unshift : result;
}

/// Its derivative with respect to x, σ(z) · (1 + x · z' · σ(−z)), where z' is that of z.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> slope_of_gated(Arithmetic<T> x, Arithmetic<T> z_slope, Arithmetic<T> z) {
  using A = Arithmetic<T>;
  constexpr A unshift = ExponentialNumbers<A>::unshift;
  const A e = shifted_exp<T>(-Kokkos::abs(z));
  const A large = reciprocal(Kokkos::fma(e, unshift, A(1)));
  const A small = e * large;
  const A closing = z < A(0) ? large : small * unshift;
  const A result = (z < A(0) ? small : large) * Kokkos::fma(x * z_slope, closing, A(1));
  return z < A(0) ? result * unshift : result;
}

}  // namespace portops::impl
