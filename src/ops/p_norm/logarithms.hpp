// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/exponential.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

// The bits of binary numbers, and the logarithms and powers of two of which power.hpp makes powers.

namespace portops::impl {

/// How the bits of a binary number are cut, and what else depends on its width.
template <class A>
struct FloatFormat;
template <>
struct FloatFormat<float> {
  using Bits = std::int32_t;
  static constexpr int fraction_bits = 23;
  static constexpr Bits bias = 127;
  static constexpr Bits all_but_sign = 0x7fffffff;
  static constexpr Bits root_of_half = 0x3f3504f3;  ///< the bits of 1/√2
  static constexpr float least_normal = 0x1p-126f;
  static constexpr Bits subnormal_shift = 32;  ///< 2^32 makes every subnormal number a normal one
  static constexpr float subnormal_factor = 0x1p32f;
  static constexpr float round_to_integer = 0x1.8p23f;  ///< added and subtracted again, it rounds
  static constexpr float most_exponent = 250.0f;        ///< 2^250 is Inf, and half of it is not
  static constexpr float most = 0x1.fffffep127f;
};
template <>
struct FloatFormat<double> {
  using Bits = std::int64_t;
  static constexpr int fraction_bits = 52;
  static constexpr Bits bias = 1023;
  static constexpr Bits all_but_sign = 0x7fffffffffffffff;
  static constexpr Bits root_of_half = 0x3fe6a09e667f3bcd;
  static constexpr double least_normal = 0x1p-1022;
  static constexpr Bits subnormal_shift = 64;
  static constexpr double subnormal_factor = 0x1p64;
  static constexpr double round_to_integer = 0x1.8p52;
  static constexpr double most_exponent = 2040.0;
  static constexpr double most = 0x1.fffffffffffffp1023;
};

/// `value`, negated where x has its sign set.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A negated_with(A x, A value) {
  using Bits = typename FloatFormat<A>::Bits;
  return Kokkos::bit_cast<A>(Kokkos::bit_cast<Bits>(value) ^
                             (Kokkos::bit_cast<Bits>(x) & ~FloatFormat<A>::all_but_sign));
}

/// e for a number of magnitude 2^e to 2^(e + 1); one less than the least of normal numbers for those that are smaller,
/// one more than the largest for Inf and NaN.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION typename FloatFormat<A>::Bits exponent_of(A x) {
  using Format = FloatFormat<A>;
  using Bits = typename Format::Bits;
  return ((Kokkos::bit_cast<Bits>(x) & Format::all_but_sign) >> Format::fraction_bits) - Format::bias;
}

/// 2^e, for less than the least normal number that number.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A power_of_two(typename FloatFormat<A>::Bits e) {
  using Format = FloatFormat<A>;
  using Bits = typename Format::Bits;
  const Bits bits = e + Format::bias;
  return Kokkos::bit_cast<A>(static_cast<Bits>((bits > 1 ? bits : 1) << Format::fraction_bits));
}

// The polynomials below are the best ones (Remez' algorithm): the relative error of log2_near_one is 4e-9 for float and
// 8e-21 for double.

/// log2(1 + f) for 1/√2 ≤ 1 + f < √2.
KOKKOS_FORCEINLINE_FUNCTION float log2_near_one(float f) {
  constexpr float coefficients[] = {0x1.715476p+0f,  -0x1.71547p-1f, 0x1.ec7096p-2f,  -0x1.715a76p-2f, 0x1.277e36p-2f,
                                    -0x1.eabc88p-3f, 0x1.a305a6p-3f, -0x1.874be8p-3f, 0x1.7d494ap-3f,  -0x1.c25a72p-4f};
  return f * polynomial(coefficients, f);
}
KOKKOS_FORCEINLINE_FUNCTION double log2_near_one(double f) {
  // 2/ln 2 · artanh(s)
  constexpr double coefficients[] = {0x1.71547652b82fep+1, 0x1.ec709dc3a03fcp-1, 0x1.2776c50ef9fd2p-1,
                                     0x1.a61762a7078f9p-2, 0x1.484b1448df32ep-2, 0x1.0c9a5972deedep-2,
                                     0x1.c6a2a167b2fd4p-3, 0x1.8773349f7f593p-3, 0x1.87dfdd5fb880ep-3};
  const double s = f / (f + 2.0);
  return s * polynomial(coefficients, s * s);
}

// Shorter ones, where bits need not agree: relative errors of 3e-8 for float, 2e-16 for double.

template <class A>
KOKKOS_FORCEINLINE_FUNCTION A short_log2_near_one(A f) {
  if constexpr (std::is_same_v<A, float>) {
    constexpr float coefficients[] = {0x1.715476p+0f,  -0x1.71547p-1f, 0x1.ec73d8p-2f,  -0x1.715c4ep-2f, 0x1.26d382p-2f,
                                      -0x1.e95bdep-3f, 0x1.b9c92cp-3f, -0x1.a87d42p-3f, 0x1.01b6ecp-3f};
    return f * polynomial(coefficients, f);
  } else {
    constexpr double coefficients[] = {0x1.71547652b82ffp+1, 0x1.ec709dc39c9e8p-1, 0x1.2776c516a91c0p-1,
                                       0x1.a617567741208p-2, 0x1.484fac1ade666p-2, 0x1.0bb7be3da99c7p-2,
                                       0x1.f184c38203e1ep-3};
    const double s = f / (f + 2.0);
    return s * polynomial(coefficients, s * s);
  }
}
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A short_exp2_of_fraction(A r) {
  if constexpr (std::is_same_v<A, float>) {
    return exp2_of_fraction(r);
  } else {
    constexpr double coefficients[] = {0x1p+0,
                                       0x1.62e42fefa3a17p-1,
                                       0x1.ebfbdff82c3b9p-3,
                                       0x1.c6b08d703d488p-5,
                                       0x1.3b2ab6fbde0fdp-7,
                                       0x1.5d87fe9cc630ap-10,
                                       0x1.43091260571fep-13,
                                       0x1.ffcb55e7213b5p-17,
                                       0x1.62c157ea842b3p-20,
                                       0x1.b67410c32033bp-24,
                                       0x1.e39926d6dfc9bp-28};
    return polynomial(coefficients, r);
  }
}

}  // namespace portops::impl
