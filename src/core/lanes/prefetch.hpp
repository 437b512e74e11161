// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/column_access.hpp"

namespace portops::impl {

/// On a GPU: asks for the 128 bytes around an address, so that who reads them later finds them in the second-level
/// cache.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void prefetch([[maybe_unused]] const T* from) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in_device_memory(from)));
#endif
}

/// The same of the packs that a group of lanes reads of a row, lane by lane: pack `own`, and those so many `step`s on
/// that begin before `end`. One lane asks for what eight packs of 16 bytes take.
template <int batch, class T>
KOKKOS_FORCEINLINE_FUNCTION void prefetch_packs(const T* row, int lane, int own, int step, int end) {
  if (lane % 8 != 0) return;
  PORTOPS_UNROLL
  for (int b = 0; b < batch; ++b) {
    if (own + b * step < end) prefetch(row + own + b * step);
  }
}

}  // namespace portops::impl
