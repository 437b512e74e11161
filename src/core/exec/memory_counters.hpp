// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/tensor_ref.hpp"

#include <cstddef>

namespace portops::impl {

// Counts the memory that the library takes, for memory_use. Any thread may call these at any time.

void count_taken(MemorySpace space, std::size_t bytes) noexcept;
void count_returned(MemorySpace space, std::size_t bytes) noexcept;

}  // namespace portops::impl
