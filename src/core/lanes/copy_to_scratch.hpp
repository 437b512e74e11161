// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

// Copies from memory to a team's scratch that a thread starts, and later waits for. On GPUs before sm_80, and on hosts,
// they are over at once.

namespace portops::impl {

/// Copies 16 bytes, or zeros where there is nothing to copy. Both addresses are multiples of 16.
KOKKOS_FORCEINLINE_FUNCTION void copy_to_scratch(void* to, const void* from, bool exists) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(exists ? 16 : 0)
               : "memory");
#else
  struct alignas(16) Unit {
    std::uint32_t word[4];
  };
  Unit unit = {};
  if (exists) unit = *static_cast<const Unit*>(from);
  *static_cast<Unit*>(to) = unit;
#endif
}

/// Returns when all copies that this thread has started are over. Others see them behind a barrier.
KOKKOS_FORCEINLINE_FUNCTION void wait_for_copies_to_scratch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace portops::impl
