// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/activations/activation.hpp"
#include "ops/activations/hard_swish/hard_swish_kernels.hpp"

namespace portops::impl {

/// NaN is neither less nor more, and so it stays.
template <class T>
struct HardSwish {
  using A = Arithmetic<T>;

  KOKKOS_FORCEINLINE_FUNCTION static A value(A x) {
    const A between = x * (x + A(3)) * A(1.0 / 6.0);
    const A above = x <= A(-3) ? A(-0.0) : between;
    return x >= A(3) ? x : above;
  }
  KOKKOS_FORCEINLINE_FUNCTION static A gradient(A x, A out_grad) {
    const A between = out_grad * Kokkos::fma(x, A(1.0 / 3.0), A(0.5));
    const A above = x <= A(-3) ? A(0) : between;
    return x >= A(3) ? out_grad : above;
  }
};

template <Backend B, class T>
void HardSwishKernels<B, T>::hard_swish(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("hard_swish");
  map<B, T>(ctx, labels, Activation<HardSwish<T>>{}, loop);
}

template <Backend B, class T>
void HardSwishKernels<B, T>::hard_swish_grad(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("hard_swish_grad");
  map<B, T>(ctx, labels, ActivationGrad<HardSwish<T>>{}, loop);
}

}  // namespace portops::impl
