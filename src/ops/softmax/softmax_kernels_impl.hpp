// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/exec/workspace.hpp"
#include "core/lanes/softmax_functions.hpp"
#include "ops/softmax/softmax_along.hpp"
#include "ops/softmax/softmax_down.hpp"
#include "ops/softmax/softmax_host.hpp"
#include "ops/softmax/softmax_kernels.hpp"

#include <string>

namespace portops::impl {

/// The labels of the kernels and temporaries, made once.
struct SoftmaxLabels {
  explicit SoftmaxLabels(const std::string& op)
      : along("portops::" + op + "::softmax[along]"),
        down("portops::" + op + "::softmax[down]"),
        states("portops::" + op + "::softmax[states]"),
        partials("portops::" + op + "::partials") {}

  std::string along;
  std::string down;
  std::string states;
  std::string partials;
};

template <Backend B, class T, class F>
void launch_softmax(const Context& ctx, const std::string& label, const SoftmaxRows<T, F>& rows,
                    const ReducePlan& plan) {
  const auto launch = [&](const auto& kernel) {
    if constexpr (B == Backend::cuda) {
      launch_all_teams<B>(ctx, label, kernel, kernel.teams(), kernel.threads(), kernel.scratch_bytes());
    } else {
      launch_by_items<B>(ctx, label, kernel);
    }
  };
  const bool along = plan.direction == Direction::along;
  if constexpr (B == Backend::cuda) {
    const bool keeps = rows.packs && fits_registers(plan, static_cast<int>(sizeof(T)), F::inputs);
    if (along) {
      keeps ? launch(SoftmaxAlong<B, T, F, true>(rows, plan)) : launch(SoftmaxAlong<B, T, F, false>(rows, plan));
    } else {
      keeps ? launch(SoftmaxDown<B, T, F, true>(rows, plan)) : launch(SoftmaxDown<B, T, F, false>(rows, plan));
    }
  } else {
    along ? launch(SoftmaxAlongHost<T, F>(rows, plan)) : launch(SoftmaxDownHost<T, F>(rows, plan));
  }
}

/// One kernel, or, where rows are cut into parts, one for what these come to and one for the results.
template <Backend B, class T, class F>
void run_softmax(const Context& ctx, const SoftmaxLabels& labels, const ReducePlan& plan, bool streaming) {
  using State = typename F::State;
  constexpr int numbers = sizeof(State) / sizeof(Arithmetic<T>);
  const Temporary memory(ctx, labels.partials.c_str(), softmax_memory(plan, ElementTypeOf<T>::value, numbers));
  SoftmaxRows<T, F> rows(plan, static_cast<State*>(memory.data()));
  rows.streaming = streaming;
  if (plan.parts() > 1) {
    rows.pass = SoftmaxPass::states;
    launch_softmax<B>(ctx, labels.states, rows, plan);
    rows.pass = SoftmaxPass::apply;
  }
  launch_softmax<B>(ctx, plan.direction == Direction::along ? labels.along : labels.down, rows, plan);
}

template <Backend B, class T>
void SoftmaxKernels<B, T>::softmax(const Context& ctx, const ReducePlan& plan, bool streaming) {
  static const SoftmaxLabels labels("softmax");
  run_softmax<B, T, Softmax<Arithmetic<T>>>(ctx, labels, plan, streaming);
}

template <Backend B, class T>
void SoftmaxKernels<B, T>::softmax_grad(const Context& ctx, const ReducePlan& plan, bool streaming) {
  static const SoftmaxLabels labels("softmax_grad");
  run_softmax<B, T, SoftmaxGrad<Arithmetic<T>>>(ctx, labels, plan, streaming);
}

}  // namespace portops::impl
