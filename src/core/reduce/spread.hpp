// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/exec/workspace.hpp"
#include "core/reduce/spread_along.hpp"
#include "core/reduce/spread_down.hpp"
#include "core/reduce/spread_flat.hpp"
#include "core/reduce/spread_host.hpp"

#include <string>

namespace portops::impl {

/// The labels of a spread's kernels and temporaries, made once.
struct SpreadLabels {
  explicit SpreadLabels(const std::string& op)
      : flat("portops::" + op + "::spread[flat]"),
        along("portops::" + op + "::spread[along]"),
        down("portops::" + op + "::spread[down]"),
        count_along("portops::" + op + "::count[along]"),
        count_down("portops::" + op + "::count[down]"),
        counts("portops::" + op + "::counts") {}

  std::string flat;
  std::string along;
  std::string down;
  std::string count_along;
  std::string count_down;
  std::string counts;
};

/// Enqueues y = f(x, value of the row), where a row is what shares a result of the plan, and its value comes from the
/// result's out and out_grad: one kernel, in one pass over x. Where f needs to know how many ties a row has, and rows
/// are so long that they are cut into parts, a kernel before it counts them.
///
/// F is a functor on numbers of type A = Arithmetic<T>:
///
///   Row row(A out, A out_grad)        what is computed once a row, as a struct of numbers
///   A operator()(A x, Row)            the element of y
///   bool counts                       a constant: whether ties are counted; then
///   bool is_tie(A x, Row)             says what a tie is, and
///   Row shared(Row, A count)          is the row's value when their number is known
///   bool is_quick                     a constant, as in reduce(); then
///   A quickly(A x, Row, Doubt& doubt) is what operator() gives, or anything, with a doubt
template <Backend B, class T, class F>
void spread(const Context& ctx, const SpreadLabels& labels, const F& f, const ReducePlan& plan, bool streaming) {
  if constexpr (!F::counts) {
    if (is_row_of_rows(plan, spread_x) && is_row_of_rows(plan, spread_y)) {
      if constexpr (B == Backend::cuda) {
        if (elements_beyond_pack<T>(plan.operand[spread_x].data) ==
            elements_beyond_pack<T>(plan.operand[spread_y].data)) {
          return launch_by_teams<B>(ctx, labels.flat, SpreadFlat<B, T, F, true>(f, plan));
        }
        return launch_by_teams<B>(ctx, labels.flat, SpreadFlat<B, T, F, false>(f, plan));
      } else {
        return launch_by_items<B>(ctx, labels.flat, SpreadFlatHost<B, T, F>(f, plan, streaming));
      }
    }
  }
  const auto launch = [&](const TieCounts& counts, const std::string& label_along, const std::string& label_down) {
    const bool along = plan.direction == Direction::along;
    if constexpr (B == Backend::cuda) {
      if (!along) {
        launch_by_teams<B>(ctx, label_down, SpreadDown<B, T, F>(f, plan, counts));
      } else if (has_single_rows(plan)) {
        launch_by_items<B>(ctx, label_along, SpreadAlong<B, T, F, true>(f, plan, counts));
      } else {
        launch_by_teams<B>(ctx, label_along, SpreadAlong<B, T, F, false>(f, plan, counts));
      }
    } else if (along) {
      launch_by_items<B>(ctx, label_along, SpreadAlongHost<B, T, F>(f, plan, counts));
    } else {
      launch_by_items<B>(ctx, label_down, SpreadDownHost<B, T, F>(f, plan, counts));
    }
  };
  if (!F::counts || plan.parts() == 1) return launch({}, labels.along, labels.down);
  const Temporary memory(ctx, labels.counts.c_str(), count_workspace(plan));
  TieCounts counts{Ties::counted, static_cast<int*>(memory.data()), plan.results()};
  launch(counts, labels.count_along, labels.count_down);
  counts.mode = Ties::given;
  launch(counts, labels.along, labels.down);
}

}  // namespace portops::impl
