// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/runtime.hpp"

#include "core/exec/spaces.hpp"
#include "core/types/fail.hpp"
#include "portops/core/config.hpp"

#include <unistd.h>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <utility>

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

/// The runtimes that are alive.
struct Runtimes {
  std::mutex mutex;
  int count = 0;
  pid_t owner = 0;  ///< the process whose Kokkos they have initialised, and have to finalise; else 0
};

/// Never destroyed: static runtimes may end after everything else.
Runtimes& runtimes() {
  static Runtimes& all = *new Runtimes;
  return all;
}

/// Whether there is a Kokkos to finalise. One is left as it is in a fork, where its threads are missing, and where the
/// device has failed: it would end the process.
bool can_finalize(pid_t owner) {
  if (owner != getpid() || !Kokkos::is_initialized()) return false;
#if defined(PORTOPS_HAS_CUDA)
  if (cudaDeviceSynchronize() != cudaSuccess) return false;
#endif
  return true;
}

/// Where the runtimes are done with Kokkos. Outside of the lock, because Kokkos calls hooks of the application's own.
void finalize_once(bool is_done, std::unique_lock<std::mutex> lock) {
  const pid_t owner = is_done ? std::exchange(runtimes().owner, 0) : 0;
  lock.unlock();
  if (owner != 0 && can_finalize(owner)) Kokkos::finalize();
}

/// Runs when the program ends without having destroyed its runtimes, or before it destroys static ones: Kokkos has to
/// end before what it uses itself, which was there before it.
void finalize_at_exit() { finalize_once(true, std::unique_lock(runtimes().mutex)); }

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
    all.owner = getpid();
    std::atexit(finalize_at_exit);
  }
  ++all.count;
}

Runtime::~Runtime() {
  std::unique_lock lock(runtimes().mutex);
  const bool is_last = --runtimes().count == 0;
  finalize_once(is_last, std::move(lock));
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
