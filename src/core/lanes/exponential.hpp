// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

// Powers of 2 and of e, without a mathematical library where a loop over them is to become vectors.

namespace portops::impl {

/// Horner's scheme, from coefficient i on. No loop: one inside of a loop would keep that from becoming vectors.
template <int i = 0, class A, int N>
KOKKOS_FORCEINLINE_FUNCTION A polynomial(const A (&coefficients)[N], A x) {
  if constexpr (i == N - 1) {
    return coefficients[i];
  } else {
    return Kokkos::fma(polynomial<i + 1>(coefficients, x), x, coefficients[i]);
  }
}

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
  // Beyond, the result is 0 or Inf. A comparison with NaN is false, and NaN stays.
  constexpr A lowest = is_double ? A(-746) : A(-104), highest = is_double ? A(710) : A(89);
  x = x < lowest ? lowest : x;
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
  return exp2_of_fraction(r) * power(half) * power(other_half);
}

/// e^x: on GPUs by their own instructions.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A exponential(A x) {
#if defined(__CUDA_ARCH__)
  return Kokkos::exp(x);
#else
  return exponential_by_polynomial(x);
#endif
}

}  // namespace portops::impl
