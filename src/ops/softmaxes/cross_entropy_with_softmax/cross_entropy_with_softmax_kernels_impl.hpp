// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/workspace.hpp"
#include "ops/softmaxes/cross_entropy_with_softmax/add_losses.hpp"
#include "ops/softmaxes/cross_entropy_with_softmax/cross_entropy.hpp"
#include "ops/softmaxes/cross_entropy_with_softmax/cross_entropy_with_softmax_kernels.hpp"
#include "ops/softmaxes/run_softmax.hpp"

#include <algorithm>

namespace portops::impl {

template <Backend B, class Kernel>
void launch_add_losses(const Context& ctx, const std::string& label, const Kernel& kernel) {
  if constexpr (B == Backend::cuda) {
    launch_by_teams<B>(ctx, label, kernel);
  } else {
    launch_by_items<B>(ctx, label, kernel);
  }
}

template <Backend B, class T>
void CrossEntropyWithSoftmaxKernels<B, T>::run(const Context& ctx, const CrossEntropyPlan& plan) {
  using A = Arithmetic<T>;
  static const SoftmaxLabels labels("cross_entropy_with_softmax", "loss");
  static const std::string sum_label = "portops::cross_entropy_with_softmax::sum[losses]";
  const CrossEntropyMemory layout(plan, ElementTypeOf<T>::value);
  const Temporary memory(ctx, labels.partials.c_str(), layout.bytes);
  auto* const from = static_cast<std::byte*>(memory.data());
  const bool adds = plan.sum != nullptr || plan.count != nullptr;
  auto* const losses = adds ? reinterpret_cast<RowLoss<A>*>(from + layout.losses) : nullptr;
  const std::int64_t rows = plan.rows.results();
  if (rows > 0) {
    const auto run = [&](const auto& f) { run_softmax<B, T>(ctx, labels, f, plan.rows, from + layout.states, false); };
    plan.soft ? run(CrossEntropy<T, true>(plan, losses)) : run(CrossEntropy<T, false>(plan, losses));
  }
  if (!adds) return;
  const std::int64_t rows_of_part = rows_of_loss_sum(rows), parts = ceil_div(rows, rows_of_part);
  LossSum* const sums = parts > 1 ? reinterpret_cast<LossSum*>(from + layout.sums) : nullptr;
  launch_add_losses<B>(ctx, sum_label, AddLosses<B, T, RowLoss<A>>(plan, losses, rows, rows_of_part, sums));
  if (parts > 1) {
    launch_add_losses<B>(ctx, sum_label, AddLosses<B, T, LossSum>(plan, sums, parts, parts, nullptr));
  }
}

}  // namespace portops::impl
