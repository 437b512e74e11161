// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace portops::impl {

/// Memory of a device from the library's pool, taken in the order of a stream; null where there is none. It is returned
/// by cudaFreeAsync.
void* allocate_in_pool(int device, cudaStream_t stream, std::size_t bytes);

}  // namespace portops::impl
