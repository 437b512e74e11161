// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <limits>

namespace portops::impl {

/// The maximum of nothing.
template <class A>
inline constexpr A no_maximum = -std::numeric_limits<A>::infinity();

/// Whether `value` takes the place of the maximum so far: the first of several equal ones counts, a NaN is larger than
/// everything, and the last of several NaN counts.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION bool is_larger(A value, A maximum) {
  return value > maximum || value != value;
}

}  // namespace portops::impl
