// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

namespace portops::impl {

/// The sum of `value` over groups of `lanes` neighbouring threads of a team (a power of two, at most a warp), by a tree
/// of fixed shape; every thread gets it. All threads of the team must call it. On hosts a group is one thread.
template <class A>
KOKKOS_INLINE_FUNCTION A sum_over_lanes(A value, [[maybe_unused]] int lanes) {
#if defined(__CUDA_ARCH__)
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
#endif
  return value;
}

/// The sum of an array, by a tree.
template <int N, class A>
KOKKOS_INLINE_FUNCTION A sum_of(const A (&values)[N]) {
  if constexpr (N == 1) {
    return values[0];
  } else {
    A half[N / 2];
    for (int i = 0; i < N / 2; ++i) half[i] = values[i] + values[i + N / 2];
    return sum_of<N / 2>(half);
  }
}

}  // namespace portops::impl
