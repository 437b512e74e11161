// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/spread.hpp"
#include "ops/p_norm/norm.hpp"
#include "ops/p_norm/p_norm_kernels.hpp"

namespace portops::impl {

template <Backend B, class T>
void PNormGradKernels<B, T>::p_norm_grad(const Context& ctx, const ReducePlan& plan, double porder, double epsilon,
                                         bool streaming) {
  static const SpreadLabels labels("p_norm_grad");
  with_order(porder, [&]<NormOrder order>() {
    // Ties at −inf are what ties at inf are.
    constexpr NormOrder form = order == NormOrder::minus_infinite ? NormOrder::infinite : order;
    const NormGrad<Arithmetic<T>, form> f(porder, epsilon);
    spread<B, T>(ctx, labels, f, plan, streaming);
  });
}

}  // namespace portops::impl
