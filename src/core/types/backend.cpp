// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/backend.hpp"

#include "portops/core/config.hpp"

namespace portops {

std::string_view name_of(Backend backend) {
  switch (backend) {
    case Backend::serial: return "serial";
    case Backend::openmp: return "openmp";
    case Backend::cuda: return "cuda";
  }
  return "?";
}

std::vector<Backend> enabled_backends() {
  return {
#if defined(PORTOPS_HAS_CUDA)
      Backend::cuda,
#endif
#if defined(PORTOPS_HAS_OPENMP)
      Backend::openmp,
#endif
#if defined(PORTOPS_HAS_SERIAL)
      Backend::serial,
#endif
  };
}

}  // namespace portops
