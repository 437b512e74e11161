// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <string>
#include <vector>

namespace portops {

/// Initialises Kokkos, unless the application has done so already, and finalises it with the last Runtime that is
/// destroyed or, at the latest, when the program ends: by exit(), by the end of main, by a static object. For
/// applications that do not use Kokkos themselves; an application that does keeps its own Kokkos::ScopeGuard and needs
/// none of this. May be made and destroyed by any thread. What stands on Kokkos (contexts of streams, Views) has to end
/// before, and no thread may be in a call then.
class Runtime {
 public:
  /// Throws Error where the library was built for CUDA and finds no CUDA device: Kokkos cannot start without one, not
  /// even for its host backends. Throws Error after Kokkos has been finalised, because it cannot start again.
  PORTOPS_EXPORT Runtime();
  PORTOPS_EXPORT ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
};

/// A device that this process can run on.
struct Device {
  Backend backend;
  std::string name;          ///< of the processor or GPU
  int concurrency;           ///< threads that run at once
  std::size_t memory_bytes;  ///< of the memory that the backend's tensors lie in
};

/// The devices of all enabled backends. Needs an initialised runtime.
PORTOPS_EXPORT std::vector<Device> devices();

/// The memory space in which a backend's tensors lie by default.
PORTOPS_EXPORT MemorySpace default_memory_space(Backend backend);

}  // namespace portops
