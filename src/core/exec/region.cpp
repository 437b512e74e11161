// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/region.hpp"

#include <Kokkos_Core.hpp>

namespace portops::impl {

Region::Region(const char* name) : active_(Kokkos::Tools::profileLibraryLoaded()) {
  if (active_) Kokkos::Profiling::pushRegion(name);
}

Region::~Region() {
  if (active_) Kokkos::Profiling::popRegion();
}

}  // namespace portops::impl
