// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"

// Kernels of one stream that overlap. A kernel that is launched for it starts when all blocks of the one before it have
// ended or let it, and then waits for what it needs; every other one starts when the one before it has ended. On GPUs
// before compute capability 9.0 nothing overlaps.

namespace portops::impl {

/// In a kernel that was launched to overlap the one before it: waits until that has ended, and what it wrote is seen.
PORTOPS_FUNCTION void wait_for_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets a kernel start that is launched to overlap this one, once all blocks have called it.
PORTOPS_FUNCTION void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

}  // namespace portops::impl
