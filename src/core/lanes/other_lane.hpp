// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

namespace portops::impl {

/// The value of the thread whose place in a warp differs by `distance`, a power of two. All threads of a warp must call
/// it. On hosts a warp is one thread.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A of_other_lane(A value, [[maybe_unused]] int distance) {
#if defined(__CUDA_ARCH__)
  return __shfl_xor_sync(0xffffffffu, value, distance);
#else
  return value;
#endif
}

}  // namespace portops::impl
