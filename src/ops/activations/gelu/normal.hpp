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

/// Φ(−t) · e^(t²/2) for 0 ≤ t ≤ most: a polynomial of (t − 4) / (t + 4), divided by t + 4, or, for the 16-bit types, of
/// 1 / (t + 4). By Remez' algorithm; errors of 2e-18, 9e-9, and 3e-6 and 9e-6 beside the result and t · φ(0) together.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> normal_tail_ratio(Arithmetic<T> t) {
  using A = Arithmetic<T>;
  const A inverse = reciprocal(t + A(4));
  [[maybe_unused]] const A v = (t - A(4)) * inverse;
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
  } else if constexpr (std::is_same_v<T, f16>) {
    constexpr float coefficients[] = {0x1.b47234p-2f,  0x1.2e1ffap-1f, 0x1.482aa6p+4f,
                                      -0x1.476d7ap+6f, 0x1.9b805ep+8f, -0x1.78ee32p+7f};
    return inverse * polynomial(coefficients, inverse);
  } else {
    constexpr float coefficients[] = {0x1.99a8fep-2f, 0x1.6bcc76p+0f, 0x1.4c8788p+3f, -0x1.665c6cp+4f, 0x1.e3ee1p+7f};
    return inverse * polynomial(coefficients, inverse);
  }
}

/// e^(−t²/2) for 0 ≤ t ≤ most, shifted as by shifted_exp.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> shifted_normal_exp(Arithmetic<T> t) {
  using A = Arithmetic<T>;
  const A half = A(-0.5) * t;
  const A exponent = half * t;
  return shifted_exp_of_bounded<T>(exponent, Kokkos::fma(half, t, -exponent));
}

/// Where t · Φ(−t) has become 0, and t ends for shifted_normal_tail.
template <class T>
inline constexpr Arithmetic<T> normal_tail_most = NormalNumbers<Arithmetic<T>>::most;
template <>
inline constexpr float normal_tail_most<f16> = 6.0f;
template <>
inline constexpr float normal_tail_most<bf16> = 13.8f;

/// Φ(−t), shifted alike. For the 16-bit types its logarithm is a polynomial, of t up to where t · Φ(−t) is rounded to
/// 0; beyond it stays as it is. Errors of 4e-6 of f16, and up to 1.2e-4 of bf16.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> shifted_normal_tail(Arithmetic<T> t) {
  using A = Arithmetic<T>;
  constexpr int shift = ExponentialNumbers<A>::shift;
  if constexpr (std::is_same_v<T, A>) {
    return shifted_normal_exp<T>(t) * normal_tail_ratio<T>(t);
  } else if constexpr (std::is_same_v<T, f16>) {
    constexpr float coefficients[] = {-0x1.00006p+0f, -0x1.26aca8p+0f,  -0x1.d616aep-2f, -0x1.b370c2p-5f,
                                      0x1.05d03p-7f,  -0x1.8db70cp-11f, 0x1.16f39ap-15f};
    return short_exp2<shift>(polynomial(coefficients, t), A(1));
  } else {
    constexpr float coefficients[] = {-0x1.000b74p+0f, -0x1.262dd2p+0f,  -0x1.d9b57ep-2f,
                                      -0x1.a1250ap-5f, 0x1.e8c9ap-8f,    -0x1.89bfeep-11f,
                                      0x1.951904p-15f, -0x1.dadd56p-20f, 0x1.dffd72p-26f};
    return short_exp2<shift>(polynomial(coefficients, t), A(1));
  }
}

}  // namespace portops::impl
