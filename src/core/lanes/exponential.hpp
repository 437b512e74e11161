// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/float_format.hpp"
#include "core/lanes/pack.hpp"

#include <type_traits>

// Powers of 2 and of e, without a mathematical library where a loop over them is to become vectors.

namespace portops::impl {

/// 2^r for |r| ≤ 1/2, by the best polynomials (Remez' algorithm): relative errors of 2e-9 for float, 4e-18 for double.
KOKKOS_FORCEINLINE_FUNCTION float exp2_of_fraction(float r) {
  constexpr float coefficients[] = {0x1p+0f,        0x1.62e43p-1f,   0x1.ebfbdap-3f, 0x1.c6aec2p-5f,
                                    0x1.3b2ddcp-7f, 0x1.5f4e52p-10f, 0x1.41ccfcp-13f};
  return polynomial(coefficients, r);
}
KOKKOS_FORCEINLINE_FUNCTION double exp2_of_fraction(double r) {
  constexpr double coefficients[] = {0x1p+0,
                                     0x1.62e42fefa39efp-1,
                                     0x1.ebfbdff82c58fp-3,
                                     0x1.c6b08d704a0d2p-5,
                                     0x1.3b2ab6fba4e0cp-7,
                                     0x1.5d87fe78a1ea9p-10,
                                     0x1.430912f887d42p-13,
                                     0x1.ffcbfc7742b50p-17,
                                     0x1.62c021d80c08cp-20,
                                     0x1.b524d83822848p-24,
                                     0x1.e4d0831b78600p-28,
                                     0x1.ea092c66f35f4p-32,
                                     0x1.c2c0a310ee1d1p-36};
  return polynomial(coefficients, r);
}

/// e^x on hosts, within 1.5 units in the last place, subnormal results included: 2^n · 2^r, where n + r = x · log2 e.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A exponential_by_polynomial(A x) {
  constexpr bool is_double = std::is_same_v<A, double>;
  using Bits = std::conditional_t<is_double, std::uint64_t, std::uint32_t>;
  constexpr int fraction_bits = is_double ? 52 : 23;
  constexpr Bits bias = is_double ? 1023 : 127;
  // Beyond, the result is 0 or Inf. A comparison with NaN is false, and NaN stays. What becomes 0 is not computed, as
  // it would be by numbers below the normal ones, which take processors a hundred times as long.
  constexpr A lowest = is_double ? A(-746) : A(-104), highest = is_double ? A(710) : A(89);
  const bool is_nothing = x < lowest;
  x = is_nothing ? A(0) : x;
  x = x > highest ? highest : x;
  // Adding it rounds to a whole number, which is then in the last bits of the sum.
  constexpr A rounder = A(3) * static_cast<A>(std::uint64_t{1} << (fraction_bits - 1));
  constexpr A log2_e = is_double ? A(0x1.71547652b82fep+0) : A(0x1.715476p+0);
  constexpr A log2_e_rest = is_double ? A(0x1.777d0ffda0d24p-56) : A(0x1.4ae0cp-26);
  const A n = Kokkos::fma(x, log2_e, rounder) - rounder;
  const A r = Kokkos::fma(x, log2_e_rest, Kokkos::fma(x, log2_e, -n));
  // The power of two in two halves: it may be none that the type has, while the result is one.
  const A half = Kokkos::fma(n, A(0.5), rounder);
  const A other_half = (n - (half - rounder)) + rounder;
  const auto power = [](A whole) {
    return Kokkos::bit_cast<A>(static_cast<Bits>((Kokkos::bit_cast<Bits>(whole) + bias) << fraction_bits));
  };
  const A result = exp2_of_fraction(r) * power(half) * power(other_half);
  return is_nothing ? A(0) : result;
}

/// e^x for x that are not positive. In float a GPU takes its instruction for 2^y, which is right within 2 units in the
/// last place: the error is within 2.4e-7 + 7.4e-8 · |x| of the result.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A exponential(A x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<A, float>) {
    return Kokkos::exp2(x * 0x1.715476p+0f);
  } else {
    return Kokkos::exp(x);
  }
#else
  return exponential_by_polynomial(x);
#endif
}

/// The same but for what is below the normal numbers, which on a GPU is 0.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A flushed_exponential(A x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<A, float>) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 0x1.715476p+0f));
    return result;
  }
#endif
  return exponential(x);
}

// e^x of numbers that are not positive, in sums, products and fused multiply-adds in a fixed order: the same bits on
// every backend, in loops that are vectorised on hosts. Nothing overflows, there is no branch, and NaN stays NaN. T is
// the element type of the result that is computed: f64 and f32 are right within a unit in the last place, for the
// 16-bit types numbers are right within 2^-16 of their value.

template <class A>
struct ExponentialNumbers;
template <>
struct ExponentialNumbers<float> {
  static constexpr float log2_e = 0x1.715476p+0f;
  static constexpr float ln2 = 0x1.62e43p-1f;
  static constexpr float rest_of_ln2 = -0x1.05c61p-29f;
  static constexpr float least = -110.0f;  ///< least · e^least is 0, and so it is beyond
  static constexpr int shift = 64;
  static constexpr float unshift = 0x1p-64f;
};
template <>
struct ExponentialNumbers<double> {
  static constexpr double log2_e = 0x1.71547652b82fep+0;
  static constexpr double ln2 = 0x1.62e42fefa39efp-1;
  static constexpr double rest_of_ln2 = 0x1.abc9e3b39803fp-56;
  static constexpr double least = -760.0;
  static constexpr int shift = 128;
  static constexpr double unshift = 0x1p-128;
};

/// e^r − 1 for |r| ≤ ln 2 / 2: r + r² · polynomial(r), by Remez' algorithm. Errors of 4e-18, 3e-9 and 5e-6 of e^r.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> exp_minus_one_of_fraction(Arithmetic<T> r) {
  const Arithmetic<T> square = r * r;
  if constexpr (std::is_same_v<T, double>) {
    constexpr double coefficients[] = {0x1.0000000000003p-1,  0x1.555555555555cp-3,  0x1.5555555552869p-5,
                                       0x1.111111110e946p-7,  0x1.6c16c17dc561bp-10, 0x1.a01a01b52d62ap-13,
                                       0x1.a019aa13427a4p-16, 0x1.71ddeb3cc3b74p-19, 0x1.289fa6f56effp-22,
                                       0x1.af7514772f2c6p-26};
    return Kokkos::fma(square, polynomial(coefficients, r), r);
  } else if constexpr (std::is_same_v<T, float>) {
    constexpr float coefficients[] = {0x1p-1f, 0x1.5554bp-3f, 0x1.555484p-5f, 0x1.1227e8p-7f, 0x1.6d9ac6p-10f};
    return Kokkos::fma(square, polynomial(coefficients, r), r);
  } else {
    constexpr float coefficients[] = {0x1.fffddp-2f, 0x1.570934p-3f, 0x1.5745bcp-5f};
    return Kokkos::fma(square, polynomial(coefficients, r), r);
  }
}

/// e^x · 2^shift as power · (1 + rest), where power is one of two.
template <class A>
struct SplitExponential {
  A power;
  A rest;
};

/// For x + rest ≤ 0 such that the power is a normal number. `rest` is at most a rounding error of x.
template <class T, int shift>
KOKKOS_FORCEINLINE_FUNCTION SplitExponential<Arithmetic<T>> split_exponential(
    Arithmetic<T> x, [[maybe_unused]] Arithmetic<T> rest = {}) {
  using A = Arithmetic<T>;
  using Numbers = ExponentialNumbers<A>;
  using Format = FloatFormat<A>;
  using Bits = std::make_unsigned_t<typename Format::Bits>;
  // x = n · ln 2 + r. The last bits of `shifted` are those of the exponent of 2^(n + shift).
  constexpr A round_to_integer = Format::round_to_integer + static_cast<A>(Format::bias + shift);
  const A shifted = Kokkos::fma(x, Numbers::log2_e, round_to_integer);
  const A n = shifted - round_to_integer;
  A r = Kokkos::fma(-n, Numbers::ln2, x);
  if constexpr (std::is_same_v<T, A>) r = Kokkos::fma(-n, Numbers::rest_of_ln2, r) + rest;
  const A power = Kokkos::bit_cast<A>(static_cast<Bits>(Kokkos::bit_cast<Bits>(shifted) << Format::fraction_bits));
  return {power, exp_minus_one_of_fraction<T>(r)};
}

/// 2^(x · factor + shift) for numbers of the 16-bit types, where it is a normal number. Of NaN it is any number.
template <int shift>
KOKKOS_FORCEINLINE_FUNCTION float short_exp2(float x, float factor) {
  using Format = FloatFormat<float>;
  // x · factor = n + r. The last bits of `shifted` are those of n + shift, which goes into the exponent.
  constexpr float round_to_integer = Format::round_to_integer + static_cast<float>(shift);
  constexpr float coefficients[] = {0x1.ffffe8p-1f, 0x1.62e0dcp-1f, 0x1.ec06dp-3f, 0x1.ca14acp-5f, 0x1.3999f8p-7f};
  const float shifted = Kokkos::fma(x, factor, round_to_integer);
  const float power = polynomial(coefficients, Kokkos::fma(x, factor, round_to_integer - shifted));
  return Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(power) +
                                 (Kokkos::bit_cast<std::uint32_t>(shifted) << Format::fraction_bits));
}

/// e^(x + rest) · 2^shift for `least` ≤ x ≤ 0, with the `shift` of ExponentialNumbers: no subnormal number, and so as
/// accurate as others, where e^x would be one; `unshift` times this is e^x. `rest`, which 16-bit types do not need, is
/// at most a rounding error of x.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> shifted_exp_of_bounded(Arithmetic<T> x,
                                                                 [[maybe_unused]] Arithmetic<T> rest = {}) {
  using A = Arithmetic<T>;
  using Numbers = ExponentialNumbers<A>;
  if constexpr (std::is_same_v<T, A>) {
    const auto [power, fraction] = split_exponential<T, Numbers::shift>(x, rest);
    return Kokkos::fma(power, fraction, power);
  } else {
    return short_exp2<Numbers::shift>(x, Numbers::log2_e);
  }
}

/// The same for all x ≤ 0. From `least` on downwards it stays as it is.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> shifted_exp(Arithmetic<T> x) {
  constexpr Arithmetic<T> least = ExponentialNumbers<Arithmetic<T>>::least;
  const Arithmetic<T> result = shifted_exp_of_bounded<T>(x < least ? least : x);
  return sizeof(T) == 2 && x != x ? x : result;  // of NaN a short power is a number
}

/// e^x − 1 for x ≤ 0, as accurate near 0 as elsewhere.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<T> exp_minus_one(Arithmetic<T> x) {
  using A = Arithmetic<T>;
  constexpr A least = A(-64);  // e^least is nothing beside 1
  const auto [power, rest] = split_exponential<T, 0>(x < least ? least : x);
  return Kokkos::fma(power, rest, power - A(1));
}

}  // namespace portops::impl
