// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/activations/activation.hpp"
#include "ops/activations/gate.hpp"
#include "ops/activations/silu/silu_kernels.hpp"

namespace portops::impl {

/// x, and x as its own gate. Beyond the bounds a gate is 0 or 1.
template <class T>
struct Silu {
  using A = Arithmetic<T>;
  static constexpr A most = -ExponentialNumbers<A>::least;

  KOKKOS_FORCEINLINE_FUNCTION static A value(A x) {
    const A bounded = x < -most ? -most : x;
    return gated<T>(bounded, bounded);
  }
  KOKKOS_FORCEINLINE_FUNCTION static A gradient(A x, A out_grad) {
    const A bounded = x < -most ? -most : x > most ? most : x;
    return out_grad * slope_of_gated<T>(bounded, A(1), bounded);
  }
};

template <Backend B, class T>
void SiluKernels<B, T>::silu(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("silu");
  map<B, T>(ctx, labels, Activation<Silu<T>>{}, loop);
}

template <Backend B, class T>
void SiluKernels<B, T>::silu_grad(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("silu_grad");
  map<B, T>(ctx, labels, ActivationGrad<Silu<T>>{}, loop);
}

}  // namespace portops::impl
