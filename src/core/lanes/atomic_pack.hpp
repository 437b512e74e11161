// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"

#include <Kokkos_Core.hpp>

namespace portops::impl {

/// Adds N neighbours in memory atomically, each by itself; four floats at a time where the GPU has an instruction for
/// it. `to` must be aligned to as many bytes as the values take, up to 16.
template <class A, int N>
KOKKOS_FORCEINLINE_FUNCTION void add_atomically(A* to, const A (&values)[N]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (sizeof(A) == 4 && N % 4 == 0) {
    PORTOPS_UNROLL
    for (int i = 0; i < N; i += 4) {
      asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to + i)),
                   "f"(values[i]), "f"(values[i + 1]), "f"(values[i + 2]), "f"(values[i + 3])
                   : "memory");
    }
  } else
#endif
  {
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) Kokkos::atomic_add(to + i, values[i]);
  }
}

}  // namespace portops::impl
