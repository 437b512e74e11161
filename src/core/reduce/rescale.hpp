// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/rows.hpp"

// How a sum is taken relative to the element that dominates it, wherever its elements are: see reduce().

namespace portops::impl {

template <class A>
KOKKOS_FORCEINLINE_FUNCTION A magnitude_of(A element) {
  return Kokkos::abs(element);
}
template <class A>
KOKKOS_FORCEINLINE_FUNCTION double magnitude_of(const Partial<A>& part) {
  return static_cast<double>(part.scale);
}

/// What an element, or a part, adds to a sum of that scale.
template <class F, class A>
KOKKOS_FORCEINLINE_FUNCTION A term_of(const F& f, A element, A scale) {
  return f.raise(Kokkos::abs(element) / scale);
}
template <class F, class A>
KOKKOS_FORCEINLINE_FUNCTION double term_of(const F& f, const Partial<A>& part, double scale) {
  const auto own = static_cast<double>(part.scale);
  const auto total = static_cast<double>(part.total);
  return own == scale ? total : total * f.raise(own / scale);
}

/// The sum relative to the element that dominates it. collect(start, join, term) joins term(element) of all elements,
/// or parts, to `start`.
template <class A, class F, class Collect>
KOKKOS_FORCEINLINE_FUNCTION Partial<A> rescaled_sum(const F& f, const Collect& collect) {
  const A scale = collect(f.least_dominant(), f.dominant(), [](const auto& element) { return magnitude_of(element); });
  const A total = collect(f.identity(), f.join(), [&](const auto& element) { return term_of(f, element, scale); });
  return f.rescaled(scale, total);
}

}  // namespace portops::impl
