// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

namespace portops::impl {

/// Returns memory to the library's pool, in the order of a stream.
struct ReturnToPool {
  cudaStream_t stream = nullptr;

  /// Errors have nowhere to go: the program may be ending, and CUDA gone.
  void operator()(void* data) const noexcept {
    if (cudaFreeAsync(data, stream) != cudaSuccess) cudaGetLastError();
  }
};
using PoolMemory = std::unique_ptr<void, ReturnToPool>;

/// Memory of a device from the library's pool, taken in the order of a stream. Throws Error, whose message begins with
/// `label`, where there is none, and where CUDA fails for another reason.
PoolMemory take_from_pool(int device, cudaStream_t stream, std::size_t bytes, const char* label);

}  // namespace portops::impl
