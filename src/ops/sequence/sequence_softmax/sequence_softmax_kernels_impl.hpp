// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/exec/workspace.hpp"
#include "core/lanes/softmax_functions.hpp"
#include "ops/sequence/sequence_softmax/softmax_steps.hpp"

#include <type_traits>

namespace portops::impl {

template <Backend B, class T, class F>
void launch_softmax(const Context& ctx, const std::string& label, const SoftmaxArguments<T, F>& arguments,
                    std::int64_t entries, std::int64_t mean_rows) {
  if constexpr (B == Backend::cuda) {
    launch_by_teams<B>(ctx, label, SoftmaxStepsDown<B, T, F>(arguments, entries, mean_rows));
  } else {
    launch_by_items<B>(ctx, label, SoftmaxStepsHost<T, F>(arguments, entries, mean_rows));
  }
}

/// All pieces; then, where sequences were cut, what these add up to, and their pieces once more.
template <Backend B, class T, class F>
void softmax_steps(const Context& ctx, const std::string& op, const StepSoftmax& softmax) {
  using State = typename F::State;
  const PiecePlan& plan = softmax.plan;
  const std::string prefix = "portops::" + op + "::";
  const std::string temporary_label = prefix + "partials";
  const SoftmaxMemory layout = softmax_memory(softmax, sizeof(State));
  const Temporary temporary(ctx, temporary_label.c_str(), layout.bytes);
  auto* const partials = static_cast<State*>(temporary.data());
  auto* const joined = layout.bytes == 0
                           ? nullptr
                           : reinterpret_cast<State*>(static_cast<std::byte*>(temporary.data()) + layout.joined_at);
  const TableUse<Piece> pieces(ctx, plan.pieces);
  const TableUse<Piece> joins(ctx, plan.joins);
  const TableUse<Piece> cut(ctx, plan.cut);
  SoftmaxArguments<T, F> arguments{pieces.data(), softmax.columns, {}, softmax.out, partials, nullptr};
  for (int k = 0; k < F::inputs; ++k) arguments.in[k] = softmax.in[k];
  launch_softmax<B>(ctx, prefix + "softmax[steps]", arguments, pieces.size(), plan.mean_rows);
  if (plan.partials == 0) return;
  launch_by_items<B>(ctx, prefix + "join[partials]",
                     JoinStates<B, F>{joins.data(), joins.size(), softmax.columns.columns, partials, joined});
  arguments.pieces = cut.data();
  arguments.joined = joined;
  launch_softmax<B>(ctx, prefix + "softmax[cut]", arguments, cut.size(), ceil_div(plan.cut_rows, cut.size()));
}

template <Backend B, class T>
void SequenceSoftmaxKernels<B, T>::softmax(const Context& ctx, const StepSoftmax& softmax) {
  softmax_steps<B, T, Softmax<Arithmetic<T>>>(ctx, "sequence_softmax", softmax);
}

template <Backend B, class T>
void SequenceSoftmaxKernels<B, T>::softmax_grad(const Context& ctx, const StepSoftmax& softmax) {
  softmax_steps<B, T, SoftmaxGrad<Arithmetic<T>>>(ctx, "sequence_softmax_grad", softmax);
}

}  // namespace portops::impl
