// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/config.hpp>
#include <portops/core/context.hpp>

// Products of Kokkos Kernels, which a build may be without.

namespace portops::test {

#if defined(PORTOPS_HAS_KOKKOS_KERNELS)
inline constexpr bool has_kokkos_kernels = true;
#else
inline constexpr bool has_kokkos_kernels = false;
#endif

inline Context with_kokkos_kernels(const Context& ctx) { return Context(ctx).products(Products::kokkos_kernels); }

}  // namespace portops::test
