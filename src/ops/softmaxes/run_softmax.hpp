// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/launch.hpp"
#include "ops/softmaxes/softmax_along.hpp"
#include "ops/softmaxes/softmax_down.hpp"
#include "ops/softmaxes/softmax_host.hpp"
#include "ops/softmaxes/softmax_tiles.hpp"

#include <string>
#include <type_traits>

namespace portops::impl {

/// The labels of the kernels and temporaries, made once. `what` says what the kernels are for.
struct SoftmaxLabels {
  explicit SoftmaxLabels(const std::string& op, const std::string& what = "softmax")
      : along("portops::" + op + "::" + what + "[along]"),
        down("portops::" + op + "::" + what + "[down]"),
        tiles("portops::" + op + "::" + what + "[tiles]"),
        states("portops::" + op + "::" + what + "[states]"),
        partials("portops::" + op + "::partials") {}

  std::string along;
  std::string down;
  std::string tiles;
  std::string states;
  std::string partials;
};

template <Backend B, class T, class F>
void launch_softmax(const Context& ctx, const std::string& label, const SoftmaxRows<T, F>& rows,
                    const ReducePlan& plan) {
  const bool along = plan.direction == Direction::along;
  if constexpr (B == Backend::cuda) {
    const auto launch = [&](const auto& kernel) {
      constexpr int most_threads = std::remove_cvref_t<decltype(kernel)>::most_threads;
      launch_all_teams<B, most_threads>(ctx, label, kernel, kernel.teams(), kernel.threads(), kernel.scratch_bytes());
    };
    const bool keeps = rows.packs && fits_registers(plan, static_cast<int>(sizeof(T)), F::inputs);
    if (along) {
      const auto launch_along = [&]<SoftmaxRowAccess access>() {
        launch(SoftmaxAlong<B, T, F, access>(rows, plan, multiprocessors(ctx)));
      };
      if (has_shifted_rows(plan, static_cast<int>(sizeof(T)))) {
        keeps ? launch_along.template operator()<SoftmaxRowAccess::kept_shifted>()
              : launch_along.template operator()<SoftmaxRowAccess::shifted>();
      } else {
        keeps ? launch_along.template operator()<SoftmaxRowAccess::kept>()
              : launch_along.template operator()<SoftmaxRowAccess::again>();
      }
    } else {
      const auto launch_down = [&]<SoftmaxKeptRows kept>() { launch(SoftmaxDown<B, T, F, kept>(rows, plan)); };
      if (!keeps) return launch_down.template operator()<SoftmaxKeptRows::none>();
      if (has_few_rows(plan)) return launch_down.template operator()<SoftmaxKeptRows::few>();
      launch_down.template operator()<SoftmaxKeptRows::all>();
    }
  } else {
    const auto launch = [&](const auto& kernel) { launch_by_items<B>(ctx, label, kernel); };
    along ? launch(SoftmaxAlongHost<T, F>(rows, plan)) : launch(SoftmaxDownHost<T, F>(rows, plan));
  }
}

/// One kernel, or, where rows are cut into parts, one for what these come to and one for the results. `states` has room
/// for these: softmax_memory(…).
template <Backend B, class T, class F>
void run_softmax(const Context& ctx, const SoftmaxLabels& labels, const F& f, const ReducePlan& plan, void* states,
                 bool streaming) {
  SoftmaxRows<T, F> rows(f, plan, static_cast<typename F::State*>(states));
  rows.streaming = streaming;
  if constexpr (B == Backend::cuda) {
    using Tiles = SoftmaxTiles<B, T, F, false>;
    using TilesOfSeveral = SoftmaxTiles<B, T, F, true>;
    if (Tiles::suits(plan)) {
      return Tiles::rounds(plan) > 1 ? launch_by_teams<B>(ctx, labels.tiles, TilesOfSeveral(rows, plan))
                                     : launch_by_teams<B>(ctx, labels.tiles, Tiles(rows, plan));
    }
  }
  if (F::collects && plan.parts() > 1) {
    rows.pass = SoftmaxPass::states;
    launch_softmax<B>(ctx, labels.states, rows, plan);
    rows.pass = SoftmaxPass::apply;
  }
  launch_softmax<B>(ctx, plan.direction == Direction::along ? labels.along : labels.down, rows, plan);
}

}  // namespace portops::impl
