// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/exponential.hpp"

#include <type_traits>

// The logarithms and powers of two of which power.hpp makes powers.

namespace portops::impl {

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
