// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/reduce/reduce.hpp"
#include "core/reduce/sum.hpp"
#include "ops/trace/fill_diagonals.hpp"
#include "ops/trace/trace_kernels.hpp"

namespace portops::impl {

template <Backend B, class T>
void TraceKernels<B, T>::trace(const Context& ctx, const ReducePlan& plan) {
  static const ReduceLabels labels("trace");
  reduce<B, T>(ctx, labels, Sum<Arithmetic<T>>{}, Sum<double>{}, plan);
}

template <Backend B, class T>
void TraceKernels<B, T>::fill(const Context& ctx, const FillLabels& labels, const DiagonalPlan& plan) {
  using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  const std::string& label = plan.is_dense ? labels.dense : labels.elements;
  if constexpr (B != Backend::cuda) {
    launch_by_items<B>(ctx, label, FillDiagonalsHost<Word>(plan));
  } else if (!plan.is_dense) {
    launch_by_items<B>(ctx, label, FillDiagonals<Word>(plan));
  } else if (plan.is_small()) {
    launch_by_teams<B>(ctx, label, FillDenseDiagonals<Word, int>(plan));
  } else {
    launch_by_teams<B>(ctx, label, FillDenseDiagonals<Word, std::int64_t>(plan));
  }
}

}  // namespace portops::impl
