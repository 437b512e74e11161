// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/config.hpp"

#if defined(PORTOPS_HAS_CUDA)
#include "core/exec/cuda/cuda_calls.hpp"
#endif

namespace portops::impl {

/// A call of the library, from here to the end of the scope: a Kokkos profiling region, where a tool is loaded. What
/// the call does besides enqueuing on its own stream (allocating, asking, copying) leaves the captures of other host
/// threads alone.
class Region {
 public:
  explicit Region(const char* name);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
#if defined(PORTOPS_HAS_CUDA)
  BesideCaptures beside_;
#endif
  bool active_;
};

}  // namespace portops::impl
