// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/exponential.hpp"
#include "core/lanes/reciprocal.hpp"

// x · σ(z), where σ(z) = 1 / (1 + e^−z) is a gate that lets x through or not. For f64 and f32 by e^−|z|; what is small
// is shifted (see shifted_exp) until the last product.

namespace portops::impl {

/// For the 16-bit types and z ≥ −120: e^−z and σ(z), shifted so that neither is a subnormal number or leaves the range
/// of reciprocal(). σ(z) = sigmoid · unshift, and 1 − σ(z) = sigmoid · shifted_exp, which is nothing for z ≥ 20.
struct ShortGate {
  static constexpr float unshift = 0x1p-80f;
  float shifted_exp, sigmoid;

  KOKKOS_FORCEINLINE_FUNCTION explicit ShortGate(float z)
      : shifted_exp(short_exp2<-80>(z > 20.0f ? 20.0f : z, -ExponentialNumbers<float>::log2_e)),
        sigmoid(reciprocal(unshift + shifted_exp)) {}
};

/// x · σ(z).
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> gated(Arithmetic<T> x, Arithmetic<T> z) {
  using A = Arithmetic<T>;
  if constexpr (std::is_same_v<T, A>) {
    constexpr A unshift = ExponentialNumbers<A>::unshift;
    const A e = shifted_exp<T>(-Kokkos::abs(z));
    const A result = (z < A(0) ? x * e : x) * reciprocal(Kokkos::fma(e, unshift, A(1)));
    return z < A(0) ? result * unshift : result;
  } else {
    const A result = x * ShortGate(z).sigmoid * ShortGate::unshift;
    if constexpr (std::is_same_v<T, f16>) return result;
    return x > 0x1p40f ? x : result;  // it may have overflowed, and the gate is open
  }
}

/// Its derivative with respect to x, σ(z) · (1 + x · z' · σ(−z)), where z' is that of z.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> slope_of_gated(Arithmetic<T> x, Arithmetic<T> z_slope, Arithmetic<T> z) {
  using A = Arithmetic<T>;
  if constexpr (std::is_same_v<T, A>) {
    constexpr A unshift = ExponentialNumbers<A>::unshift;
    const A e = shifted_exp<T>(-Kokkos::abs(z));
    const A large = reciprocal(Kokkos::fma(e, unshift, A(1)));
    const A small = e * large;
    const A closing = z < A(0) ? large : small * unshift;
    const A result = (z < A(0) ? small : large) * Kokkos::fma(x * z_slope, closing, A(1));
    return z < A(0) ? result * unshift : result;
  } else {
    const ShortGate gate(z);
    return gate.sigmoid * Kokkos::fma(x * z_slope, gate.sigmoid * gate.shifted_exp, 1.0f) * ShortGate::unshift;
  }
}

}  // namespace portops::impl
