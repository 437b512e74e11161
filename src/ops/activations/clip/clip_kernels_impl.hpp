// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/activations/activation.hpp"
#include "ops/activations/clip/clip_kernels.hpp"

namespace portops::impl {

template <class T>
struct Clip {
  using A = Arithmetic<T>;

  A min, max;

  /// Rounds the bounds to T, so that an x may equal them.
  Clip(double min_of_x, double max_of_x)
      : min(static_cast<A>(static_cast<T>(min_of_x))), max(static_cast<A>(static_cast<T>(max_of_x))) {}

  // NaN is neither less nor more, and so it stays; its gradient does not.
  KOKKOS_FORCEINLINE_FUNCTION A value(A x) const {
    const A raised = x < min ? min : x;
    return raised > max ? max : raised;
  }
  KOKKOS_FORCEINLINE_FUNCTION A gradient(A x, A out_grad) const {
    const A above = x >= min ? out_grad : A(0);
    return x <= max ? above : A(0);
  }
};

template <Backend B, class T>
void ClipKernels<B, T>::clip(const Context& ctx, const Loop& loop, double min, double max) {
  static const MapLabels labels("clip");
  map<B, T>(ctx, labels, Activation<Clip<T>>{Clip<T>(min, max)}, loop);
}

template <Backend B, class T>
void ClipKernels<B, T>::clip_grad(const Context& ctx, const Loop& loop, double min, double max) {
  static const MapLabels labels("clip_grad");
  map<B, T>(ctx, labels, ActivationGrad<Clip<T>>{Clip<T>(min, max)}, loop);
}

}  // namespace portops::impl
