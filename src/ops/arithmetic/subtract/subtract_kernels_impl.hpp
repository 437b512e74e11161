// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map.hpp"
#include "ops/arithmetic/signed_sums.hpp"
#include "ops/arithmetic/subtract/subtract_kernels.hpp"

#include <array>

namespace portops::impl {

struct Subtract {
  static constexpr int inputs = 2;
  static constexpr int outputs = 1;
  static constexpr bool sums = false;
  /// x or y alone, or both: the operands have their places, whichever is broadcast.
  static constexpr std::array inputs_in_packs{InputSet{0}, InputSet{1}, InputSet{0, 1}};

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    out[0] = in[0] - in[1];
  }
};

template <Backend B, class T>
void SubtractKernels<B, T>::subtract(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("subtract");
  map<B, T>(ctx, labels, Subtract{}, loop);
}

template <Backend B, class T>
void SubtractKernels<B, T>::subtract_grad(const Context& ctx, const Loop& loop, bool negated) {
  static const MapLabels labels("subtract_grad");
  if (loop.outputs == 2) return map<B, T>(ctx, labels, SignedSums<1, -1>{}, loop);
  negated ? map<B, T>(ctx, labels, SignedSums<-1>{}, loop) : map<B, T>(ctx, labels, SignedSums<1>{}, loop);
}

template <Backend B, class T>
void SubtractKernels<B, T>::sum_grad(const Context& ctx, const ReducePlan& plan, bool negated) {
  using A = Arithmetic<T>;
  static const ReduceLabels labels("subtract_grad");
  negated ? reduce<B, T>(ctx, labels, NegatedSum<A>{}, Sum<double>{}, plan)
          : reduce<B, T>(ctx, labels, Sum<A>{}, Sum<double>{}, plan);
}

}  // namespace portops::impl
