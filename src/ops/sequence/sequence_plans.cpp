// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/sequence_plans.hpp"

#include "core/exec/dispatch.hpp"
#include "core/types/levels_data.hpp"
#include "ops/sequence/step_kernels.hpp"

namespace portops::impl {

namespace {

std::shared_ptr<const PiecePlan> pieces_of(const Levels& levels, PlanKind kind, std::int64_t most_rows, int level,
                                           PieceOrder order) {
  const std::int64_t number = level < 0 ? levels.depth() + level : level;
  return levels.data()->plan<PiecePlan>({static_cast<std::int64_t>(kind), number, most_rows},
                                        [&] { return make_pieces(levels.offsets(level), most_rows, order); });
}

}  // namespace

std::shared_ptr<const PiecePlan> joined_pieces(const Levels& levels, const StepColumns& columns, int level) {
  return pieces_of(levels, PlanKind::joined, most_joined_rows(columns), level, PieceOrder::longest_first);
}

std::shared_ptr<const PiecePlan> spread_pieces(const Levels& levels, const StepColumns& columns, int level) {
  return pieces_of(levels, PlanKind::spread, most_spread_rows(columns), level, PieceOrder::as_they_lie);
}

std::shared_ptr<const MovePlan> moves_of(const Levels& levels, PlanKind kind, std::vector<std::int64_t> numbers,
                                         const std::function<std::vector<Move>()>& make) {
  numbers.insert(numbers.begin(), static_cast<std::int64_t>(kind));
  return levels.data()->plan<MovePlan>(numbers, [&] { return make_moves(make()); });
}

void enqueue_moves(const Context& ctx, const char* op, const MovePlan& plan, const StepTensor& from,
                   const StepTensor& to, double fill) {
  const StepLayout layout = make_step_layout({from, to});
  if (plan.moves.size() == 0 || layout.columns.columns == 0) return;
  const StepMove move{
      .plan = plan, .columns = layout.columns, .from = layout.operands[0], .to = layout.operands[1], .fill = fill};
  dispatch(ctx.backend(), to.tensor.type(), [&]<Backend B, class T>() { StepKernels<B, T>::move(ctx, op, move); });
}

Extents with_rows(const Extents& extents, std::int64_t rows) {
  Extents result = extents;
  result[0] = rows;
  return result;
}

}  // namespace portops::impl
