// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/sequence_reverse/sequence_reverse.hpp"

#include "core/exec/region.hpp"
#include "core/types/levels_data.hpp"
#include "generated/checks.hpp"
#include "ops/sequence/sequence_plans.hpp"

namespace portops {
namespace {

void reverse_rows(const Context& ctx, const char* op, const Levels& levels, const TensorRef& from,
                  const TensorRef& to) {
  if (to.size() == 0) return;
  const auto plan = impl::moves_of(levels, impl::PlanKind::reverse, {}, [&] {
    const auto& offsets = levels.offsets();
    std::vector<impl::Move> moves;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      moves.push_back({.from_outer = 0,
                       .from = offsets[i + 1] - 1,
                       .to_outer = 0,
                       .to = offsets[i],
                       .stride = -1,
                       .rows = offsets[i + 1] - offsets[i]});
    }
    return moves;
  });
  impl::enqueue_moves(ctx, op, *plan, {from, 1}, {to, 1});
}

}  // namespace

void sequence_reverse(const Context& ctx, const RaggedRef& x, const TensorRef& out) {
  const impl::Region region("portops::sequence_reverse");
  constexpr const char* op = "sequence_reverse";
  impl::check_sequence_reverse(ctx, x, out);
  reverse_rows(ctx, op, x.levels, x.values, out);
}

void sequence_reverse_grad(const Context& ctx, const RaggedRef& x, const TensorRef& out_grad, const TensorRef& x_grad) {
  const impl::Region region("portops::sequence_reverse_grad");
  constexpr const char* op = "sequence_reverse_grad";
  impl::check_sequence_reverse_grad(ctx, x, out_grad, x_grad);
  if (x_grad) reverse_rows(ctx, op, x.levels, out_grad, x_grad);
}

}  // namespace portops
