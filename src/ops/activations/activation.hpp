// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map.hpp"

namespace portops::impl {

// An activation is a struct of two functions on numbers, which are computed for results of element type T:
//
//   static A value(A x)
//   static A gradient(A kept, A out_grad)   from what its gradient takes, x or out
//
// with A = Arithmetic<T>. One with options holds them, and has functions that are not static. These are the functors
// that map() takes.

template <class Function>
struct Activation {
  static constexpr int inputs = 1;
  static constexpr int outputs = 1;
  static constexpr bool sums = false;
  static constexpr bool computes_long = true;
  static constexpr bool branches = true;

  Function function = {};

  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    out[0] = function.value(in[0]);
  }
};

template <class Function>
struct ActivationGrad {
  static constexpr int inputs = 2;
  static constexpr int outputs = 1;
  static constexpr bool sums = false;
  static constexpr bool branches = true;

  Function function = {};

  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    out[0] = function.gradient(in[0], in[1]);
  }
};

}  // namespace portops::impl
