// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/padded_rows.hpp"

#include "ops/sequence/sequence_plans.hpp"

#include <algorithm>

namespace portops::impl {

std::int64_t longest_sequence(const Levels& levels) {
  std::int64_t longest = 0;
  const auto& offsets = levels.offsets();
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
  return longest;
}

std::shared_ptr<const MovePlan> moves_to_padded(const Levels& levels, std::int64_t padded) {
  return moves_of(levels, PlanKind::pad, {padded}, [&] {
    const auto& offsets = levels.offsets();
    std::vector<Move> moves;
    moves.reserve(2 * offsets.size());
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      const auto sequence = static_cast<std::int64_t>(i);
      const std::int64_t length = offsets[i + 1] - offsets[i];
      moves.push_back(
          {.from_outer = 0, .from = offsets[i], .to_outer = sequence, .to = 0, .stride = 1, .rows = length});
      moves.push_back(
          {.from_outer = -1, .from = 0, .to_outer = sequence, .to = length, .stride = 0, .rows = padded - length});
    }
    return moves;
  });
}

std::shared_ptr<const MovePlan> moves_from_padded(const Levels& levels) {
  return moves_of(levels, PlanKind::unpad, {}, [&] {
    const auto& offsets = levels.offsets();
    std::vector<Move> moves;
    moves.reserve(offsets.size());
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      moves.push_back({.from_outer = static_cast<std::int64_t>(i),
                       .from = 0,
                       .to_outer = 0,
                       .to = offsets[i],
                       .stride = 1,
                       .rows = offsets[i + 1] - offsets[i]});
    }
    return moves;
  });
}

}  // namespace portops::impl
