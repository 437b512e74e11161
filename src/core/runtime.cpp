// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/runtime.hpp"

#include "core/check.hpp"
#include "core/spaces.hpp"
#include "portops/core/config.hpp"

#include <unistd.h>
#include <fstream>

namespace portops {
namespace {

#if defined(PORTOPS_HAS_CUDA)
/// Kokkos ends the process when it finds no device: say so before.
void check_for_device() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return;
  cudaGetLastError();
  impl::fail("portops::Runtime: this build has the backend cuda, but finds no CUDA device (",
             error == cudaSuccess ? "none visible" : cudaGetErrorString(error), ")");
}
#endif

#if defined(PORTOPS_HAS_OPENMP) || defined(PORTOPS_HAS_SERIAL)
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "host processor";
}

std::size_t host_memory_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
}
#endif

}  // namespace

Runtime::Runtime() : owner_(!Kokkos::is_initialized()) {
  if (!owner_) return;
#if defined(PORTOPS_HAS_CUDA)
  check_for_device();
#endif
  Kokkos::initialize();
}

Runtime::~Runtime() {
  if (owner_) Kokkos::finalize();
}

std::vector<Device> devices() {
  std::vector<Device> result;
#if defined(PORTOPS_HAS_CUDA)
  const Kokkos::Cuda cuda;
  const cudaDeviceProp& properties = cuda.cuda_device_prop();
  result.push_back({Backend::cuda, properties.name, cuda.concurrency(), properties.totalGlobalMem});
#endif
#if defined(PORTOPS_HAS_OPENMP)
  result.push_back({Backend::openmp, processor_name(), Kokkos::OpenMP().concurrency(), host_memory_bytes()});
#endif
#if defined(PORTOPS_HAS_SERIAL)
  result.push_back({Backend::serial, processor_name(), 1, host_memory_bytes()});
#endif
  return result;
}

MemorySpace default_memory_space(Backend backend) {
  return backend == Backend::cuda ? MemorySpace::cuda : MemorySpace::host;
}

}  // namespace portops
