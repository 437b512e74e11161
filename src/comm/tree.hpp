// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/macros.hpp"

#include <cstdint>

// The tree in which items 0, 1, 2, … are added up in a fixed order, whoever has which of them.
//
// A *node* is the sum of the items [first, first + 2^level), where first is a multiple of 2^level; its two halves are
// nodes. What is left in the end, a node for every bit of the number of items, is added from the last one to the first.
// So the sum follows from the items and their number alone. A process with a share of the items adds them up as far as
// they are nodes, and what it then has is sent.

namespace portops::impl {

/// The most levels that a tree of 2^31 items has.
inline constexpr int most_tree_levels = 32;

/// The level of the largest node that begins at `first` and ends at `end` or before.
PORTOPS_FUNCTION constexpr int tree_level(std::int64_t first, std::int64_t end) {
  int level = 0;
  while (((first >> level) & 1) == 0 && first + (std::int64_t{2} << level) <= end) ++level;
  return level;
}

/// How many nodes the items [first, end) come to.
constexpr int tree_nodes(std::int64_t first, std::int64_t end) {
  int nodes = 0;
  for (; first < end; first += std::int64_t{1} << tree_level(first, end)) ++nodes;
  return nodes;
}

}  // namespace portops::impl
