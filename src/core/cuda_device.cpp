// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/cuda_device.hpp"

#include "core/check.hpp"
#include "core/spaces.hpp"

namespace portops::impl {

int compute_capability(const Context& ctx) {
  const cudaDeviceProp& properties = instance<Backend::cuda>(ctx).cuda_device_prop();
  return 10 * properties.major + properties.minor;
}

int multiprocessors(const Context& ctx) { return instance<Backend::cuda>(ctx).cuda_device_prop().multiProcessorCount; }

int cuda_device(const Context& ctx) { return instance<Backend::cuda>(ctx).cuda_device(); }

void* cuda_stream(const Context& ctx) { return instance<Backend::cuda>(ctx).cuda_stream(); }

CurrentDevice::CurrentDevice(const Context& ctx) {
  const int device = cuda_device(ctx);
  cudaError_t status = cudaGetDevice(&before_);
  if (status == cudaSuccess && before_ != device) {
    status = cudaSetDevice(device);
    changed_ = status == cudaSuccess;
  }
  if (status != cudaSuccess) fail("portops: device ", device, " cannot be used: ", cudaGetErrorString(status));
}

CurrentDevice::~CurrentDevice() {
  if (changed_) cudaSetDevice(before_);
}

LaunchEvent::LaunchEvent(const Context& ctx, const char* label) : active_(Kokkos::Tools::profileLibraryLoaded()) {
  if (!active_) return;
  Kokkos::Tools::beginParallelFor(label, Kokkos::Tools::Experimental::device_id(instance<Backend::cuda>(ctx)), &id_);
}

LaunchEvent::~LaunchEvent() {
  if (active_) Kokkos::Tools::endParallelFor(id_);
}

}  // namespace portops::impl
