// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/partial_sums.hpp"

#include "portops/ops/add.hpp"

#include <utility>

namespace portops::impl {

void PartialSums::add(const Context& ctx, std::int64_t at, autograd::Variable gradient) {
  Node node{at, 0, std::move(gradient)};
  const auto is_other_half = [&] {
    return !nodes_.empty() && nodes_.back().level == node.level && ((node.first >> node.level) & 1) != 0;
  };
  while (is_other_half()) {
    // In memory of its own: the application may hold a gradient.
    const TensorRef& x = nodes_.back().sum.tensor();
    autograd::Variable sum(ctx, x.type(), x.extents());
    portops::add(ctx, x, node.sum.tensor(), sum.tensor());
    node = {nodes_.back().first, node.level + 1, std::move(sum)};
    nodes_.pop_back();
  }
  nodes_.push_back(std::move(node));
}

}  // namespace portops::impl
