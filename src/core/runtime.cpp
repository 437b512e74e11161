// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/runtime.hpp"

#include "core/check.hpp"
#include "core/spaces.hpp"
#include "portops/core/config.hpp"

#include <unistd.h>
#include <cstdlib>
#include <fstream>
#include <mutex>

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

/// The runtimes that are alive, where the first one has initialised Kokkos.
struct Runtimes {
  std::mutex mutex;
  int count = 0;
  bool own_kokkos = false;
};

/// Never destroyed: static runtimes may end after everything else.
Runtimes& runtimes() {
  static Runtimes& all = *new Runtimes;
  return all;
}

/// Kokkos ends the process when a device that it waits for fails: it is then left as it is.
bool can_finalize() {
#if defined(PORTOPS_HAS_CUDA)
  if (cudaDeviceSynchronize() != cudaSuccess) return false;
#endif
  return Kokkos::is_initialized() && !Kokkos::is_finalized();
}

void finalize() {
  runtimes().own_kokkos = false;
  if (can_finalize()) Kokkos::finalize();
}

/// Runs when the program ends without having destroyed its runtimes, or before it destroys static ones: Kokkos has to
/// end before what it uses itself, which was there before it.
void finalize_at_exit() {
  Runtimes& all = runtimes();
  const std::lock_guard lock(all.mutex);
  if (all.own_kokkos) finalize();
}

}  // namespace

Runtime::Runtime() {
  Runtimes& all = runtimes();
  const std::lock_guard lock(all.mutex);
  if (Kokkos::is_finalized()) {
    impl::fail(
        "portops::Runtime: Kokkos has been finalised, which cannot be undone: keep one Runtime for as long as the "
        "process computes");
  }
  if (!Kokkos::is_initialized()) {
#if defined(PORTOPS_HAS_CUDA)
    check_for_device();
#endif
    Kokkos::initialize();
    all.own_kokkos = true;
    std::atexit(finalize_at_exit);
  }
  ++all.count;
}

Runtime::~Runtime() {
  Runtimes& all = runtimes();
  const std::lock_guard lock(all.mutex);
  if (--all.count == 0 && all.own_kokkos) finalize();
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
