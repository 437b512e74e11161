// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sequence_plans.hpp"

#include "core/levels_data.hpp"

namespace portops::impl {

std::shared_ptr<const PiecePlan> pieces_of(const Levels& levels, const StepColumns& columns, int level) {
  const std::int64_t most = most_piece_rows(columns);
  const std::int64_t number = level < 0 ? levels.depth() + level : level;
  return levels.data()->plan<PiecePlan>({static_cast<std::int64_t>(PlanKind::pieces), number, most},
                                        [&] { return make_pieces(levels.offsets(level), most); });
}

std::shared_ptr<const MovePlan> moves_of(const Levels& levels, PlanKind kind, std::vector<std::int64_t> numbers,
                                         const std::function<std::vector<Move>()>& make) {
  numbers.insert(numbers.begin(), static_cast<std::int64_t>(kind));
  return levels.data()->plan<MovePlan>(numbers, [&] { return make_moves(make()); });
}

Extents with_rows(const Extents& extents, std::int64_t rows) {
  Extents result = extents;
  result[0] = rows;
  return result;
}

}  // namespace portops::impl
