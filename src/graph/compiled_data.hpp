// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/program_call.hpp"
#include "core/exec/tensor.hpp"
#include "graph/join.hpp"
#include "graph/plan.hpp"
#include "graph/program.hpp"

#include <memory>
#include <vector>

namespace portops::graph {

/// What executions share.
struct CompiledData {
  Program program;
  Plan plan;
  std::vector<Tensor> constants;  ///< by values, in the memory of the backend; those that nobody reads are empty
  Backend backend;
  Joins joins = {};
  /// By calls: what those on hosts keep that have a constant weight; null for the others.
  std::vector<std::unique_ptr<impl::Prepared>> prepared = {};
};

}  // namespace portops::graph
