// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/context.hpp"

#include "core/exec/spaces.hpp"
#include "core/types/fail.hpp"
#include "portops/core/config.hpp"

#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>

#if defined(PORTOPS_HAS_CUDA)
#include "core/exec/cuda/cuda_calls.hpp"
#endif

namespace portops {

namespace {

constexpr const char* fence_label = "portops::Context::fence";

#if defined(PORTOPS_HAS_CUDA)
/// For a stream Kokkos allocates, and frees at the end: what other host threads capture is not to suffer from it.
std::shared_ptr<const Kokkos::Cuda> make_cuda_instance(cudaStream_t stream) {
  if (stream == nullptr) return std::make_shared<const Kokkos::Cuda>();
  static std::mutex mutex;  // Kokkos keeps lists of devices, and does not lock them
  const std::lock_guard lock(mutex);
  const impl::BesideCaptures beside;
  try {
    return {new const Kokkos::Cuda(stream), [](const Kokkos::Cuda* instance) {
              const impl::BesideCaptures beside_theirs;
              delete instance;
            }};
  } catch (const std::exception& error) {
    impl::fail("portops::Context: Kokkos makes no instance of the stream: ", error.what());
  }
}

/// Kokkos' own fence ends the process where the device has failed.
void fence_cuda(const Kokkos::Cuda& space) {
  const impl::BesideCaptures beside;
  std::uint64_t id = 0;
  const bool is_watched = Kokkos::Tools::profileLibraryLoaded();
  if (is_watched) Kokkos::Tools::beginFence(fence_label, Kokkos::Tools::Experimental::device_id(space), &id);
  const cudaError_t status = cudaStreamSynchronize(space.cuda_stream());
  if (is_watched) Kokkos::Tools::endFence(id);
  impl::check_cuda(status, fence_label, "cudaStreamSynchronize");
}

#endif

/// The value of an environment variable, empty where it is not set.
std::string_view value_of(const char* variable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): once a process
  return value != nullptr ? value : "";
}

/// A value of an environment variable, and what it stands for.
template <class Option>
struct NamedOption {
  std::string_view name;
  Option option;
};

/// What the variable's value stands for; not set, or empty, it has the first one.
template <class Option>
Option option_of(const char* variable, std::initializer_list<NamedOption<Option>> options) {
  const std::string_view value = value_of(variable);
  if (value.empty()) return options.begin()->option;
  std::string expected;
  for (const auto& [name, option] : options) {
    if (value == name) return option;
    expected += (expected.empty() ? "" : name == (options.end() - 1)->name ? " or " : ", ") + std::string(name);
  }
  impl::fail("portops::Context: the environment variable ", variable, " is '", value, "', expected ", expected);
}

}  // namespace

std::string_view name_of(Products products) {
  switch (products) {
    case Products::automatic: return "automatic";
    case Products::own: return "own";
    case Products::kokkos_kernels: return "kokkos_kernels";
  }
  return "?";
}

const ContextDefaults& context_defaults() {
  static const ContextDefaults defaults{
      option_of<bool>("PORTOPS_DETERMINISTIC", {{"0", false}, {"1", true}}),
      option_of<Math>("PORTOPS_MATH", {{"ieee", Math::ieee}, {"tf32", Math::tf32}}),
      option_of<Products>(
          "PORTOPS_PRODUCTS",
          {{"automatic", Products::automatic}, {"own", Products::own}, {"kokkos_kernels", Products::kokkos_kernels}})};
  return defaults;
}

Context::Context(Backend backend, [[maybe_unused]] void* cuda_stream) : backend_(backend) {
  if (!Kokkos::is_initialized()) {
    impl::fail("portops::Context: Kokkos is not initialised, expected a portops::Runtime or Kokkos::ScopeGuard");
  }
  switch (backend) {
#if defined(PORTOPS_HAS_CUDA)
    case Backend::cuda: instance_ = make_cuda_instance(static_cast<cudaStream_t>(cuda_stream)); return;
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
  switch (backend_) {
#if defined(PORTOPS_HAS_CUDA)
    case Backend::cuda: return fence_cuda(impl::instance<Backend::cuda>(*this));
#endif
#if defined(PORTOPS_HAS_OPENMP)
    case Backend::openmp: return impl::instance<Backend::openmp>(*this).fence(fence_label);
#endif
#if defined(PORTOPS_HAS_SERIAL)
    case Backend::serial: return impl::instance<Backend::serial>(*this).fence(fence_label);
#endif
    default: return;
  }
}

}  // namespace portops
