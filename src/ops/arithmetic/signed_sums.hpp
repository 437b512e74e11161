// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/sum.hpp"

namespace portops::impl {

/// Gradients that are out_grad, or sums of it, each with a sign: 1 or −1. A single one has a functor of its own: an
/// output that is not wanted would cost registers and a question a step.
template <int... signs>
struct SignedSums {
  static constexpr int inputs = 1;
  static constexpr int outputs = sizeof...(signs);
  static constexpr bool sums = true;

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    int k = 0;
    ((out[k++] = signs > 0 ? in[0] : -in[0]), ...);
  }
};

/// The sum with its sign changed, as a reduction: its elements are subtracted. What it leaves to be joined is added.
template <class A>
struct NegatedSum : Sum<A> {
  KOKKOS_FORCEINLINE_FUNCTION A add(A sum, A x) const { return sum - x; }
};

}  // namespace portops::impl
