// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/cuda/cuda_device.hpp"

#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/spaces.hpp"

namespace portops::impl {

namespace {

/// Kokkos knows the properties of its own first device alone; the driver keeps those of all at hand.
int attribute(const Context& ctx, cudaDeviceAttr which) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, cuda_device(ctx)), "portops", "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

int compute_capability(const Context& ctx) {
  return 10 * attribute(ctx, cudaDevAttrComputeCapabilityMajor) + attribute(ctx, cudaDevAttrComputeCapabilityMinor);
}

int multiprocessors(const Context& ctx) { return attribute(ctx, cudaDevAttrMultiProcessorCount); }

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

LaunchEvent::LaunchEvent(const Context& ctx, const char* label) : active_(Kokkos::Tools::profileLibraryLoaded()) {
  if (!active_) return;
  Kokkos::Tools::beginParallelFor(label, Kokkos::Tools::Experimental::device_id(instance<Backend::cuda>(ctx)), &id_);
}

LaunchEvent::~LaunchEvent() {
  if (active_) Kokkos::Tools::endParallelFor(id_);
}

}  // namespace portops::impl
