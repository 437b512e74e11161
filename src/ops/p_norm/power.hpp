// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

// x^p in sums, products and fused multiply-adds in a fixed order, nothing of a mathematical library: the same bits on
// every backend, in loops that are vectorised on hosts. GPUs have instructions for roots, logarithms and powers of two
// in float that are nearly as accurate, and several times faster: where bits need not agree, these are taken.

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

// The polynomials below are the best ones (Remez' algorithm): their relative errors are 4e-9 and 2e-9 for float, 8e-21
// and 4e-18 for double.

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

/// 2^r for |r| ≤ 1/2.
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

#if defined(__CUDA_ARCH__)
/// 1/√x, log2 x and 2^x of normal numbers, within two units in the last place; log2 x near 1 within 2^-22.
KOKKOS_FORCEINLINE_FUNCTION float rough_inverse_root(float x) {
  float result;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
KOKKOS_FORCEINLINE_FUNCTION float rough_log2(float x) {
  float result;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
KOKKOS_FORCEINLINE_FUNCTION float rough_exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
#endif

/// A quotient x / n whose power is multiplied by a weight, such that neither it nor its power need be a number of type
/// A: n and the weight have their exponents apart.
template <class A>
struct PowerOfQuotient {
  A exponent;  ///< n = 2^exponent / inverse
  A inverse;   ///< in (1/2, 1]; 0 if n is Inf
  A mantissa;  ///< the weight is mantissa · scale; as large as 2 or, of a weight that is Inf or NaN, like that
  A scale;     ///< a power of two

  PowerOfQuotient() = default;
  /// For n > 0.
  KOKKOS_FORCEINLINE_FUNCTION PowerOfQuotient(A n, A weight) {
    using Format = FloatFormat<A>;
    const bool subnormal = n < Format::least_normal;
    const A normal = subnormal ? n * Format::subnormal_factor : n;
    const auto e = exponent_of(normal);
    exponent = static_cast<A>(e - (subnormal ? Format::subnormal_shift : 0));
    // By 2^(1 − e), because 2^−e is no normal number where e is the largest exponent.
    inverse = n <= Format::most ? A(1) / (normal * power_of_two<A>(1 - e) * A(0.5)) : A(1) / n;
    const auto of_weight = exponent_of(weight);
    scale = power_of_two<A>(of_weight < Format::bias ? of_weight : Format::bias);
    mantissa = weight / scale;
  }
};

/// x ↦ x^p for x ≥ 0 and p ≠ 0. 0^p is 0 or, for p < 0, Inf; NaN stays NaN.
template <class A>
class Power {
 public:
  Power() = default;
  /// p is kept in two parts: where A is float, p need not be one. Beyond 2^100 every x but 1 gives 0 or Inf.
  explicit Power(long double p) {
    constexpr long double most = 0x1p100L;
    constexpr auto least = static_cast<long double>(FloatFormat<A>::least_normal);
    const long double magnitude = std::clamp(std::abs(p), least, most);
    high_ = static_cast<A>(std::copysign(magnitude, p));
    low_ = static_cast<A>(std::copysign(magnitude, p) - static_cast<long double>(high_));
    // The error of a rough logarithm is multiplied by p, and that of its exponent is relative to it. Subnormal numbers,
    // whose exponents are at most −126, must not pass for what their bits are as normal ones.
    constexpr long double most_rough = 6.0L;
    rough_exponents_ = static_cast<A>(magnitude <= most_rough ? std::min(24.0L, 125.0L * magnitude) : -1.0L);
  }

  /// Within 2e-6. In double, and on hosts, what exactly() gives.
  KOKKOS_FORCEINLINE_FUNCTION A operator()(A x) const {
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<A, float>) {
      using Format = FloatFormat<float>;
      const std::int32_t bits = Kokkos::bit_cast<std::int32_t>(x);
      const std::int32_t exponent = (bits - Format::root_of_half) >> Format::fraction_bits;
      const float m = Kokkos::bit_cast<float>(bits - (exponent << Format::fraction_bits));
      const auto e = static_cast<float>(exponent);
      const float y = Kokkos::fma(high_, e, Kokkos::fma(high_, rough_log2(m), low_ * e));
      if ((Kokkos::abs(y) <= rough_exponents_ || x == 0.0f) && x <= Format::most) {
        return x == 0.0f ? (high_ > 0.0f ? 0.0f : infinity) : rough_exp2(y);
      }
    }
#endif
    return exactly(x);
  }

  /// With a relative error of a few units in the last place, and p times the relative error of log2 x near 1. The same
  /// bits on every backend.
  KOKKOS_FORCEINLINE_FUNCTION A exactly(A x) const {
    using Format = FloatFormat<A>;
    const bool subnormal = x < Format::least_normal;
    const A normal = subnormal ? x * Format::subnormal_factor : x;
    const A result = raise<false>(normal, subnormal ? static_cast<A>(Format::subnormal_shift) : A(0), A(1), A(0));
    const A at_zero = high_ > A(0) ? A(0) : infinity;
    const A at_infinity = high_ > A(0) || x != x ? x : A(0);
    return x == A(0) ? at_zero : x < infinity ? result : at_infinity;
  }

  /// weight · (x / n)^p, with the error that the power of x has, and p times that of a quotient. 0 times the weight for
  /// x = 0, whatever the sign of p.
  KOKKOS_FORCEINLINE_FUNCTION A operator()(A x, const PowerOfQuotient<A>& of) const {
    using Format = FloatFormat<A>;
    const A plain = x * of.inverse;
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<A, float>) {
      if (x == 0.0f || of.inverse == 0.0f) return plain * of.mantissa;
      const std::int32_t bits = Kokkos::bit_cast<std::int32_t>(plain);
      const std::int32_t exponent = (bits - Format::root_of_half) >> Format::fraction_bits;
      const float m = Kokkos::bit_cast<float>(bits - (exponent << Format::fraction_bits));
      const float e = static_cast<float>(exponent) - of.exponent;
      const float y = Kokkos::fma(high_, e, Kokkos::fma(high_, rough_log2(m), low_ * e));
      if (Kokkos::abs(y) <= rough_exponents_ && plain >= Format::least_normal && plain <= Format::most) {
        return (rough_exp2(y) * of.mantissa) * of.scale;
      }
    }
#endif
    // So small a number that its product with the inverse may be subnormal.
    const bool is_small = x < A(4) * Format::least_normal;
    const A normal = is_small ? (x * Format::subnormal_factor) * of.inverse : plain;
    const A less = is_small ? of.exponent + static_cast<A>(Format::subnormal_shift) : of.exponent;
    const A result = raise<true>(normal, less, of.mantissa, static_cast<A>(exponent_of(of.scale)));
    const A at_infinity = high_ > A(0) || normal != normal ? normal : A(0);
    return normal > A(0) && normal < infinity ? result : (normal == A(0) ? A(0) : at_infinity) * of.mantissa;
  }

 private:
  /// (x / 2^less)^p of a normal number and, if it has a weight, times mantissa · 2^more.
  template <bool has_weight>
  KOKKOS_FORCEINLINE_FUNCTION A raise(A x, A less, A mantissa, A more) const {
    using Format = FloatFormat<A>;
    using Bits = typename Format::Bits;
    // x = 2^e · m, with m near 1.
    const Bits bits = Kokkos::bit_cast<Bits>(x);
    const Bits exponent = (bits - Format::root_of_half) >> Format::fraction_bits;
    const A m = Kokkos::bit_cast<A>(static_cast<Bits>(bits - (exponent << Format::fraction_bits)));
    const A e = static_cast<A>(exponent) - less;
    // p · log2 x = n + r, where n is an integer. The large part, p · e, is exact: `main` and `rest` together.
    const A log = log2_near_one(m - A(1));
    const A main = high_ * e;
    const A rest = Kokkos::fma(high_, e, -main) + Kokkos::fma(high_, log, low_ * (e + log));
    constexpr A most = has_weight ? A(0x1p20) : Format::most_exponent;
    const A n = clamp(main + rest, most) + Format::round_to_integer - Format::round_to_integer;
    const A r = clamp((main - n) + rest, A(1));
    // 2^n in two factors, neither of which overflows.
    const Bits power = static_cast<Bits>(has_weight ? clamp(n + more, Format::most_exponent) : n);
    const Bits half = power >> 1;
    const A fraction = has_weight ? exp2_of_fraction(r) * mantissa : exp2_of_fraction(r);
    return fraction * two_to(half) * two_to(power - half);
  }

  KOKKOS_FORCEINLINE_FUNCTION static A clamp(A x, A most) { return x > most ? most : x < -most ? -most : x; }
  KOKKOS_FORCEINLINE_FUNCTION static A two_to(typename FloatFormat<A>::Bits power) {
    using Format = FloatFormat<A>;
    return Kokkos::bit_cast<A>(static_cast<typename Format::Bits>((power + Format::bias) << Format::fraction_bits));
  }

  static constexpr A infinity = std::numeric_limits<A>::infinity();

  A high_ = A(1);
  A low_ = A(0);
  A rough_exponents_ = A(-1);  ///< the most for which a rough power is good enough
};

/// √x for normal x or 0, within two units in the last place; less than 2^-62 for a subnormal one. An exact root takes
/// more instructions than all else that is done to an element.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A rough_root_of_normal(A x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<A, float>) {
    return x * rough_inverse_root(fminf(fmaxf(x, FloatFormat<float>::least_normal), FloatFormat<float>::most));
  }
#endif
  return Kokkos::sqrt(x);
}

/// √x for x ≥ 0, within two units in the last place.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A rough_root(A x) {
  return x >= FloatFormat<A>::least_normal ? rough_root_of_normal(x) : Kokkos::sqrt(x);
}

/// x ↦ x^n, or x^(n + 1/2), for x ≥ 0: products, and a rough root, for which a subnormal x need not be looked at where
/// its product with x vanishes anyway. Without a root, the same bits on every backend.
template <class A, int n, bool and_a_half>
struct SmallPower {
  KOKKOS_FORCEINLINE_FUNCTION A operator()(A x) const {
    A result(1);
    if constexpr (and_a_half) result = n > 0 ? rough_root_of_normal(x) : rough_root(x);
    PORTOPS_UNROLL
    for (int i = 0; i < n; ++i) result *= x;
    return result;
  }
};

}  // namespace portops::impl
