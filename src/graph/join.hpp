// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/backend.hpp"
#include "core/types/bounds.hpp"
#include "graph/join_maxima.hpp"
#include "graph/plan.hpp"
#include "graph/program.hpp"

#include <cstddef>
#include <vector>

namespace portops::graph {

/// Steps of a plan of which the first one, a convolution or a batch norm, makes what the last one would: `result` is
/// its own result plus `addend` (if there is one), within bounds. Of those in between nothing is enqueued.
struct JoinedSteps {
  std::size_t first, last;
  ValueId result;
  ValueId addend = {};
  impl::Bounds bounds = {};
};

/// Steps of which the gradient of a batch norm makes what the gradient of relu, before it, would: it reads the out_grad
/// of that, and tells from x what relu passed.
struct ReluGradient {
  std::size_t relu_grad, norm_grad;
  ValueId out_grad;
  ValueId bias = {};  ///< of the batch norm, if any
};

struct Joins {
  /// Batch norms with the relu, and on hosts convolutions with the addition and the relu or clip, that come next and
  /// alone read what they are computed from. So nothing is read or written in between, and the result may be written at
  /// once, unless it lies where the first one reads.
  std::vector<JoinedSteps> steps = {};
  /// On GPUs where nothing else reads what the first one makes, and what the batch norm had is still there. So a tensor
  /// is neither read nor written twice.
  std::vector<ReluGradient> relu_gradients = {};
  /// On GPUs, batch norms of whose results maxima alone are taken.
  std::vector<JoinedMaxima> maxima = {};
};

/// No step is in two of them.
Joins find_joins(const Program& program, const Plan& plan, Backend backend);

}  // namespace portops::graph
