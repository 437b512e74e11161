// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/sparse_rows/sparse_rows_memory.hpp"
#include "ops/sparse_rows/sum_runs.hpp"

namespace portops::impl {

/// The last levels of sums that cross chunks, in one kernel on a GPU: a team takes some columns through all of them.
template <Backend B, class T, class Index, int N, class Sink>
class SumCrossings {
 public:
  using A = Arithmetic<T>;
  using Runs = SumRuns<B, T, Index, N, Sink, true>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 1;
  static constexpr int threads = 512;
  /// A level of more sums has a kernel of its own: here a thread would take them one after the other. Levels have an
  /// eighth of the sums of the level below.
  static constexpr std::int64_t most_sums = threads;
  static constexpr int most_levels = 3;
  std::int64_t first_team = 0;

  /// `runs` are those of the first of these levels, which is that number of all.
  SumCrossings(const Runs& runs, const SparseRows& sparse, const SparseRowsMemory& memory, void* data, int first)
      : levels_(memory.levels.count - first),
        places_(static_cast<const Index*>(memory.places[static_cast<std::size_t>(first)].in(data))),
        packs_(sparse.columns / N),
        runs_(runs) {
    for (int k = 0; k < levels_; ++k) {
      const auto at = static_cast<std::size_t>(first + k);
      rows_[k] = memory.levels.rows[at];
      values_[k] = static_cast<A*>(memory.values[at].in(data));
      if (k > 0) places_of_team_ += rows_[k];
    }
    while (packs_of_team_ < 16 && 2 * packs_of_team_ * rows_[0] <= threads) packs_of_team_ *= 2;
  }

  std::int64_t teams() const { return ceil_div(packs_, packs_of_team_); }
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(places_of_team_) * sizeof(Index); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    typename Runs::Level level{0, nullptr, places_, {}};
    auto* next_places = scratch_of<Index>(team);
    const std::int64_t first_pack = (first_team + team.league_rank()) * packs_of_team_;
    PORTOPS_NO_UNROLL
    for (int k = 0; k < levels_; ++k) {
      level.rows = rows_[k];
      level.values = values_[k];
      level.next = {};
      if (k + 1 < levels_) level.next = {values_[k + 1], next_places};
      const int row = team.team_rank() / packs_of_team_, pack = team.team_rank() - row * packs_of_team_;
      if (row < level.rows && first_pack + pack < packs_) runs_.add_run(level, row, first_pack + pack, pack == 0);
      team.team_barrier();
      level.places = next_places;
      if (k + 1 < levels_) next_places += rows_[k + 1];
    }
  }

 private:
  int levels_;
  std::int64_t rows_[most_levels] = {};
  A* values_[most_levels] = {};
  const Index* places_;              ///< of the first of the levels
  std::int64_t places_of_team_ = 0;  ///< of the others
  std::int64_t packs_;
  int packs_of_team_ = 1;
  Runs runs_;
};

}  // namespace portops::impl
