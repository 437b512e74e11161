// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/workspace.hpp"
#include "core/lanes/softmax_functions.hpp"
#include "ops/softmaxes/run_softmax.hpp"
#include "ops/softmaxes/softmax/softmax_kernels.hpp"
#include "ops/softmaxes/softmax_short.hpp"

#include <string>
#include <type_traits>

namespace portops::impl {

template <Backend B, class T, class F>
void run_softmax(const Context& ctx, const SoftmaxLabels& labels, const std::string& short_label,
                 const ReducePlan& plan, bool streaming) {
  using Functor = SoftmaxOfNumbers<F>;
  if constexpr (B == Backend::cuda) {
    if (launch_short_softmax<B>(ctx, short_label, SoftmaxRows<T, Functor>(Functor(), plan, nullptr), plan)) return;
  }
  constexpr int numbers = sizeof(typename F::State) / sizeof(Arithmetic<T>);
  const Temporary memory(ctx, labels.partials.c_str(), softmax_memory(plan, ElementTypeOf<T>::value, numbers));
  run_softmax<B, T>(ctx, labels, Functor(), plan, memory.data(), streaming);
}

template <Backend B, class T>
void SoftmaxKernels<B, T>::softmax(const Context& ctx, const ReducePlan& plan, bool streaming) {
  static const SoftmaxLabels labels("softmax");
  static const std::string short_label = "portops::softmax::softmax[short]";
  // f16 has no numbers as small as those that are flushed.
  run_softmax<B, T, Softmax<Arithmetic<T>, std::is_same_v<T, f16>>>(ctx, labels, short_label, plan, streaming);
}

template <Backend B, class T>
void SoftmaxKernels<B, T>::softmax_grad(const Context& ctx, const ReducePlan& plan, bool streaming) {
  static const SoftmaxLabels labels("softmax_grad");
  static const std::string short_label = "portops::softmax_grad::softmax[short]";
  run_softmax<B, T, SoftmaxGrad<Arithmetic<T>>>(ctx, labels, short_label, plan, streaming);
}

}  // namespace portops::impl
