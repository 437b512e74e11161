// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/workspace.hpp"

#include "core/check.hpp"
#include "core/spaces.hpp"

#include <array>
#include <cstdlib>
#include <mutex>

#if defined(KOKKOS_ENABLE_CUDA)
#include "core/cuda_pool.hpp"
#endif

namespace portops::impl {
namespace {

constexpr std::size_t alignment = 256;

void* allocate_on_host(std::size_t bytes) {
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

#if defined(KOKKOS_ENABLE_CUDA)
/// One pool a device, which keeps what is returned to it for the next call: cudaMalloc would wait for the device.
cudaMemPool_t pool_of_device(int device) {
  static std::mutex mutex;
  static std::array<cudaMemPool_t, 64> pools{};
  const std::lock_guard lock(mutex);
  cudaMemPool_t& pool = pools.at(static_cast<std::size_t>(device));
  if (pool == nullptr) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    if (cudaMemPoolCreate(&pool, &properties) != cudaSuccess) {
      pool = nullptr;
      return nullptr;
    }
    std::uint64_t keep_everything = UINT64_MAX;
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_everything);
  }
  return pool;
}

#endif

const char* space_name(Backend backend) { return backend == Backend::cuda ? "Cuda" : "Host"; }

}  // namespace

#if defined(KOKKOS_ENABLE_CUDA)
void* allocate_in_pool(int device, cudaStream_t stream, std::size_t bytes) {
  const cudaMemPool_t pool = pool_of_device(device);
  void* data = nullptr;
  if (pool == nullptr || cudaMallocFromPoolAsync(&data, bytes, pool, stream) != cudaSuccess) {
    cudaGetLastError();  // the caller reports it, and it must not be found by whoever asks next
    return nullptr;
  }
  return data;
}
#endif

Temporary::Temporary(const Context& ctx, const char* label, std::size_t bytes)
    : ctx_(ctx), label_(label), bytes_(bytes) {
  if (bytes == 0) return;
  const Workspace workspace = ctx.workspace();
  if (workspace.data != nullptr) {
    if (workspace.bytes < bytes) {
      fail(label, ": the workspace has ", workspace.bytes, " bytes, expected at least ", bytes);
    }
    if (reinterpret_cast<std::uintptr_t>(workspace.data) % alignment != 0) {
      fail(label, ": the workspace at ", workspace.data, " is not aligned, expected a multiple of ", alignment);
    }
    data_ = workspace.data;
    lent_ = true;
    return;
  }
#if defined(KOKKOS_ENABLE_CUDA)
  if (ctx.backend() == Backend::cuda) {
    const Kokkos::Cuda& space = instance<Backend::cuda>(ctx);
    data_ = allocate_in_pool(space.cuda_device(), space.cuda_stream(), bytes);
  } else
#endif
    data_ = allocate_on_host(bytes);
  if (data_ == nullptr) fail(label, ": no memory for a workspace of ", bytes, " bytes");
  if (Kokkos::Tools::profileLibraryLoaded()) {
    Kokkos::Tools::allocateData(Kokkos::Tools::make_space_handle(space_name(ctx.backend())), label, data_, bytes);
  }
}

Temporary::~Temporary() {
  if (data_ == nullptr || lent_) return;
  if (Kokkos::Tools::profileLibraryLoaded()) {
    Kokkos::Tools::deallocateData(Kokkos::Tools::make_space_handle(space_name(ctx_.backend())), label_, data_, bytes_);
  }
#if defined(KOKKOS_ENABLE_CUDA)
  if (ctx_.backend() == Backend::cuda) {
    cudaFreeAsync(data_, instance<Backend::cuda>(ctx_).cuda_stream());
    return;
  }
#endif
  // A host instance has done its work when its calls return.
  std::free(data_);
}

}  // namespace portops::impl
