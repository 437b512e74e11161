// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/reduce.hpp"

namespace portops::impl {

/// A plain sum as a reduction; see reduce().
template <class A>
struct Sum {
  static constexpr bool rescales = false;
  static constexpr bool is_quick = false;

  KOKKOS_FORCEINLINE_FUNCTION A identity() const { return A(0); }
  KOKKOS_FORCEINLINE_FUNCTION A fill() const { return A(0); }
  KOKKOS_FORCEINLINE_FUNCTION A add(A sum, A x) const { return sum + x; }
  KOKKOS_FORCEINLINE_FUNCTION Plus join() const { return {}; }
  KOKKOS_FORCEINLINE_FUNCTION A finish(const Partial<A>& value) const { return value.total; }
};

}  // namespace portops::impl
