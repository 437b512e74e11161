// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/sum_partials.hpp"
#include "core/reduce/reduce.hpp"
#include "ops/p_norm/norm.hpp"
#include "ops/p_norm/p_norm_kernels.hpp"

namespace portops::impl {

template <Backend B, class T>
void PNormKernels<B, T>::p_norm(const Context& ctx, const ReducePlan& plan, double porder) {
  static const ReduceLabels labels("p_norm");
  with_order(porder, [&]<NormOrder order>() {
    reduce<B, T>(ctx, labels, Norm<Arithmetic<T>, order>(porder), NormJoin(porder), plan);
  });
}

template <Backend B, class T>
void PNormKernels<B, T>::zeros(const Context& ctx, const Loop& loop) {
  static const std::string label = "portops::p_norm::zeros";
  for (const SumPlan& sum : make_empty_sum_plans(loop)) SumPartialsKernels<B, T>::launch(ctx, label, sum, nullptr);
}

}  // namespace portops::impl
