// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/workspace.hpp"
#include "core/lanes/softmax_functions.hpp"
#include "ops/softmaxes/run_softmax.hpp"
#include "ops/softmaxes/softmax/softmax_kernels.hpp"

#include <type_traits>

namespace portops::impl {

template <Backend B, class T, class F>
void run_softmax(const Context& ctx, const SoftmaxLabels& labels, const ReducePlan& plan, bool streaming) {
  using Functor = SoftmaxOfNumbers<F>;
  constexpr int numbers = sizeof(typename F::State) / sizeof(Arithmetic<T>);
  const Temporary memory(ctx, labels.partials.c_str(), softmax_memory(plan, ElementTypeOf<T>::value, numbers));
  run_softmax<B, T>(ctx, labels, Functor(), plan, memory.data(), streaming);
}

template <Backend B, class T>
void SoftmaxKernels<B, T>::softmax(const Context& ctx, const ReducePlan& plan, bool streaming) {
  static const SoftmaxLabels labels("softmax");
  // f16 has no numbers as small as those that are flushed.
  run_softmax<B, T, Softmax<Arithmetic<T>, std::is_same_v<T, f16>>>(ctx, labels, plan, streaming);
}

template <Backend B, class T>
void SoftmaxKernels<B, T>::softmax_grad(const Context& ctx, const ReducePlan& plan, bool streaming) {
  static const SoftmaxLabels labels("softmax_grad");
  run_softmax<B, T, SoftmaxGrad<Arithmetic<T>>>(ctx, labels, plan, streaming);
}

}  // namespace portops::impl
