// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/kokkos.hpp>

#include <gtest/gtest.h>

#include <string>
#include <tuple>

// What the tests with Kokkos share: suites over the execution spaces of the build.

namespace portops::test {

template <class... T>
testing::Types<T...> types_of(const std::tuple<T...>&);

/// The execution spaces that portops serves.
using Spaces = decltype(types_of(std::tuple_cat(
#if defined(KOKKOS_ENABLE_CUDA)
    std::declval<std::tuple<Kokkos::Cuda>>(),
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
    std::declval<std::tuple<Kokkos::OpenMP>>(),
#endif
#if defined(KOKKOS_ENABLE_SERIAL)
    std::declval<std::tuple<Kokkos::Serial>>(),
#endif
    std::declval<std::tuple<>>())));

/// An instance of its own, other than the default one.
template <class Space>
Space new_instance() {
  return Kokkos::Experimental::partition_space(Space(), 1)[0];
}

/// A number for element i, the same on every run.
inline float pattern(std::int64_t i, int salt = 0) {
  return static_cast<float>((i * 37 + salt * 11) % 101) / 16.0f - 3.0f;
}

}  // namespace portops::test
