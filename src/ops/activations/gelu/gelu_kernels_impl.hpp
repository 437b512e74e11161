// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/activations/activation.hpp"
#include "ops/activations/gate.hpp"
#include "ops/activations/gelu/gelu_kernels.hpp"
#include "ops/activations/gelu/normal.hpp"

namespace portops::impl {

/// x · Φ(x) = max(x, 0) − |x| · Φ(−|x|), where the second term is small if x is far from 0.
template <class T>
struct Gelu {
  using A = Arithmetic<T>;
  static constexpr A unshift = ExponentialNumbers<A>::unshift;

  KOKKOS_FORCEINLINE_FUNCTION static A value(A x) {
    const A t = bounded_magnitude(x, normal_tail_most<T>);
    return Kokkos::fma(-(t * shifted_normal_tail<T>(t)), unshift, positive_part(x));
  }

  /// Φ(x) + x · φ(x).
  KOKKOS_FORCEINLINE_FUNCTION static A gradient(A x, A out_grad) {
    const A t = bounded_magnitude(x, NormalNumbers<A>::most);
    const A ratio = Kokkos::fma(-t, NormalNumbers<A>::inverse_root_of_2_pi, normal_tail_ratio<T>(t));
    const A tail = shifted_normal_exp<T>(t) * ratio;
    return out_grad * (x < A(0) ? tail * unshift : Kokkos::fma(-tail, unshift, A(1)));
  }

 private:
  /// x, −0 for less. What it is for NaN does not matter.
  KOKKOS_FORCEINLINE_FUNCTION static A positive_part(A x) {
#if defined(__CUDA_ARCH__)
    return Kokkos::fmax(x, A(-0.0));  // one instruction
#else
    return x < A(0) ? A(-0.0) : x;
#endif
  }
  KOKKOS_FORCEINLINE_FUNCTION static A bounded_magnitude(A x, A most) {
    const A magnitude = Kokkos::abs(x);
    return magnitude > most ? most : magnitude;
  }
};

/// x/2 · (1 + tanh(z/2)) = x · σ(z) with z = √(8/π) · (x + 0.044715 x³). Beyond the bounds σ(z) is 0 or 1; |z| is at
/// most 119 at that of the 16-bit types.
template <class T>
struct GeluByTanh {
  using A = Arithmetic<T>;
  static constexpr A most = std::is_same_v<A, double> ? A(24) : std::is_same_v<T, float> ? A(12) : A(11.2);
  static constexpr A linear = static_cast<A>(0x1.9884533d43651p+0);
  static constexpr A cubic = static_cast<A>(0x1.2444f2a4d8b4bp-4);

  KOKKOS_FORCEINLINE_FUNCTION static A value(A x) {
    const A bounded = x < -most ? -most : x;
    return gated<T>(bounded, bounded * Kokkos::fma(cubic, bounded * bounded, linear));
  }

  KOKKOS_FORCEINLINE_FUNCTION static A gradient(A x, A out_grad) {
    const A bounded = x < -most ? -most : x > most ? most : x;
    const A square = bounded * bounded;
    const A z_slope = Kokkos::fma(A(3) * cubic, square, linear);
    return out_grad * slope_of_gated<T>(bounded, z_slope, bounded * Kokkos::fma(cubic, square, linear));
  }
};

template <Backend B, class T>
void GeluKernels<B, T>::gelu(const Context& ctx, const Loop& loop, bool by_tanh) {
  static const MapLabels labels("gelu");
  by_tanh ? map<B, T>(ctx, labels, Activation<GeluByTanh<T>>{}, loop)
          : map<B, T>(ctx, labels, Activation<Gelu<T>>{}, loop);
}

template <Backend B, class T>
void GeluKernels<B, T>::gelu_grad(const Context& ctx, const Loop& loop, bool by_tanh) {
  static const MapLabels labels("gelu_grad");
  by_tanh ? map<B, T>(ctx, labels, ActivationGrad<GeluByTanh<T>>{}, loop)
          : map<B, T>(ctx, labels, ActivationGrad<Gelu<T>>{}, loop);
}

}  // namespace portops::impl
