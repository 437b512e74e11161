// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/context.hpp"

#include "core/check.hpp"
#include "core/spaces.hpp"
#include "portops/core/config.hpp"

#include <exception>

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

Context::Context(Backend backend, [[maybe_unused]] void* cuda_stream) : backend_(backend) {
  if (!Kokkos::is_initialized()) {
    impl::fail("portops::Context: Kokkos is not initialised, expected a portops::Runtime or Kokkos::ScopeGuard");
  }
  switch (backend) {
#if defined(PORTOPS_HAS_CUDA)
    case Backend::cuda:
      instance_ = cuda_stream == nullptr ? std::make_shared<const Kokkos::Cuda>()
                                         : std::make_shared<const Kokkos::Cuda>(static_cast<cudaStream_t>(cuda_stream));
      return;
#endif
#if defined(PORTOPS_HAS_OPENMP)
    case Backend::openmp: instance_ = std::make_shared<const Kokkos::OpenMP>(); return;
#endif
#if defined(PORTOPS_HAS_SERIAL)
    case Backend::serial: instance_ = std::make_shared<const Kokkos::Serial>(); return;
#endif
    default: break;
  }
  std::string enabled;
  for (const Backend other : enabled_backends()) enabled += (enabled.empty() ? "" : ", ") + std::string(name_of(other));
  impl::fail("portops::Context: this build has no backend ", name_of(backend), ", only ", enabled);
}

void Context::fence() const {
  static const std::string label = "portops::Context::fence";
  try {
    switch (backend_) {
#if defined(PORTOPS_HAS_CUDA)
      case Backend::cuda: impl::instance<Backend::cuda>(*this).fence(label); return;
#endif
#if defined(PORTOPS_HAS_OPENMP)
      case Backend::openmp: impl::instance<Backend::openmp>(*this).fence(label); return;
#endif
#if defined(PORTOPS_HAS_SERIAL)
      case Backend::serial: impl::instance<Backend::serial>(*this).fence(label); return;
#endif
      default: return;
    }
  } catch (const std::exception& error) {
    impl::fail("portops::Context: the device failed: ", error.what());
  }
}

}  // namespace portops
