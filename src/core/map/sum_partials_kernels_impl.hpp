// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/map/sum_partials.hpp"

namespace portops::impl {

template <Backend B, class T>
void SumPartialsKernels<B, T>::launch(const Context& ctx, const std::string& label, const SumPlan& plan,
                                      void* partials) {
  const SumPartials<B, T> functor(plan, static_cast<Arithmetic<T>*>(partials));
  launch_teams<B, 4>(ctx, label, functor, functor.teams(), functor.threads, functor.scratch_bytes());
}

}  // namespace portops::impl
