// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/activations/activation.hpp"
#include "ops/activations/relu/relu_kernels.hpp"

namespace portops::impl {

template <class T>
struct Relu {
  using A = Arithmetic<T>;

  // NaN is no less than 0, and so it stays, as its gradient does.
  KOKKOS_FORCEINLINE_FUNCTION static A value(A x) { return x < A(0) ? A(0) : x; }
  KOKKOS_FORCEINLINE_FUNCTION static A gradient(A out, A out_grad) { return out <= A(0) ? A(0) : out_grad; }
};

template <Backend B, class T>
void ReluKernels<B, T>::relu(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("relu");
  map<B, T>(ctx, labels, Activation<Relu<T>>{}, loop);
}

template <Backend B, class T>
void ReluKernels<B, T>::relu_grad(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("relu_grad");
  map<B, T>(ctx, labels, ActivationGrad<Relu<T>>{}, loop);
}

}  // namespace portops::impl
