// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace portops::impl {

/// 1 / x for 2^-100 ≤ x ≤ 2^100 and for NaN, rounded as a division is: the same bits on every backend. A GPU's division
/// asks first whether its quick way serves: these instructions are that way alone.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A reciprocal(A x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<A, float>) {
    float rough;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(rough) : "f"(x));
    return Kokkos::fma(rough, Kokkos::fma(-x, rough, 1.0f), rough);
  }
#endif
  return A(1) / x;
}

}  // namespace portops::impl
