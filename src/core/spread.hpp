// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/launch.hpp"
#include "core/spread_along.hpp"
#include "core/spread_down.hpp"
#include "core/spread_flat.hpp"
#include "core/spread_host.hpp"
#include "core/workspace.hpp"

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
///   bool is_light                     a constant: whether registers are left for more than a pack of 16-bit types
///   bool counts                       a constant: whether ties are counted; then
///   bool is_tie(A x, Row)             says what a tie is, and
///   Row shared(Row, A count)          is the row's value when their number is known
template <Backend B, class T, class F>
void spread(const Context& ctx, const SpreadLabels& labels, const F& f, const ReducePlan& plan,
            const SpreadOperands& operands, bool streaming) {
  if constexpr (!F::counts) {
    if (is_row_of_rows(plan, operands.x) && is_row_of_rows(plan, operands.y)) {
      const auto launch_flat = [&]<class Kernel>() {
        const Kernel kernel(f, plan, operands, streaming);
        launch_items<B, Kernel::blocks>(ctx, labels.flat, kernel, kernel.items());
      };
      if constexpr (B == Backend::cuda) {
        // Room for a pack beyond the last element.
        if (plan.kept * plan.columns <= INT32_MAX - 64) {
          return launch_flat.template operator()<SpreadFlat<B, T, F, std::int32_t>>();
        }
      }
      return launch_flat.template operator()<SpreadFlat<B, T, F, std::int64_t>>();
    }
  }
  const bool along = plan.direction == Direction::along;
  const auto launch_by_items = [&]<class Kernel>(const std::string& label, const TieCounts& counts) {
    const Kernel kernel(f, plan, operands, counts);
    launch_items<B, kernel.blocks>(ctx, label, kernel, kernel.items());
  };
  const auto launch_by_teams = [&]<class Kernel>(const std::string& label, const TieCounts& counts) {
    const Kernel kernel(f, plan, operands, counts);
    launch_all_teams<B>(ctx, label, kernel, kernel.teams(), plan.lanes * plan.slots, kernel.scratch_bytes());
  };
  const auto launch = [&](const TieCounts& counts, const std::string& label_along, const std::string& label_down) {
    if constexpr (B == Backend::cuda) {
      if (!along) {
        launch_by_teams.template operator()<SpreadDown<B, T, F>>(label_down, counts);
      } else if (has_single_rows(plan)) {
        launch_by_items.template operator()<SpreadAlong<B, T, F, true>>(label_along, counts);
      } else {
        launch_by_teams.template operator()<SpreadAlong<B, T, F, false>>(label_along, counts);
      }
    } else {
      along ? launch_by_items.template operator()<SpreadAlongHost<B, T, F>>(label_along, counts)
            : launch_by_items.template operator()<SpreadDownHost<B, T, F>>(label_down, counts);
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
