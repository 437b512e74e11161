// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"

#include <cstdint>
#include <string_view>

// What host code without Kokkos asks of the device of a context whose backend is cuda.

namespace portops::impl {

/// The compute capability: 90 for 9.0.
int compute_capability(const Context& ctx);
int multiprocessors(const Context& ctx);
/// Its number.
int cuda_device(const Context& ctx);
/// The instance's cudaStream_t.
void* cuda_stream(const Context& ctx);

/// Makes a device current while it lives: a host thread starts with the first one. Throws Error where that fails.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  explicit CurrentDevice(const Context& ctx) : CurrentDevice(cuda_device(ctx)) {}
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

/// Lets a kernel, a __global__ function, have so many bytes of dynamic shared memory on the current device: what it was
/// allowed before stays. Throws Error where the device has less.
void allow_shared_memory(const void* kernel, int bytes, std::string_view label);

/// Tells Kokkos' tools of a kernel that is launched without Kokkos while this lives.
class LaunchEvent {
 public:
  LaunchEvent(const Context& ctx, const char* label);
  ~LaunchEvent();
  LaunchEvent(const LaunchEvent&) = delete;
  LaunchEvent& operator=(const LaunchEvent&) = delete;

 private:
  std::uint64_t id_ = 0;
  bool active_;
};

}  // namespace portops::impl
