// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/plan_facts.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace portops::graph {

/// Steps of a plan of which a batch norm makes what the maxima of windows of its result (pool2d), and a relu before or
/// behind these, would; and its gradient what the gradients of these would. Of the others nothing is enqueued.
struct JoinedMaxima {
  struct Gradient {
    std::size_t first, norm_grad;
    ValueId out_grad;   ///< what the first one reads
    ValueId bias = {};  ///< of the batch norm, where relu is behind it, if any
  };

  std::size_t norm, last;
  ValueId result;  ///< of the last one
  /// Of the pool: the memory in which the batch norm leaves for its gradient where maxima were. None without one.
  ValueId index = {};
  int side = 0;  ///< of the windows, 2 or 3; two pixels apart, side − 2 of which lie in the padding in front
  bool has_relu = false;
  std::optional<Gradient> gradient = {};
};

/// Those whose images all lie in the arena, with their channels last and in whole packs, and which nobody else reads:
/// neither what is left out in between, nor an index without a gradient that is joined, too.
std::vector<JoinedMaxima> find_joined_maxima(const PlanFacts& facts);

}  // namespace portops::graph
