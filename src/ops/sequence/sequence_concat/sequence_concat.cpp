// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/sequence_concat/sequence_concat.hpp"

#include "core/exec/region.hpp"
#include "core/types/levels_data.hpp"
#include "generated/checks.hpp"
#include "ops/sequence/sequence_concat/sequence_concat_rules.hpp"
#include "ops/sequence/sequence_plans.hpp"

#include <algorithm>
#include <deque>
#include <string>

namespace portops {
namespace {

std::string name_of_input(std::size_t k) { return impl::name_in_list("x", k); }

bool fit_together(const Levels& a, const Levels& b) {
  if (a.depth() != b.depth() || a.items() != b.items()) return false;
  for (int level = 0; level + 1 < a.depth(); ++level) {
    if (a.offsets(level) != b.offsets(level)) return false;
  }
  return true;
}

void check_levels_together(std::string_view op, std::span<const RaggedRef> x) {
  if (x.empty()) impl::fail("portops::", op, ": x is an empty list, expected at least one tensor");
  for (std::size_t k = 0; k < x.size(); ++k) {
    impl::check_levels(op, name_of_input(k), x[k]);
    if (fit_together(x[k].levels, x[0].levels)) continue;
    impl::fail("portops::", op, ": ", name_of_input(k), " has levels ", x[k].levels.to_string(),
               ", expected as many sequences, and levels above them, as x[0] has: ", x[0].levels.to_string());
  }
}

void add_rows(std::string_view op, std::int64_t more, std::int64_t& rows) {
  if (__builtin_add_overflow(rows, more, &rows)) {
    impl::fail("portops::", op, ": 64 bits cannot hold the rows of out");
  }
}

/// The extents of out.
Extents checked_extents(std::string_view op, std::span<const RaggedRef> x) {
  check_levels_together(op, x);
  std::int64_t rows = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const Extents& extents = x[k].values.extents();
    const Extents expected = extents.rank() == 0 ? extents : impl::with_rows(x[0].values.extents(), extents[0]);
    impl::check_extents(op, {name_of_input(k), x[k].values}, expected, "those of x[0], but for the rows");
    add_rows(op, extents[0], rows);
  }
  return impl::with_rows(x[0].values.extents(), rows);
}

/// Where the sequences of the k-th tensor lie in out.
std::vector<std::int64_t> places(std::span<const RaggedRef> x, std::size_t k) {
  std::vector<std::int64_t> result;
  const auto sequences = static_cast<std::size_t>(x[0].levels.items());
  for (std::size_t i = 0; i < sequences; ++i) {
    std::int64_t place = 0;
    for (std::size_t j = 0; j < x.size(); ++j) place += x[j].levels.offsets()[i + (j < k ? 1 : 0)];
    result.push_back(place);
  }
  return result;
}

/// The moves of each tensor.
struct ConcatPlan {
  std::vector<impl::MovePlan> of_input;

  bool is_in_graph() const {
    return std::any_of(of_input.begin(), of_input.end(), [](const auto& plan) { return plan.is_in_graph(); });
  }
};

/// The moves of the k-th tensor: to out, or back.
impl::MovePlan make_moves_of_input(std::span<const RaggedRef> x, std::size_t k, bool back) {
  const auto& offsets = x[k].levels.offsets();
  const auto at = places(x, k);
  std::vector<impl::Move> moves;
  for (std::size_t i = 0; i < at.size(); ++i) {
    moves.push_back({.from_outer = 0,
                     .from = back ? at[i] : offsets[i],
                     .to_outer = 0,
                     .to = back ? offsets[i] : at[i],
                     .stride = 1,
                     .rows = offsets[i + 1] - offsets[i]});
  }
  return impl::make_moves(moves);
}

std::shared_ptr<const ConcatPlan> plan_of(std::span<const RaggedRef> x, bool back) {
  impl::LevelsData::Key key{static_cast<std::int64_t>(impl::PlanKind::concat), back ? 1 : 0};
  for (const RaggedRef& input : x) key.push_back(input.levels.data()->id());
  return x[0].levels.data()->plan<ConcatPlan>(key, [&] {
    ConcatPlan plan;
    for (std::size_t k = 0; k < x.size(); ++k) plan.of_input.push_back(make_moves_of_input(x, k, back));
    return plan;
  });
}

/// The tables of the tensors that are wanted, and the memory that they may take, before the first kernel.
class ConcatTables {
 public:
  template <class IsWanted>
  ConcatTables(const Context& ctx, const ConcatPlan& plan, const IsWanted& is_wanted) {
    for (std::size_t k = 0; k < plan.of_input.size(); ++k) {
      if (is_wanted(k)) uses_.emplace_back(ctx, plan.of_input[k].moves);
    }
  }

 private:
  std::deque<impl::TableUse<impl::Move>> uses_;
};

}  // namespace

namespace impl {

SequenceConcatExtents sequence_concat_extents(std::string_view op, std::span<const RaggedRef> x) {
  return {{checked_extents(op, x), "those of x[0] with the rows of all"}};
}

Levels sequence_concat_levels(std::string_view, std::span<const RaggedRef> x) {
  return portops::sequence_concat_levels(x);
}

}  // namespace impl

Levels sequence_concat_levels(std::span<const RaggedRef> x) {
  constexpr std::string_view op = "sequence_concat";
  check_levels_together(op, x);
  std::vector<std::vector<std::int64_t>> levels = x[0].levels.data()->offsets();
  for (std::size_t k = 1; k < x.size(); ++k) {
    for (std::size_t i = 0; i < levels.back().size(); ++i) {
      add_rows(op, x[k].levels.offsets()[i], levels.back()[i]);
    }
  }
  return Levels(std::move(levels));
}

void sequence_concat(const Context& ctx, std::span<const RaggedRef> x, const TensorRef& out) {
  const impl::Region region("portops::sequence_concat");
  constexpr const char* op = "sequence_concat";
  impl::check_sequence_concat(ctx, x, out);
  if (out.size() == 0) return;
  const auto plan = plan_of(x, false);
  const ConcatTables tables(ctx, *plan, [](std::size_t) { return true; });
  for (std::size_t k = 0; k < x.size(); ++k) {
    impl::enqueue_moves(ctx, op, plan->of_input[k], {x[k].values, 1}, {out, 1});
  }
}

void sequence_concat_grad(const Context& ctx, std::span<const RaggedRef> x, const TensorRef& out_grad,
                          std::span<const TensorRef> x_grad) {
  const impl::Region region("portops::sequence_concat_grad");
  constexpr const char* op = "sequence_concat_grad";
  impl::check_sequence_concat_grad(ctx, x, out_grad, x_grad);
  const auto is_wanted = [&](std::size_t k) { return !x_grad.empty() && x_grad[k] && x_grad[k].size() > 0; };
  const auto plan = plan_of(x, true);
  const ConcatTables tables(ctx, *plan, is_wanted);
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (is_wanted(k)) impl::enqueue_moves(ctx, op, plan->of_input[k], {out_grad, 1}, {x_grad[k], 1});
  }
}

}  // namespace portops
