// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/lanes.hpp"
#include "core/lanes/softmax_functions.hpp"
#include "ops/softmaxes/softmax_rows.hpp"

// Rows that threads have in registers, as numbers.
//
//   exists(i)    whether the thread has one of the numbers from i on
//   join(a, f)   joins the a of all threads of the row by f; all threads call it

namespace portops::impl {

/// So many numbers are taken in, or written, together.
inline constexpr int softmax_some = 8;

/// The state of a functor that sums terms: the numbers, F::fill() where there are none, become the terms.
template <class F, int count, class A, class Exists, class Join>
KOKKOS_FORCEINLINE_FUNCTION typename F::State sum_of_terms(A (&numbers)[count], const Exists& exists,
                                                           const Join& join) {
  constexpr int some = softmax_some < count ? softmax_some : count;
  static_assert(F::sums_terms && count % some == 0);
  A largest = F::fill();
  PORTOPS_UNROLL
  for (int first = 0; first < count; first += some) {
    if (!exists(first)) continue;
    A own[some];
    PORTOPS_UNROLL
    for (int i = 0; i < some; ++i) own[i] = numbers[first + i];
    largest = Larger()(largest, join_array(own, Larger()));
  }
  largest = join(largest, Larger());
  const A shift = F::shift(largest);
  A sum = A(0);
  PORTOPS_UNROLL
  for (int first = 0; first < count; first += some) {
    if (!exists(first)) continue;
    A own[some];
    PORTOPS_UNROLL
    for (int i = 0; i < some; ++i) own[i] = numbers[first + i] = F::term(numbers[first + i], shift);
    sum += sum_of(own);
  }
  return {largest, join(sum, Plus())};
}

/// Softmax: the numbers become the results.
template <class F, int count, class A, class Exists, class Join>
KOKKOS_FORCEINLINE_FUNCTION void softmax_of_numbers(A (&numbers)[count], const Exists& exists, const Join& join) {
  static_assert(F::has_terms);
  const A factor = F::row(sum_of_terms<F>(numbers, exists, join)).factor;
  PORTOPS_UNROLL
  for (int i = 0; i < count; ++i) numbers[i] *= factor;
}

/// Any functor as SoftmaxOfNumbers: the numbers of the first input become elements of out, or the row is finished.
///
/// numbers        those of all inputs, F::fill(k) where there are none
/// number_of(i)   which element of the row number i is
/// has_room       whether the thread may have far fewer numbers than there is room for: those others are not computed
/// asked          what f.ask() has read, where the thread finishes the row
/// finishes       whether it does, where nothing is written
template <bool has_room, class F, int count, class A, class Exists, class NumberOf, class Join>
KOKKOS_FORCEINLINE_FUNCTION void take_numbers(const F& f, const SoftmaxRow& of_row, A (&numbers)[F::inputs][count],
                                              const Exists& exists, const NumberOf& number_of, const Join& join,
                                              const typename F::Asked& asked, bool finishes) {
  if constexpr (F::has_terms) {
    softmax_of_numbers<F>(numbers[0], exists, join);
  } else {
    typename F::State state = F::identity();
    if constexpr (F::sums_terms) {
      state = sum_of_terms<F>(numbers[0], exists, join);
    } else if constexpr (F::collects) {
      constexpr int some = softmax_some < count ? softmax_some : count;
      static_assert(count % some == 0);
      PORTOPS_UNROLL
      for (int first = 0; first < count; first += some) {
        if (!exists(first)) continue;
        A own[F::inputs][some];
        PORTOPS_UNROLL
        for (int k = 0; k < F::inputs; ++k) {
          PORTOPS_UNROLL
          for (int i = 0; i < some; ++i) own[k][i] = numbers[k][first + i];
        }
        f.add(state, own);
      }
      state = F::joined(state, join);
    }
    if constexpr (F::writes) {
      const typename F::Row row = f.row(state, of_row);
      PORTOPS_UNROLL
      for (int i = 0; i < count; ++i) {
        if (has_room && i % softmax_some == 0 && !exists(i)) break;
        A own[F::inputs];
        PORTOPS_UNROLL
        for (int k = 0; k < F::inputs; ++k) own[k] = numbers[k][i];
        numbers[0][i] = f(row, own, number_of(i));
      }
    } else if (finishes) {
      f.finish(state, of_row, asked);
    }
  }
}

}  // namespace portops::impl
