// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/activations/activation.hpp"
#include "ops/activations/hard_sigmoid/hard_sigmoid_kernels.hpp"

namespace portops::impl {

template <class T>
struct HardSigmoid {
  using A = Arithmetic<T>;

  A slope, offset;

  // NaN is neither less nor more, and so it stays; its gradient does not.
  KOKKOS_FORCEINLINE_FUNCTION A value(A x) const {
    const A line = Kokkos::fma(slope, x, offset);
    const A raised = line < A(0) ? A(0) : line;
    return raised > A(1) ? A(1) : raised;
  }
  KOKKOS_FORCEINLINE_FUNCTION A gradient(A out, A out_grad) const {
    const A above = out > A(0) ? out_grad * slope : A(0);
    return out < A(1) ? above : A(0);
  }
};

template <Backend B, class T>
void HardSigmoidKernels<B, T>::hard_sigmoid(const Context& ctx, const Loop& loop, double slope, double offset) {
  static const MapLabels labels("hard_sigmoid");
  using A = Arithmetic<T>;
  map<B, T>(ctx, labels, Activation<HardSigmoid<T>>{{static_cast<A>(slope), static_cast<A>(offset)}}, loop);
}

template <Backend B, class T>
void HardSigmoidKernels<B, T>::hard_sigmoid_grad(const Context& ctx, const Loop& loop, double slope) {
  static const MapLabels labels("hard_sigmoid_grad");
  using A = Arithmetic<T>;
  map<B, T>(ctx, labels, ActivationGrad<HardSigmoid<T>>{{static_cast<A>(slope), A(0)}}, loop);
}

}  // namespace portops::impl
