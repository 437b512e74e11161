// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/sequence_expand/sequence_expand.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/types/levels_data.hpp"
#include "generated/checks.hpp"
#include "ops/sequence/sequence_expand/sequence_expand_rules.hpp"
#include "ops/sequence/sequence_plans.hpp"
#include "ops/sequence/step_kernels.hpp"

namespace portops {
namespace {

/// The number of y's level.
int checked_level(std::string_view op, const Levels& y, const SequenceExpandParams& params) {
  if (!y) impl::fail("portops::", op, ": y has no levels, expected levels");
  if (params.ref_level < -1 || params.ref_level >= y.depth()) {
    impl::fail("portops::", op, ": ref_level is ", params.ref_level, ", expected -1 to ", y.depth() - 1,
               " (a level of y)");
  }
  return static_cast<int>(params.ref_level);
}

/// How often the sequences are repeated: the offsets of y's level. `sequences`: those of x.
const std::vector<std::int64_t>& check_y(std::string_view op, const Levels& y, std::int64_t sequences,
                                         const SequenceExpandParams& params) {
  const int level = checked_level(op, y, params);
  if (y.items(level) != sequences) {
    impl::fail("portops::", op, ": level ", params.ref_level, " of y has ", y.items(level), " items, expected ",
               sequences, " (the sequences of x)");
  }
  return y.offsets(level);
}

/// Calls visit(the sequence's first row, its rows, times) for the sequences of x in their order.
template <class Visit>
void for_each_sequence(const Levels& x, const std::vector<std::int64_t>& times, const Visit& visit) {
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const std::int64_t first = x ? x.offsets()[i] : row;
    visit(first, x ? x.offsets()[i + 1] - first : 1, times[i + 1] - times[i]);
  }
}

Extents checked_extents(std::string_view op, const RaggedRef& x, const Levels& y, const SequenceExpandParams& params) {
  if (x.values.rank() == 0) {
    impl::fail("portops::", op, ": x has extents [], expected at least one axis, that of the rows");
  }
  if (x.levels.depth() > 1) {
    impl::fail("portops::", op, ": x has ", x.levels.depth(), " levels, expected one or none");
  }
  const auto& times = check_y(op, y, x.levels ? x.levels.items() : x.values.extent(0), params);
  std::int64_t rows = 0;
  for_each_sequence(x.levels, times, [&](std::int64_t, std::int64_t length, std::int64_t count) {
    std::int64_t more = 0;
    if (__builtin_mul_overflow(length, count, &more) || __builtin_add_overflow(rows, more, &rows)) {
      impl::fail("portops::", op, ": 64 bits cannot hold the rows of out");
    }
  });
  return impl::with_rows(x.values.extents(), rows);
}

std::vector<impl::Move> copies(const Levels& x, const std::vector<std::int64_t>& times) {
  std::vector<impl::Move> moves;
  std::int64_t to = 0;
  for_each_sequence(x, times, [&](std::int64_t first, std::int64_t length, std::int64_t count) {
    if (length == 0) return;
    for (std::int64_t k = 0; k < count; ++k, to += length) {
      moves.push_back({.from_outer = 0, .from = first, .to_outer = 0, .to = to, .stride = 1, .rows = length});
    }
  });
  return moves;
}

/// The rows of out that are copies of each row of x.
std::vector<impl::Sequence> copies_of_rows(const Levels& x, const std::vector<std::int64_t>& times) {
  std::vector<impl::Sequence> sequences;
  sequences.reserve(static_cast<std::size_t>(x.rows()));
  std::int64_t at = 0;
  for_each_sequence(x, times, [&](std::int64_t, std::int64_t length, std::int64_t count) {
    for (std::int64_t row = 0; row < length; ++row) sequences.push_back({at + row, length, count});
    at += length * count;
  });
  return sequences;
}

/// The sums' pieces.
std::shared_ptr<const impl::PiecePlan> plan_of_sums(const Levels& x, const Levels& y, int level,
                                                    const impl::StepColumns& columns) {
  if (!x) return impl::joined_pieces(y, columns, level);
  const std::int64_t most = impl::most_joined_rows(columns);
  const auto kind = static_cast<std::int64_t>(impl::PlanKind::expand_grad);
  return y.data()->plan<impl::PiecePlan>({kind, x.data()->id(), level, most}, [&] {
    return impl::make_pieces(copies_of_rows(x, y.offsets(level)), most, impl::PieceOrder::longest_first);
  });
}

impl::StepPool make_sums(const impl::StepLayout& layout, const impl::PiecePlan& plan) {
  return {.plan = plan, .columns = layout.columns, .x = layout.operands[0], .out = layout.operands[1], .index = {}};
}

}  // namespace

namespace impl {

SequenceExpandExtents sequence_expand_extents(std::string_view op, const RaggedRef& x, const Levels& y,
                                              const SequenceExpandParams& params) {
  return {{checked_extents(op, x, y, params), "those of x with each sequence repeated as y says"}};
}

Levels sequence_expand_levels(std::string_view op, const RaggedRef& x, const Levels& y,
                              const SequenceExpandParams& params) {
  checked_extents(op, x, y, params);
  return portops::sequence_expand_levels(x.levels, y, params);
}

}  // namespace impl

Levels sequence_expand_levels(const Levels& x, const Levels& y, const SequenceExpandParams& params) {
  constexpr std::string_view op = "sequence_expand";
  if (!x) return Levels({y.offsets(checked_level(op, y, params))});
  const auto& times = check_y(op, y, x.items(), params);
  std::vector<std::int64_t> offsets{0};
  for_each_sequence(x, times, [&](std::int64_t, std::int64_t length, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) offsets.push_back(offsets.back() + length);
  });
  return Levels({std::move(offsets)});
}

void sequence_expand(const Context& ctx, const RaggedRef& x, const Levels& y, const TensorRef& out,
                     const SequenceExpandParams& params) {
  const impl::Region region("portops::sequence_expand");
  constexpr const char* op = "sequence_expand";
  impl::check_sequence_expand(ctx, x, y, out, params);
  if (out.size() == 0) return;
  const auto level = static_cast<int>(params.ref_level);
  if (x.levels) {
    const auto plan = impl::moves_of(y, impl::PlanKind::expand, {x.levels.data()->id(), level},
                                     [&] { return copies(x.levels, y.offsets(level)); });
    return impl::enqueue_moves(ctx, op, *plan, {x.values, 1}, {out, 1});
  }
  const impl::StepLayout layout = impl::make_step_layout({{x.values, 1}, {out, 1}});
  const auto plan = impl::spread_pieces(y, layout.columns, level);
  const impl::StepSpread spread{
      .plan = *plan, .columns = layout.columns, .from = layout.operands[0], .index = {}, .to = layout.operands[1]};
  impl::dispatch(ctx.backend(), out.type(),
                 [&]<Backend B, class T>() { impl::StepKernels<B, T>::spread(ctx, op, spread); });
}

void sequence_expand_grad(const Context& ctx, const RaggedRef& x, const Levels& y, const TensorRef& out_grad,
                          const TensorRef& x_grad, const SequenceExpandParams& params) {
  const impl::Region region("portops::sequence_expand_grad");
  impl::check_sequence_expand_grad(ctx, x, y, out_grad, x_grad, params);
  if (!x_grad || x_grad.size() == 0) return;
  const impl::StepLayout layout = impl::make_step_layout({{out_grad, 1}, {x_grad, 1}});
  const auto plan = plan_of_sums(x.levels, y, static_cast<int>(params.ref_level), layout.columns);
  const impl::StepPool sums = make_sums(layout, *plan);
  impl::dispatch(ctx.backend(), x_grad.type(),
                 [&]<Backend B, class T>() { impl::StepKernels<B, T>::sum(ctx, "sequence_expand_grad", sums); });
}

std::size_t sequence_expand_grad_workspace(const Context& ctx, const RaggedRef& x, const Levels& y,
                                           const TensorRef& out_grad, const TensorRef& x_grad,
                                           const SequenceExpandParams& params) {
  impl::check_sequence_expand_grad(ctx, x, y, out_grad, x_grad, params);
  if (!x_grad || x_grad.size() == 0) return 0;
  const impl::StepLayout layout = impl::make_step_layout({{out_grad, 1}, {x_grad, 1}});
  const auto plan = plan_of_sums(x.levels, y, static_cast<int>(params.ref_level), layout.columns);
  return impl::step_pool_workspace(make_sums(layout, *plan), x_grad.type());
}

}  // namespace portops
