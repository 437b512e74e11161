// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/exponential.hpp"
#include "core/lanes/reciprocal.hpp"

// The normal distribution, of which φ(x) = e^(−x²/2) / √(2π) is the density and Φ(x) its integral from −∞ on.

namespace portops::impl {

template <class A>
struct NormalNumbers;
template <>
struct NormalNumbers<float> {
  static constexpr float inverse_root_of_2_pi = 0x1.988454p-2f;
  static constexpr float most = 14.7f;  ///< most · φ(most) is 0
};
template <>
struct NormalNumbers<double> {
  static constexpr double inverse_root_of_2_pi = 0x1.9884533d43651p-2;
  static constexpr double most = 38.8;
};

/// Φ(−t) · e^(t²/2) for 0 ≤ t ≤ most: a polynomial of (t − 4) / (t + 4), divided by t + 4, by Remez' algorithm. Errors
/// of 2e-18, 9e-9 and 3e-6.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> normal_tail_ratio(Arithmetic<T> t) {
  using A = Arithmetic<T>;
  const A inverse = reciprocal(t + A(4));
  const A v = (t - A(4)) * inverse;
  if constexpr (std::is_same_v<T, double>) {
    constexpr double coefficients[] = {
        0x1.82b4bb8c94dcep-1,  -0x1.373e3a893c28ap-1,  0x1.8c6dbf2cfc2b4p-2,   -0x1.7dff2bff6839ep-3,
        0x1.eec4cc3e4d292p-5,  -0x1.ee2761047dc84p-8,  -0x1.c81719d5483ffp-9,  0x1.ab825fc0a3c55p-10,
        0x1.17a4ae2f8f315p-13, -0x1.e4a42558a31cfp-13, -0x1.001e4fd67856cp-19, 0x1.26d097e11a89fp-15,
        0x1.80b1c82b6ccf2p-21, -0x1.8d4afa039e88ap-18, -0x1.51e4d84e04a73p-21, 0x1.1235a248defdfp-20,
        0x1.233da9b5257eap-22, -0x1.4ce1b96b48d82p-23, -0x1.6c268eaf46b75p-24, 0x1.cdcb122e18be6p-27,
        0x1.4a5ea482a837bp-26, 0x1.e4a3050cfb1a2p-30,  -0x1.4c20c904aefbdp-29, -0x1.7158f3a911bcap-31};
    return inverse * polynomial(coefficients, v);
  } else if constexpr (std::is_same_v<T, float>) {
    constexpr float coefficients[] = {0x1.82b4bcp-1f,  -0x1.373e38p-1f, 0x1.8c6d9ep-2f,  -0x1.7e000cp-3f,
                                      0x1.eed3bcp-5f,  -0x1.ed243cp-8f, -0x1.cc45bcp-9f, 0x1.9b6024p-10f,
                                      0x1.740ac8p-13f, -0x1.16b172p-13f};
    return inverse * polynomial(coefficients, v);
  } else {
    constexpr float coefficients[] = {0x1.82b4fep-1f, -0x1.373cecp-1f, 0x1.8c5314p-2f, -0x1.7e4e62p-3f,
                                      0x1.f497b2p-5f, -0x1.b744ccp-8f, -0x1.3322dp-8f};
    return inverse * polynomial(coefficients, v);
  }
}

/// e^(−t²/2), shifted as by shifted_exp.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> shifted_normal_exp(Arithmetic<T> t) {
  using A = Arithmetic<T>;
  const A square = t * t;
  const A e = shifted_exp<T>(A(-0.5) * square);
  if constexpr (!std::is_same_v<T, A>) return e;
  const A rest = Kokkos::fma(t, t, -square);  // of the square
  return Kokkos::fma(e, A(-0.5) * rest, e);
}

}  // namespace portops::impl
