// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/workspace.hpp"
#include "ops/softmaxes/cross_entropy_with_softmax/cross_entropy.hpp"
#include "ops/softmaxes/cross_entropy_with_softmax/cross_entropy_with_softmax_kernels.hpp"
#include "ops/softmaxes/run_softmax.hpp"

namespace portops::impl {

template <Backend B, class T>
void CrossEntropyWithSoftmaxGradKernels<B, T>::run(const Context& ctx, const CrossEntropyPlan& plan) {
  static const SoftmaxLabels labels("cross_entropy_with_softmax_grad", "grad");
  if (!plan.soft) {
    return run_softmax<B, T>(ctx, labels, CrossEntropyGrad<T, false>(plan), plan.rows, nullptr, plan.streaming);
  }
  const Temporary memory(ctx, labels.partials.c_str(), softmax_memory(plan.rows, ElementTypeOf<T>::value, 1));
  run_softmax<B, T>(ctx, labels, CrossEntropyGrad<T, true>(plan), plan.rows, memory.data(), plan.streaming);
}

}  // namespace portops::impl
