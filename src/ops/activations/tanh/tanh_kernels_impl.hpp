// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/exponential.hpp"
#include "core/lanes/reciprocal.hpp"
#include "ops/activations/activation.hpp"
#include "ops/activations/tanh/tanh_kernels.hpp"

namespace portops::impl {

/// By m = e^(−2|x|) − 1: m / (2 + m) with the sign of x.
template <class T>
struct Tanh {
  using A = Arithmetic<T>;

  KOKKOS_FORCEINLINE_FUNCTION static A value(A x) {
    const A m = exp_minus_one<T>(A(-2) * Kokkos::abs(x));
    if constexpr (sizeof(T) == 2) return Kokkos::copysign(m * reciprocal(A(2) + m), x);
    return Kokkos::copysign(m / (A(2) + m), x);
  }
  KOKKOS_FORCEINLINE_FUNCTION static A gradient(A out, A out_grad) { return out_grad * Kokkos::fma(-out, out, A(1)); }
};

template <Backend B, class T>
void TanhKernels<B, T>::tanh(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("tanh");
  map<B, T>(ctx, labels, Activation<Tanh<T>>{}, loop);
}

template <Backend B, class T>
void TanhKernels<B, T>::tanh_grad(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("tanh_grad");
  map<B, T>(ctx, labels, ActivationGrad<Tanh<T>>{}, loop);
}

}  // namespace portops::impl
