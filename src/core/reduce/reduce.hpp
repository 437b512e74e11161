// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/exec/workspace.hpp"
#include "core/reduce/join_partials.hpp"
#include "core/reduce/reduce_along.hpp"
#include "core/reduce/reduce_along_host.hpp"
#include "core/reduce/reduce_down.hpp"
#include "core/reduce/reduce_down_host.hpp"
#include "core/reduce/reduce_few_rows.hpp"
#include "core/reduce/reduce_tiles.hpp"

#include <string>

namespace portops::impl {

/// The labels of a reduction's kernels and temporaries, made once.
struct ReduceLabels {
  explicit ReduceLabels(const std::string& op)
      : along("portops::" + op + "::reduce[along]"),
        down("portops::" + op + "::reduce[down]"),
        join("portops::" + op + "::join[partials]"),
        partials("portops::" + op + "::partials") {}

  std::string along;
  std::string down;
  std::string join;
  std::string partials;
};

/// Enqueues the second kernel of a reduction whose results are cut into parts.
template <Backend B, class T, class G>
void join_partials(const Context& ctx, const ReduceLabels& labels, const G& g, const ReducePlan& plan,
                   const Partial<Arithmetic<T>>* partials) {
  if constexpr (B == Backend::cuda) {
    const JoinPartials<B, T, G> join(g, plan, partials);
    launch_teams<B, join.blocks>(ctx, labels.join, join, join.teams(), join.threads, join.scratch_bytes());
  } else {
    launch_by_items<B>(ctx, labels.join, JoinPartialsHost<T, G>(g, plan, partials));
  }
}

/// Enqueues the reduction of a plan's x into its `out`: one kernel, and mostly a second one where results are cut into
/// parts.
/// The terms of a result are added in the same order on every backend.
///
/// F, and G for the second kernel, is a functor on numbers of type A, Arithmetic<T> for F and double for G:
///
///   A identity()              what a sum starts from
///   join()                    a functor A(A, A) that joins two sums; commutative
///   A finish(Partial<A>)      the result
///
/// F besides:
///
///   A add(A sum, A x)         the sum with the element x taken in
///   A fill()                  an element that changes no sum
///   bool is_quick             a constant: whether terms are long computations, which hosts make for a block of
///   elements
///                             before they add them; then
///   A term(A x)               is what x adds, as add() does
///   A term_quickly(A x, Doubt& doubt)  the same or anything, with a doubt; these are collected by or
///   bool is_doubtful(Doubt)   whether a term of the block is in doubt, and they are taken by term()
///
/// and, where its constant `rescales` is true,
///
///   dominant()                a functor A(A, A) that tells which of two magnitudes dominates, from
///   A least_dominant()        on
///   A raise(A ratio)          what is added for an element of that ratio to the dominating one
///   rescaled(A scale, A sum)  the Partial of both
///   bool is_safe(A sum)       of F alone: whether a sum is right; else it is taken anew in that way
template <Backend B, class T, class F, class G>
void reduce(const Context& ctx, const ReduceLabels& labels, const F& f, const G& g, const ReducePlan& plan) {
  const Temporary memory(ctx, labels.partials.c_str(), reduce_workspace(plan, ElementTypeOf<T>::value));
  auto* const partials = static_cast<Partial<Arithmetic<T>>*>(memory.data());
  const bool along = plan.direction == Direction::along;
  const std::string& label = along ? labels.along : labels.down;
  if constexpr (B == Backend::cuda) {
    if (ReduceFewRows<T, F>::suits(plan)) {
      launch_by_items<B>(ctx, label, ReduceFewRows<T, F>(f, plan));
    } else if (!along) {
      launch_by_teams<B>(ctx, label, ReduceDown<B, T, F>(f, plan, partials));
    } else if (ReduceTiles<T, F>::suits(plan)) {
      launch_by_teams<B>(ctx, label, ReduceTiles<T, F>(f, plan));
    } else if (has_single_rows(plan)) {
      launch_by_items<B>(ctx, label, ReduceAlong<B, T, F, true>(f, plan, partials));
    } else {
      launch_by_teams<B>(ctx, label, ReduceAlong<B, T, F, false>(f, plan, partials));
    }
  } else if (along) {
    launch_by_items<B>(ctx, label, ReduceAlongHost<B, T, F>(f, plan, partials));
  } else if (ReduceDownWholeHost<B, T, F, G>::suits(plan)) {
    return launch_by_items<B>(ctx, label, ReduceDownWholeHost<B, T, F, G>(f, g, plan, partials));
  } else {
    launch_by_items<B>(ctx, label, ReduceDownHost<B, T, F>(f, plan, partials));
  }
  if (plan.parts() > 1) join_partials<B, T>(ctx, labels, g, plan, partials);
}

}  // namespace portops::impl
