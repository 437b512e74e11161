// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>

namespace portops {

/// What the library has taken of a memory space for Tensor, for variables and for the temporaries of calls. What the
/// host has given back counts no more, also where the device is still to read it. Not counted are lent workspaces, and
/// what is kept with levels and streams.
struct MemoryUse {
  std::size_t bytes;
  std::size_t peak_bytes;  ///< the most since the process began, or since reset_memory_peak
};

PORTOPS_EXPORT MemoryUse memory_use(MemorySpace space);
PORTOPS_EXPORT void reset_memory_peak(MemorySpace space);

}  // namespace portops
