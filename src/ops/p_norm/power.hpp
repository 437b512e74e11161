// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"
#include "ops/p_norm/logarithms.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

// x^p in sums, products and fused multiply-adds in a fixed order, nothing of a mathematical library: the same bits on
// every backend, in loops that are vectorised on hosts. Where bits need not agree, faster ways are taken that are
// nearly as accurate: GPUs have instructions for roots, logarithms and powers of two in float, and hosts leave out, for
// many numbers at once, what few numbers need.

namespace portops::impl {

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

  /// For a weight of 0.
  KOKKOS_FORCEINLINE_FUNCTION static PowerOfQuotient zero() {
    PowerOfQuotient result;
    result.exponent = result.mantissa = A(0);
#if defined(__CUDA_ARCH__)
    result.inverse = A(0);  // which is looked for there
#else
    result.inverse = A(1);
#endif
    result.scale = A(1);
    return result;
  }

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

  /// Within 2e-6 for orders of up to 6, in double within 1e-13: in a GPU's double, and for larger orders there, what
  /// exactly() gives; on hosts quickly() where that has no doubt.
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
    return exactly(x);
#else
    Doubt doubt = 0;
    const A result = quickly(x, doubt);
    return is_doubtful(doubt) ? exactly(x) : result;
#endif
  }

  /// Bits that are collected over many numbers; the highest of them tells whether some are in doubt.
  using Doubt = std::make_unsigned_t<typename FloatFormat<A>::Bits>;
  KOKKOS_FORCEINLINE_FUNCTION static bool is_doubtful(Doubt doubt) {
    return static_cast<typename FloatFormat<A>::Bits>(doubt) < 0;
  }

  /// On hosts: what operator() gives, or anything, and a doubt, where x is not 0, nor are it and the power normal
  /// numbers. Half the instructions of exactly(), and no branch: for many numbers at once.
  KOKKOS_FORCEINLINE_FUNCTION A quickly(A x, Doubt& doubt) const {
    const bool is_zero = x == A(0);
    const A result = raise_quickly(is_zero ? A(1) : x, A(0), A(1), 0, doubt);
    return is_zero ? (high_ > A(0) ? A(0) : infinity) : result;
  }
  KOKKOS_FORCEINLINE_FUNCTION A quickly(A x, const PowerOfQuotient<A>& of, Doubt& doubt) const {
    const bool is_zero = x == A(0);
    const A plain = x * of.inverse;
    const A result = raise_quickly(is_zero ? A(1) : plain, of.exponent, of.mantissa, exponent_of(of.scale), doubt);
    return is_zero ? plain * of.mantissa : result;
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
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<A, float>) {
      using Format = FloatFormat<float>;
      const float plain = x * of.inverse;
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
    return exactly(x, of);
#else
    Doubt doubt = 0;
    const A result = quickly(x, of, doubt);
    return is_doubtful(doubt) ? exactly(x, of) : result;
#endif
  }

  KOKKOS_FORCEINLINE_FUNCTION A exactly(A x, const PowerOfQuotient<A>& of) const {
    using Format = FloatFormat<A>;
    // So small a number that its product with the inverse may be subnormal.
    const bool is_small = x < A(4) * Format::least_normal;
    const A normal = is_small ? (x * Format::subnormal_factor) * of.inverse : x * of.inverse;
    const A less = is_small ? of.exponent + static_cast<A>(Format::subnormal_shift) : of.exponent;
    const A result = raise<true>(normal, less, of.mantissa, static_cast<A>(exponent_of(of.scale)));
    const A at_infinity = high_ > A(0) || normal != normal ? normal : A(0);
    return normal > A(0) && normal < infinity ? result : (normal == A(0) ? A(0) : at_infinity) * of.mantissa;
  }

 private:
  using Bits = typename FloatFormat<A>::Bits;

  /// (x / 2^less)^p · mantissa · 2^more, as raise() has it, with doubt where x is not a normal number, or the exponent
  /// of the result is not one's.
  KOKKOS_FORCEINLINE_FUNCTION A raise_quickly(A x, A less, A mantissa, Bits more, Doubt& doubt) const {
    using Format = FloatFormat<A>;
    const Bits bits = Kokkos::bit_cast<Bits>(x);
    const Bits exponent = (bits - Format::root_of_half) >> Format::fraction_bits;
    const A m = Kokkos::bit_cast<A>(static_cast<Bits>(bits - (exponent << Format::fraction_bits)));
    const A e = static_cast<A>(exponent) - less;
    // p · log2 x = n + r, where n is an integer: the last bits of `shifted`.
    const A rest = Kokkos::fma(high_, short_log2_near_one(m - A(1)), low_ * e);
    const A shifted = Kokkos::fma(high_, e, rest) + Format::round_to_integer;
    const A r = Kokkos::fma(high_, e, Format::round_to_integer - shifted) + rest;
    const Doubt power = Kokkos::bit_cast<Doubt>(shifted) + static_cast<Doubt>(more) +
                        (static_cast<Doubt>(Format::bias) - Kokkos::bit_cast<Doubt>(Format::round_to_integer));
    const auto of_x = static_cast<Doubt>(bits);
    doubt |= (of_x - Kokkos::bit_cast<Doubt>(Format::least_normal)) | (Kokkos::bit_cast<Doubt>(Format::most) - of_x) |
             (power - 1) | (2 * static_cast<Doubt>(Format::bias) - power);
    return (short_exp2_of_fraction(r) * mantissa) * Kokkos::bit_cast<A>(power << Format::fraction_bits);
  }

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
