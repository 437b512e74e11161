// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/cuda/cuda_device.hpp"

#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/spaces.hpp"

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

namespace portops::impl {

namespace {

/// Kokkos knows the properties of its own first device alone. Calls ask for them again and again: the first devices are
/// asked once.
template <cudaDeviceAttr which>
int attribute(const Context& ctx) {
  static std::array<std::atomic<int>, 16> known{};  // 0: not yet
  const auto device = static_cast<std::size_t>(cuda_device(ctx));
  if (device < known.size() && known[device] != 0) return known[device];
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, cuda_device(ctx)), "portops", "cudaDeviceGetAttribute");
  if (device < known.size()) known[device] = value;
  return value;
}

}  // namespace

int compute_capability(const Context& ctx) {
  return 10 * attribute<cudaDevAttrComputeCapabilityMajor>(ctx) + attribute<cudaDevAttrComputeCapabilityMinor>(ctx);
}

int multiprocessors(const Context& ctx) { return attribute<cudaDevAttrMultiProcessorCount>(ctx); }

int cuda_device(const Context& ctx) { return instance<Backend::cuda>(ctx).cuda_device(); }

void* cuda_stream(const Context& ctx) { return instance<Backend::cuda>(ctx).cuda_stream(); }

CurrentDevice::CurrentDevice(int device) {
  cudaError_t status = cudaGetDevice(&before_);
  if (status == cudaSuccess && before_ != device) {
    status = cudaSetDevice(device);
    changed_ = status == cudaSuccess;
  }
  check_cuda(status, "portops", "cudaSetDevice");
}

CurrentDevice::~CurrentDevice() {
  if (changed_) cudaSetDevice(before_);
}

void allow_shared_memory(const void* kernel, int bytes, std::string_view label) {
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, int> allowed;
  int device = 0;
  check_cuda(cudaGetDevice(&device), label, "cudaGetDevice");
  const std::lock_guard lock(mutex);
  int& known = allowed[{kernel, device}];
  if (known >= bytes) return;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), label,
             "cudaFuncSetAttribute");
  known = bytes;
}

LaunchEvent::LaunchEvent(const Context& ctx, const char* label) : active_(Kokkos::Tools::profileLibraryLoaded()) {
  if (!active_) return;
  Kokkos::Tools::beginParallelFor(label, Kokkos::Tools::Experimental::device_id(instance<Backend::cuda>(ctx)), &id_);
}

LaunchEvent::~LaunchEvent() {
  if (active_) Kokkos::Tools::endParallelFor(id_);
}

}  // namespace portops::impl
