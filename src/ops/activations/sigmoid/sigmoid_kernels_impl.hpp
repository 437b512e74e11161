// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/activations/activation.hpp"
#include "ops/activations/gate.hpp"
#include "ops/activations/sigmoid/sigmoid_kernels.hpp"

namespace portops::impl {

/// By e = e^−|x|: 1 / (1 + e) or, of a negative x, e / (1 + e), which neither overflow nor lose what is small. For the
/// 16-bit types as a gate, which needs no division; at −120 it is less than half of their least numbers.
template <class T>
struct Sigmoid {
  using A = Arithmetic<T>;

  KOKKOS_FORCEINLINE_FUNCTION static A value(A x) {
    if constexpr (std::is_same_v<T, A>) {
      constexpr A unshift = ExponentialNumbers<A>::unshift;
      const A e = shifted_exp<T>(-Kokkos::abs(x));
      const A result = (x < A(0) ? e : A(1)) / Kokkos::fma(e, unshift, A(1));
      return x < A(0) ? result * unshift : result;
    } else {
      const A result = ShortGate(x < -120.0f ? -120.0f : x).sigmoid * ShortGate::unshift;
      return x != x ? x : result;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static A gradient(A out, A out_grad) { return out_grad * (out * (A(1) - out)); }
};

template <Backend B, class T>
void SigmoidKernels<B, T>::sigmoid(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("sigmoid");
  map<B, T>(ctx, labels, Activation<Sigmoid<T>>{}, loop);
}

template <Backend B, class T>
void SigmoidKernels<B, T>::sigmoid_grad(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("sigmoid_grad");
  map<B, T>(ctx, labels, ActivationGrad<Sigmoid<T>>{}, loop);
}

}  // namespace portops::impl
