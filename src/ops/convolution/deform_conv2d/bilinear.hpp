// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/pack.hpp"
#include "ops/convolution/deform_conv2d/sample.hpp"

#include <Kokkos_Core.hpp>

// The samples of deform_conv2d, as the kernels that it shares with others take them.

namespace portops::impl {

/// Positions and weights are computed in the type that sums have.
template <class T>
using SamplerOf = Sampler<T, Arithmetic<T>>;

/// What a sample outside of the image is.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A nothing_of(const Sample<A>& sample) {
  return sample.factor * (sample.is_nan ? Kokkos::Experimental::quiet_NaN_v<A> : A(0));
}

/// The weights of the corners, times the mask's factor.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION void factored_weights(const Sample<A>& sample, A (&weight)[corners]) {
  sample.weights(weight);
  PORTOPS_UNROLL
  for (A& w : weight) w *= sample.factor;
}

}  // namespace portops::impl
