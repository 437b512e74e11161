// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/sequence_pool/sequence_pool.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/types/levels_data.hpp"
#include "generated/checks.hpp"
#include "ops/sequence/sequence_plans.hpp"
#include "ops/sequence/sequence_pool/sequence_pool_rules.hpp"
#include "ops/sequence/step_kernels.hpp"

#include <array>
#include <optional>

namespace portops {
namespace {

using impl::StepChoice;
using impl::StepScale;

enum class PoolType : std::uint8_t { sum, average, sqrt, max, first, last };

constexpr std::array<std::pair<std::string_view, PoolType>, 6> pool_types{{{"sum", PoolType::sum},
                                                                           {"average", PoolType::average},
                                                                           {"sqrt", PoolType::sqrt},
                                                                           {"max", PoolType::max},
                                                                           {"first", PoolType::first},
                                                                           {"last", PoolType::last}}};

PoolType pool_type(std::string_view op, const SequencePoolParams& params) {
  for (const auto& [name, type] : pool_types) {
    if (params.pooltype == name) return type;
  }
  impl::fail("portops::", op, ": pooltype is '", params.pooltype, "', expected sum, average, sqrt, max, first or last");
}

StepScale scale_of(PoolType type) {
  if (type == PoolType::average) return StepScale::length;
  return type == PoolType::sqrt ? StepScale::sqrt_length : StepScale::none;
}

StepChoice choice_of(PoolType type) {
  switch (type) {
    case PoolType::max: return StepChoice::index;
    case PoolType::first: return StepChoice::first;
    case PoolType::last: return StepChoice::last;
    default: return StepChoice::all;
  }
}

PoolType check_pool(const Context& ctx, const RaggedRef& x, const TensorRef& out, const TensorRef& index,
                    const SequencePoolParams& params) {
  constexpr std::string_view op = "sequence_pool";
  const PoolType type = pool_type(op, params);
  if (params.index) impl::fail("portops::", op, ": params.index is given, but it is an input of the gradient alone");
  if (index && type != PoolType::max) {
    impl::fail("portops::", op, ": index is given, but pooltype is ", params.pooltype, ", expected max");
  }
  impl::check_sequence_pool(ctx, x, out, index, params);
  return type;
}

PoolType check_pool_grad(const Context& ctx, const RaggedRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
                         const SequencePoolParams& params) {
  constexpr std::string_view op = "sequence_pool_grad";
  const PoolType type = pool_type(op, params);
  if (type == PoolType::max && !params.index) {
    impl::fail("portops::", op, ": index is not given, expected what sequence_pool wrote, as pooltype is max");
  }
  impl::check_sequence_pool_grad(ctx, x, out_grad, x_grad, params);
  return type;
}

/// The first or last row of each sequence.
std::vector<impl::Move> edge_moves(const std::vector<std::int64_t>& offsets, bool first) {
  std::vector<impl::Move> moves;
  moves.reserve(offsets.size());
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const bool fills = offsets[i] == offsets[i + 1];
    moves.push_back({.from_outer = fills ? -1 : 0,
                     .from = first ? offsets[i] : offsets[i + 1] - 1,
                     .to_outer = 0,
                     .to = static_cast<std::int64_t>(i),
                     .stride = 1,
                     .rows = 1});
  }
  return moves;
}

void move_edges(const Context& ctx, const RaggedRef& x, const TensorRef& out, bool first, double pad_value) {
  const auto plan = impl::moves_of(x.levels, first ? impl::PlanKind::first_rows : impl::PlanKind::last_rows, {},
                                   [&] { return edge_moves(x.levels.offsets(), first); });
  impl::enqueue_moves(ctx, "sequence_pool", *plan, {x.values, 1}, {out, 1}, pad_value);
}

impl::StepPool make_pool(const impl::StepLayout& layout, const impl::PiecePlan& plan, PoolType type, double pad_value) {
  return {.plan = plan,
          .columns = layout.columns,
          .x = layout.operands[0],
          .out = layout.operands[1],
          .index = layout.operands[2],
          .scale = scale_of(type),
          .pad_value = pad_value};
}

bool is_edge(PoolType type) { return type == PoolType::first || type == PoolType::last; }

}  // namespace

namespace impl {

SequencePoolExtents sequence_pool_extents(std::string_view op, const RaggedRef& x, const SequencePoolParams& params) {
  pool_type(op, params);
  const ExpectedExtents results{with_rows(x.values.extents(), x.levels.items()), "those of x with a row a sequence"};
  return {results, results};
}

Levels sequence_pool_levels(std::string_view, const RaggedRef& x, const SequencePoolParams&) {
  return x.levels.upper();
}

}  // namespace impl

void sequence_pool(const Context& ctx, const RaggedRef& x, const TensorRef& out, const TensorRef& index,
                   const SequencePoolParams& params) {
  const impl::Region region("portops::sequence_pool");
  const PoolType type = check_pool(ctx, x, out, index, params);
  if (out.size() == 0) return;
  if (is_edge(type)) return move_edges(ctx, x, out, type == PoolType::first, params.pad_value);
  const impl::StepLayout layout = impl::make_step_layout({{x.values, 1}, {out, 1}, {index, 1}});
  const auto plan = impl::joined_pieces(x.levels, layout.columns);
  const impl::StepPool pool = make_pool(layout, *plan, type, params.pad_value);
  impl::dispatch(ctx.backend(), x.values.type(), [&]<Backend B, class T>() {
    using Kernels = impl::StepKernels<B, T>;
    type == PoolType::max ? Kernels::max(ctx, "sequence_pool", pool) : Kernels::sum(ctx, "sequence_pool", pool);
  });
}

void sequence_pool_grad(const Context& ctx, const RaggedRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
                        const SequencePoolParams& params) {
  const impl::Region region("portops::sequence_pool_grad");
  const PoolType type = check_pool_grad(ctx, x, out_grad, x_grad, params);
  if (!x_grad || x_grad.size() == 0) return;
  const TensorRef& index = type == PoolType::max ? params.index : TensorRef();
  const impl::StepLayout layout = impl::make_step_layout({{out_grad, 1}, {index, 1}, {x_grad, 1}});
  // An index is read once a piece: long ones.
  const auto plan = type == PoolType::max ? impl::joined_pieces(x.levels, layout.columns)
                                          : impl::spread_pieces(x.levels, layout.columns);
  const impl::StepSpread spread{.plan = *plan,
                                .columns = layout.columns,
                                .from = layout.operands[0],
                                .index = layout.operands[1],
                                .to = layout.operands[2],
                                .scale = scale_of(type),
                                .choice = choice_of(type)};
  impl::dispatch(ctx.backend(), out_grad.type(),
                 [&]<Backend B, class T>() { impl::StepKernels<B, T>::spread(ctx, "sequence_pool_grad", spread); });
}

std::size_t sequence_pool_workspace(const Context& ctx, const RaggedRef& x, const TensorRef& out,
                                    const TensorRef& index, const SequencePoolParams& params) {
  const PoolType type = check_pool(ctx, x, out, index, params);
  if (out.size() == 0 || is_edge(type)) return 0;
  const impl::StepLayout layout = impl::make_step_layout({{x.values, 1}, {out, 1}, {index, 1}});
  const auto plan = impl::joined_pieces(x.levels, layout.columns);
  return impl::step_pool_workspace(make_pool(layout, *plan, type, params.pad_value), x.values.type());
}

}  // namespace portops
