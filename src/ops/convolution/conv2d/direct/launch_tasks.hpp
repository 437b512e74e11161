// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <string>

namespace portops::impl {

/// On hosts: each thread takes one item after the other, and has scratch that it keeps. A Task is
///
///   items(), scratch_bytes()
///   operator()(item, scratch)     scratch is aligned to a cache's line
template <Backend B, class Task>
class TaskTeams {
 public:
  using Policy = Kokkos::TeamPolicy<SpaceOf<B>, Kokkos::Schedule<Kokkos::Dynamic>>;
  using Team = typename Policy::member_type;
  static constexpr int alignment = 64;

  explicit TaskTeams(const Task& task) : task_(task) {}

  int scratch_bytes() const { return static_cast<int>(task_.scratch_bytes()); }

  void operator()(const Team& team) const {
    auto* const scratch = static_cast<std::byte*>(team.team_scratch(1).get_shmem_aligned(scratch_bytes(), alignment));
    for (std::int64_t item = team.league_rank(); item < task_.items(); item += team.league_size()) task_(item, scratch);
  }

 private:
  Task task_;
};

template <Backend B, class Task>
void launch_tasks(const Context& ctx, const std::string& label, const Task& task) {
  using Teams = TaskTeams<B, Task>;
  const Teams teams(task);
  typename Teams::Policy policy(instance<B>(ctx), static_cast<int>(std::min(task.items(), most_teams)), 1, 1);
  policy.set_scratch_size(1, Kokkos::PerTeam(teams.scratch_bytes() + Teams::alignment));
  Kokkos::parallel_for(label, policy, teams);
}

}  // namespace portops::impl
