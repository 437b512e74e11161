// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <string>

namespace portops::impl {

/// Kernels are passed as plain kernel arguments whatever their size: Kokkos' other way, a constant buffer, makes the
/// host wait for the buffer's previous use.
using AsArguments = Kokkos::Experimental::WorkItemProperty::HintLightWeight_t;

/// functor(0) on this thread, told to profilers as Kokkos tells kernels. To wake OpenMP's other threads for one item
/// takes longer than most items do. It waits for nobody: calls on one instance come one after the other in any case.
template <Backend B, class Functor>
void run_single_item(const Context& ctx, const std::string& label, const Functor& functor) {
  std::uint64_t kernel = 0;
  const bool is_profiled = Kokkos::Tools::profileLibraryLoaded();
  if (is_profiled) {
    Kokkos::Tools::beginParallelFor(label, Kokkos::Tools::Experimental::device_id(instance<B>(ctx)), &kernel);
  }
  functor(std::int64_t{0});
  if (is_profiled) Kokkos::Tools::endParallelFor(kernel);
}

/// Enqueues functor(i) for 0 ≤ i < items. So many teams of 256 threads are to fit a GPU's multiprocessor at once (0: as
/// many as do).
template <Backend B, int blocks, class Functor>
void launch_items(const Context& ctx, const std::string& label, const Functor& functor, std::int64_t items) {
  using Policy =
      Kokkos::RangePolicy<SpaceOf<B>, Kokkos::IndexType<std::int64_t>, Kokkos::LaunchBounds<256, blocks>, AsArguments>;
  if constexpr (B == Backend::openmp) {
    if (items == 1) return run_single_item<B>(ctx, label, functor);
  }
  Kokkos::parallel_for(label, Policy(instance<B>(ctx), 0, items), functor);
}

/// Enqueues functor(team) for teams of `threads` threads with so much scratch. The league is smaller than `teams` where
/// these exceed most_teams: functors for so many stride by the league's size. So many teams of up to most_threads are
/// to fit a GPU's multiprocessor at once.
template <Backend B, int blocks, int most_threads = 256, class Functor>
void launch_teams(const Context& ctx, const std::string& label, const Functor& functor, std::int64_t teams, int threads,
                  std::size_t scratch_bytes) {
  using Policy = Kokkos::TeamPolicy<SpaceOf<B>, Kokkos::LaunchBounds<most_threads, blocks>, AsArguments>;
  Policy policy(instance<B>(ctx), static_cast<int>(std::min(teams, most_teams)), threads, 1);
  // Scratch need not start at a multiple of what functors align it to.
  constexpr std::size_t alignment_slack = 16;
  if (scratch_bytes > 0) {
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch_bytes + alignment_slack)));
  }
  Kokkos::parallel_for(label, policy, functor);
}

/// The same for functors that find their team at first_team + league_rank(): launched more than once where the teams
/// exceed most_teams.
template <Backend B, int most_threads = 256, class Functor>
void launch_all_teams(const Context& ctx, const std::string& label, Functor functor, std::int64_t teams, int threads,
                      std::size_t scratch_bytes) {
  for (std::int64_t first = 0; first < teams; first += most_teams) {
    functor.first_team = first;
    launch_teams<B, Functor::blocks, most_threads>(ctx, label, functor, std::min(teams - first, most_teams), threads,
                                                   scratch_bytes);
  }
}

/// The same for kernels that say how many items or teams they need, and what these need.
template <Backend B, class Kernel>
void launch_by_items(const Context& ctx, const std::string& label, const Kernel& kernel) {
  launch_items<B, Kernel::blocks>(ctx, label, kernel, kernel.items());
}
template <Backend B, class Kernel>
void launch_by_teams(const Context& ctx, const std::string& label, const Kernel& kernel) {
  constexpr int most_threads = std::max(256, Kernel::threads);
  launch_all_teams<B, most_threads>(ctx, label, kernel, kernel.teams(), Kernel::threads, kernel.scratch_bytes());
}

}  // namespace portops::impl
