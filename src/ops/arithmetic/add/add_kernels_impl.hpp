// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map.hpp"
#include "core/reduce/reduce.hpp"
#include "ops/arithmetic/add/add_kernels.hpp"
#include "ops/arithmetic/signed_sums.hpp"

namespace portops::impl {

struct Add {
  static constexpr int inputs = 2;
  static constexpr int outputs = 1;
  static constexpr bool sums = false;

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    out[0] = in[0] + in[1];
  }
};

template <Backend B, class T>
void AddKernels<B, T>::add(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("add");
  map<B, T>(ctx, labels, Add{}, loop);
}

template <Backend B, class T>
void AddKernels<B, T>::add_grad(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("add_grad");
  loop.outputs == 1 ? map<B, T>(ctx, labels, SignedSums<1>{}, loop) : map<B, T>(ctx, labels, SignedSums<1, 1>{}, loop);
}

template <Backend B, class T>
void AddKernels<B, T>::sum_grad(const Context& ctx, const ReducePlan& plan) {
  static const ReduceLabels labels("add_grad");
  reduce<B, T>(ctx, labels, Sum<Arithmetic<T>>{}, Sum<double>{}, plan);
}

}  // namespace portops::impl
