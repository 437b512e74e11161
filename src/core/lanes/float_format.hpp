// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

// The bits of binary numbers, and polynomials: what functions are made of that have the same bits on every backend.

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

/// Horner's scheme, from coefficient i on. No loop: one inside of a loop would keep that from becoming vectors.
template <int i = 0, class A, int N>
KOKKOS_FORCEINLINE_FUNCTION A polynomial(const A (&coefficients)[N], A x) {
  if constexpr (i == N - 1) {
    return coefficients[i];
  } else {
    return Kokkos::fma(polynomial<i + 1>(coefficients, x), x, coefficients[i]);
  }
}

}  // namespace portops::impl
