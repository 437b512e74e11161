// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/workspace.hpp"

#include "core/exec/memory_counters.hpp"
#include "core/exec/runtime.hpp"
#include "core/exec/spaces.hpp"
#include "core/types/fail.hpp"

#include <array>
#include <cstdlib>
#include <mutex>

#if defined(KOKKOS_ENABLE_CUDA)
#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_pool.hpp"
#endif

namespace portops::impl {
namespace {

constexpr std::size_t alignment = 256;

[[noreturn]] void fail_for_lack_of_memory(const char* label, std::size_t bytes) {
  fail(label, ": no memory for ", bytes, " bytes");
}

void* allocate_on_host(std::size_t bytes, const char* label) {
  void* data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (data == nullptr) fail_for_lack_of_memory(label, bytes);
  return data;
}

#if defined(KOKKOS_ENABLE_CUDA)
/// One pool a device, which keeps what is returned to it for the next call: cudaMalloc would wait for the device.
/// (Where a device's memory is full, CUDA lets a stream wait for memory that another one is about to return.) The pool
/// is not destroyed.
cudaMemPool_t pool_of_device(int device, const char* label) {
  static std::mutex mutex;
  static std::array<cudaMemPool_t, 64> pools{};
  const std::lock_guard lock(mutex);
  cudaMemPool_t& pool = pools.at(static_cast<std::size_t>(device));
  if (pool != nullptr) return pool;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaMemPool_t made = nullptr;
  check_cuda(cudaMemPoolCreate(&made, &properties), label, "cudaMemPoolCreate");
  std::uint64_t keep_everything = UINT64_MAX;
  check_cuda(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &keep_everything), label,
             "cudaMemPoolSetAttribute");
  return pool = made;
}
#endif

const char* space_name(Backend backend) { return backend == Backend::cuda ? "Cuda" : "Host"; }

}  // namespace

#if defined(KOKKOS_ENABLE_CUDA)
PoolMemory take_from_pool(int device, cudaStream_t stream, std::size_t bytes, const char* label) {
  void* data = nullptr;
  const cudaError_t status = cudaMallocFromPoolAsync(&data, bytes, pool_of_device(device, label), stream);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it is reported here, and must not be found by whoever asks next
    fail_for_lack_of_memory(label, bytes);
  }
  check_cuda(status, label, "cudaMallocFromPoolAsync");
  return PoolMemory(data, {stream});
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
    data_ = take_from_pool(space.cuda_device(), space.cuda_stream(), bytes, label).release();
  } else
#endif
    data_ = allocate_on_host(bytes, label);
  count_taken(default_memory_space(ctx.backend()), bytes);
  if (Kokkos::Tools::profileLibraryLoaded()) {
    Kokkos::Tools::allocateData(Kokkos::Tools::make_space_handle(space_name(ctx.backend())), label, data_, bytes);
  }
}

Temporary::~Temporary() {
  if (data_ == nullptr || lent_) return;
  count_returned(default_memory_space(ctx_.backend()), bytes_);
  if (Kokkos::Tools::profileLibraryLoaded()) {
    Kokkos::Tools::deallocateData(Kokkos::Tools::make_space_handle(space_name(ctx_.backend())), label_, data_, bytes_);
  }
#if defined(KOKKOS_ENABLE_CUDA)
  if (ctx_.backend() == Backend::cuda) {
    const ReturnToPool give_back{instance<Backend::cuda>(ctx_).cuda_stream()};
    give_back(data_);
    return;
  }
#endif
  // A host instance has done its work when its calls return.
  std::free(data_);
}

}  // namespace portops::impl
