// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/autograd/variable.hpp"
#include "portops/core/context.hpp"

#include <cstdint>
#include <vector>

namespace portops::impl {

/// What a process has of the gradients of a parameter: the nodes of the tree over the micro-batches (tree.hpp) that it
/// can make of those it has computed so far.
class PartialSums {
 public:
  /// Of the next micro-batch, number `at`. The first ones of a step begin with `clear()`.
  void add(const Context& ctx, std::int64_t at, autograd::Variable gradient);
  void clear() { nodes_.clear(); }

  std::size_t size() const { return nodes_.size(); }
  const autograd::Variable& operator[](std::size_t node) const { return nodes_[node].sum; }

 private:
  struct Node {
    std::int64_t first;
    int level;
    autograd::Variable sum;
  };
  std::vector<Node> nodes_;
};

}  // namespace portops::impl
