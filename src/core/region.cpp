// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/region.hpp"

#include <Kokkos_Core.hpp>

namespace portops::impl {
namespace {

/// Sets how strictly CUDA keeps this thread from what might disturb a capture, and gives how it did before.
int exchange_capture_mode([[maybe_unused]] int mode) {
#if defined(KOKKOS_ENABLE_CUDA)
  auto exchanged = static_cast<cudaStreamCaptureMode>(mode);
  cudaThreadExchangeStreamCaptureMode(&exchanged);
  return static_cast<int>(exchanged);
#else
  return mode;
#endif
}

#if defined(KOKKOS_ENABLE_CUDA)
constexpr int relaxed = cudaStreamCaptureModeRelaxed;
#else
constexpr int relaxed = 0;
#endif

}  // namespace

Region::Region(const char* name)
    : active_(Kokkos::Tools::profileLibraryLoaded()), capture_mode_(exchange_capture_mode(relaxed)) {
  if (active_) Kokkos::Profiling::pushRegion(name);
}

Region::~Region() {
  if (active_) Kokkos::Profiling::popRegion();
  exchange_capture_mode(capture_mode_);
}

}  // namespace portops::impl
