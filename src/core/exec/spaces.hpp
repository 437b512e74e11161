// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/kokkos.hpp"

namespace portops::impl {

template <Backend B>
struct SpaceOfBackend;
#if defined(KOKKOS_ENABLE_SERIAL)
template <>
struct SpaceOfBackend<Backend::serial> {
  using type = Kokkos::Serial;
};
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
template <>
struct SpaceOfBackend<Backend::openmp> {
  using type = Kokkos::OpenMP;
};
#endif
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct SpaceOfBackend<Backend::cuda> {
  using type = Kokkos::Cuda;
};
#endif

/// Kokkos' execution space of a backend.
template <Backend B>
using SpaceOf = typename SpaceOfBackend<B>::type;

/// The context's execution-space instance; B must be the context's backend.
template <Backend B>
const SpaceOf<B>& instance(const Context& ctx) {
  return *static_cast<const SpaceOf<B>*>(ctx.instance());
}

}  // namespace portops::impl
