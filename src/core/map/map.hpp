// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/exec/workspace.hpp"
#include "core/map/input_set.hpp"
#include "core/map/map_any_tiles.hpp"
#include "core/map/map_flat.hpp"
#include "core/map/map_host_tiles.hpp"
#include "core/map/map_labels.hpp"
#include "core/map/map_tiles.hpp"
#include "core/map/sum_partials.hpp"

#include <string>

namespace portops::impl {

template <Backend B, class T, class F, FlatForm form>
void launch_flat(const Context& ctx, const std::string& label, const F& f, const FlatPlan& plan) {
  const MapFlat<B, T, F, form> functor(f, plan);
  launch_items<B, functor.blocks>(ctx, label, functor, functor.items());
}

/// The inputs that a walk down or along reads by packs, bit by bit. None of them is a set for walks that read nothing
/// in their steps.
inline unsigned inputs_in_packs_of(const TilePlan& plan, int inputs) {
  unsigned bits = 0;
  bool reads_elements = false;
  for (int k = 0; k < inputs; ++k) {
    bits |= plan.operand[k].access == Access::packs ? 1u << k : 0u;
    reads_elements = reads_elements || (plan.walk == Walk::down && plan.operand[k].access == Access::row);
  }
  return bits == 0 && reads_elements ? unknown_inputs : bits;
}

/// Enqueues outputs = f(inputs) for each index of the loop, outputs being summed along the axes where they do not move.
/// One pass over the inputs, and a second kernel where sums go beyond a tile (a third where they go far beyond).
///
/// F is a functor `void operator()(const A (&in)[inputs], A (&out)[outputs]) const` on numbers of type Arithmetic<T>,
/// with the constants `inputs`, `outputs` and `sums`, which says whether outputs may be summed. It may name the sets of
/// inputs that deserve a kernel of their own, `inputs_in_packs`: see input_set.hpp, which has the usual ones. And it
/// may say that it `computes_long`, and that it `branches`: see map_flat.hpp.
template <Backend B, class T, class F>
void map(const Context& ctx, const MapLabels& labels, const F& f, const Loop& loop) {
  if (loop.size() == 0) {
    for (const SumPlan& sum : make_empty_sum_plans(loop)) {
      SumPartialsKernels<B, T>::launch(ctx, labels.sum, sum, nullptr);
    }
    return;
  }
  if (is_flat(loop, B)) {
    const FlatPlan plan = make_flat_plan(loop, B);
    if constexpr (has_flat_rows(B, ElementTypeOf<T>::value)) {
      if (plan.form == FlatForm::rows) return launch_flat<B, T, F, FlatForm::rows>(ctx, labels.rows, f, plan);
    }
    return plan.form == FlatForm::packs ? launch_flat<B, T, F, FlatForm::packs>(ctx, labels.flat, f, plan)
                                        : launch_flat<B, T, F, FlatForm::elements>(ctx, labels.gather, f, plan);
  }
  const TilePlan plan = make_tile_plan(loop, B);
  const std::vector<SumPlan> sums = make_sum_plans(loop, plan);
  const Temporary partials(ctx, labels.partials.c_str(),
                           static_cast<std::size_t>(partial_elements(plan, sums)) * sizeof(Arithmetic<T>));
  auto* const sums_of_tiles = static_cast<Arithmetic<T>*>(partials.data());
  if constexpr (B == Backend::cuda) {
    const auto launch = [&]<class Tiles>(const std::string& label) {
      const Tiles functor(f, plan, sums_of_tiles);
      launch_teams<B, Tiles::blocks>(ctx, label, functor, plan.tiles(), plan.lanes * plan.slots,
                                     functor.scratch_bytes());
    };
    if (plan.walk == Walk::interleaved) {
      launch.template operator()<MapTiles<B, T, F, Walk::interleaved, unknown_inputs>>(labels.interleaved);
    } else if (plan.walk == Walk::none) {
      launch.template operator()<MapAnyTiles<B, T, F>>(labels.tiles);
    } else {
      with_inputs_in_packs<F>(inputs_in_packs_of(plan, F::inputs), [&]<unsigned in_packs>() {
        plan.walk == Walk::down ? launch.template operator()<MapTiles<B, T, F, Walk::down, in_packs>>(labels.down)
                                : launch.template operator()<MapTiles<B, T, F, Walk::along, in_packs>>(labels.along);
      });
    }
  } else {
    launch_by_items<B>(ctx, labels.tiles, MapHostTiles<B, T, F>(f, plan, sums_of_tiles));
  }
  for (const SumPlan& sum : sums) SumPartialsKernels<B, T>::launch(ctx, labels.sum, sum, partials.data());
}

}  // namespace portops::impl
