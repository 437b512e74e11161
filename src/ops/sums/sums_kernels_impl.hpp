// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map.hpp"
#include "core/reduce/reduce.hpp"
#include "core/reduce/sum.hpp"
#include "ops/sums/sums_kernels.hpp"

namespace portops::impl {

/// A sum that is divided at its end.
template <class A>
struct DividedSum : Sum<A> {
  explicit DividedSum(double by) : divisor(static_cast<A>(by)) {}

  KOKKOS_FORCEINLINE_FUNCTION A finish(const Partial<A>& value) const { return value.total / divisor; }

  A divisor;
};

/// A number divided.
template <class A>
struct Divide {
  static constexpr int inputs = 1;
  static constexpr int outputs = 1;
  static constexpr bool sums = false;
  /// Where the axes that were summed are the last or the first ones, a walk stores one pack again and again.
  static constexpr std::array inputs_in_packs{InputSet{}, InputSet{0}};

  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const { out[0] = in[0] / divisor; }

  A divisor;
};

template <Backend B, class T>
void SumsKernels<B, T>::reduce(const Context& ctx, SumOp op, const ReducePlan& plan, double divisor) {
  static const ReduceLabels of_sum("sum"), of_mean("mean");
  impl::reduce<B, T>(ctx, op == SumOp::sum ? of_sum : of_mean, DividedSum<Arithmetic<T>>(divisor),
                     DividedSum<double>(divisor), plan);
}

template <Backend B, class T>
void SumsKernels<B, T>::divide(const Context& ctx, SumOp op, const Loop& loop, double divisor) {
  static const MapLabels of_sum("sum_grad"), of_mean("mean_grad");
  map<B, T>(ctx, op == SumOp::sum ? of_sum : of_mean, Divide<Arithmetic<T>>{static_cast<Arithmetic<T>>(divisor)}, loop);
}

}  // namespace portops::impl
