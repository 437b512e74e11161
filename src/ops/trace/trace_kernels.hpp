// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "ops/trace/diagonal_plan.hpp"

#include <string>

namespace portops::impl {

/// The labels of what fills a tensor, made once.
struct FillLabels {
  explicit FillLabels(const std::string& op)
      : dense("portops::" + op + "::fill[dense]"), elements("portops::" + op + "::fill[elements]") {}

  std::string dense;
  std::string elements;
};

/// The launches of trace and trace_grad on one backend for one element type. Defined in trace_kernels_impl.hpp and
/// compiled once for each pair.
template <Backend B, class T>
struct TraceKernels {
  /// Operands: the diagonals of x → out.
  static void trace(const Context& ctx, const ReducePlan& plan);
  static void fill(const Context& ctx, const FillLabels& labels, const DiagonalPlan& plan);
};

}  // namespace portops::impl
