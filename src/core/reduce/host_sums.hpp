// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/lanes.hpp"
#include "core/lanes/pack.hpp"

#include <algorithm>

// Sums on hosts, where one thread has those of all threads of a GPU's group.

namespace portops::impl {

/// Adds as many elements to sums, one to each.
template <int count, class F, class A, class T>
void add_elements(const F& f, A* sums, const T* elements) {
  if constexpr (std::is_same_v<T, f16>) {
    constexpr int vector = F::is_quick ? count : std::min(count, host::f16_conversion_width);
    for (int i = 0; i < count; i += vector) {
      A values[vector];
      host::convert<T, vector>(values, elements + i, vector);
      add_elements<vector>(f, sums + i, values);
    }
  } else if constexpr (F::is_quick) {
    A terms[count];
    typename F::Doubt doubt = 0;
    PORTOPS_NO_UNROLL
    for (int i = 0; i < count; ++i) terms[i] = f.term_quickly(static_cast<A>(elements[i]), doubt);
    if (F::is_doubtful(doubt)) {
      PORTOPS_NO_UNROLL
      for (int i = 0; i < count; ++i) terms[i] = f.term(static_cast<A>(elements[i]));
    }
    PORTOPS_NO_UNROLL
    for (int i = 0; i < count; ++i) sums[i] += terms[i];
  } else {
    PORTOPS_NO_UNROLL
    for (int i = 0; i < count; ++i) sums[i] = f.add(sums[i], static_cast<A>(elements[i]));
  }
}

/// Whether add_first_elements() serves.
template <class F, class T>
inline constexpr bool adds_first_elements = !std::is_same_v<T, f16> && !F::is_quick;

/// The same for the first `count` elements; to the other sums `fill` is added. No block of all of them lies in memory:
/// what is written to one in parts cannot be read at once without a wait.
template <int width, class F, class A, class T>
void add_first_elements(const F& f, A* sums, const T* elements, int count, T fill) {
  PORTOPS_NO_UNROLL
  for (int i = 0; i < width; ++i) sums[i] = f.add(sums[i], static_cast<A>(i < count ? elements[i] : fill));
}

/// Joins the sums of lanes that have `pack` each: the numbers of each pack as join_array does, for all lanes together,
/// and then the lanes.
template <int pack, int width, class A, class Join>
A join_lanes(const A (&sums)[width], const Join& join) {
  if constexpr (pack == 1) {
    return join_array(sums, join);
  } else {
    constexpr int half = pack / 2;
    A joined[width / 2];
    PORTOPS_NO_UNROLL
    for (int lane = 0; lane < width / pack; ++lane) {
      for (int i = 0; i < half; ++i) {
        joined[lane * half + i] = join(sums[lane * pack + i], sums[lane * pack + half + i]);
      }
    }
    return join_lanes<half>(joined, join);
  }
}

}  // namespace portops::impl
