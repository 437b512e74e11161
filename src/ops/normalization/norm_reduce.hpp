// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/down_tiles.hpp"
#include "ops/normalization/norm_rows.hpp"

// Reductions on a GPU, of x and of what lies beside it. Each part of a result leaves its state; norm_join.hpp has what
// follows.

namespace portops::impl {

/// Joins states, which are structs of numbers, over groups of `lanes` neighbouring threads, as join_over_lanes does.
template <class A, class State, class Join>
KOKKOS_FORCEINLINE_FUNCTION State join_states_over_lanes(State state, [[maybe_unused]] int lanes,
                                                         [[maybe_unused]] const Join& join) {
#if defined(__CUDA_ARCH__)
  struct Numbers {
    A number[sizeof(State) / sizeof(A)];
  };
  PORTOPS_NO_UNROLL
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    auto numbers = Kokkos::bit_cast<Numbers>(state);
    PORTOPS_UNROLL
    for (A& number : numbers.number) number = __shfl_xor_sync(0xffffffffu, number, distance);
    state = join(state, Kokkos::bit_cast<State>(numbers));
  }
#endif
  return state;
}

/// Joins those of a whole team; thread 0 gets the result. `scratch` has room for a state a warp.
template <class A, class Team, class State, class Join>
KOKKOS_FORCEINLINE_FUNCTION State join_states_of_team(const Team& team, State* scratch, State state, const Join& join) {
  constexpr int warp = 32;
  state = join_states_over_lanes<A>(state, warp, join);
  if (team.team_size() <= warp) return state;
  if (team.team_rank() % warp == 0) scratch[team.team_rank() / warp] = state;
  team.team_barrier();
  if (team.team_rank() != 0) return state;
  PORTOPS_NO_UNROLL
  for (int w = 1; w < team.team_size() / warp; ++w) state = join(state, scratch[w]);
  return state;
}

/// Joins those of groups of 2^lane_bits threads of a team, a warp or less or several warps; each thread gets its
/// group's. `scratch` has room for a state a warp.
template <class A, class Team, class State, class Join>
KOKKOS_FORCEINLINE_FUNCTION State join_states_of_group(const Team& team, State* scratch, State state, int lane_bits,
                                                       const Join& join) {
  constexpr int warp = 32;
  const int lanes = 1 << lane_bits;
  state = join_states_over_lanes<A>(state, lanes < warp ? lanes : warp, join);
  if (lanes <= warp) return state;
  if (team.team_rank() % warp == 0) scratch[team.team_rank() / warp] = state;
  team.team_barrier();
  const State* const of_group = scratch + (team.team_rank() >> lane_bits) * (lanes / warp);
  state = of_group[0];
  PORTOPS_NO_UNROLL
  for (int w = 1; w < lanes / warp; ++w) state = join(state, of_group[w]);
  team.team_barrier();
  return state;
}

/// Results whose columns are reduced: a team takes a part of one, pack i of which falls to thread i modulo threads.
template <Backend B, class T, class F>
class NormReduceAlong {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 2;

  NormReduceAlong(const NormRows<T, F>& rows, const NormPlan& plan, State* partials)
      : rows_(rows),
        row_packs_(plan.row_packs),
        by_row_packs_(plan.row_packs),
        kept_(plan.rows.kept),
        terms_(plan.terms),
        part_terms_(plan.part_terms),
        parts_(plan.parts),
        by_parts_(plan.parts),
        threads_(plan.threads),
        partials_(partials) {}

  int threads() const { return threads_; }
  std::int64_t teams() const { return kept_ * parts_; }
  std::size_t scratch_bytes() const { return norm_most_threads / 32 * sizeof(State); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t group = first_team + team.league_rank();
    const std::int64_t kept = by_parts_.quotient(group), part = group - kept * parts_;
    State state = F::identity();
    with_access<widest>(rows_.pack, rows_.packs,
                        [&]<class Access>(Access) { add_up<Access>(state, team, kept, part); });
    state = join_states_of_team<A>(team, scratch_of<State>(team), state, F());
    if (team.team_rank() == 0) partials_[part * kept_ + kept] = state;
  }

 private:
  static constexpr int widest = reduce_along_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int most_batch = 16;

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add_up(State& state, const Team& team, std::int64_t kept, std::int64_t part) const {
    constexpr int width = Access::width, wanted = norm_values(static_cast<int>(sizeof(T))) / width;
    constexpr int batch = Access::batch(wanted > 0 ? wanted : 1);
    // Packs that are taken in together. Single columns come one pack at a time: so what there is comes first.
    constexpr bool at_once = Access::batch(most_batch) == most_batch;
    constexpr int some = F::sides > 0 || !at_once ? 1 : batch;
    const int count = Access::count(rows_.pack);
    const std::int64_t begin = part * part_terms_;
    const std::int64_t end = begin + part_terms_ < terms_ ? begin + part_terms_ : terms_;
    PORTOPS_NO_UNROLL
    for (std::int64_t first = begin + team.team_rank(); first < end; first += batch * threads_) {
      Word<T, width> loaded[F::inputs][batch];
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        const std::int64_t term = first + b * threads_;
        PORTOPS_UNROLL
        for (int k = 0; k < F::inputs; ++k) {
          loaded[k][b] = Word<T, width>(static_cast<T>(0.0f));
          if (term < end) {
            Access::load(loaded[k][b], rows_.in[k].data + at(rows_.in[k], kept, term), rows_.in[k].column_stride,
                         count);
          }
        }
      }
      PORTOPS_UNROLL
      for (int b = 0; b < batch; b += some) {
        const std::int64_t term = first + b * threads_;
        A sides[NormRows<T, F>::most_sides][some * width] = {};
        if constexpr (F::sides > 0) {
          if (term >= end) continue;
          PORTOPS_UNROLL
          for (int k = 0; k < F::sides; ++k) {
            rows_.side[k].load(sides[k], at(rows_.side[k].operand, kept, term), count);
          }
        }
        A values[F::inputs][some * width];
        int there = 0;
        PORTOPS_UNROLL
        for (int s = 0; s < some; ++s) {
          there += term + s * threads_ < end ? count : 0;
          PORTOPS_UNROLL
          for (int i = 0; i < width; ++i) {
            PORTOPS_UNROLL
            for (int k = 0; k < F::inputs; ++k) {
              values[k][s * width + i] = static_cast<A>(loaded[k][b + s][i]);
            }
          }
        }
        F().add(state, values, sides, there);
      }
    }
  }

  template <class E>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t at(const RowOperand<E>& operand, std::int64_t kept,
                                              std::int64_t term) const {
    const std::int64_t run = by_row_packs_.quotient(term);
    return rows_.axes.kept_offset(operand, kept) + rows_.axes.run_offset(operand, run) +
           (term - run * row_packs_) * rows_.pack * operand.column_stride;
  }

  NormRows<T, F> rows_;
  std::int64_t row_packs_;
  IndexDivisor by_row_packs_;
  std::int64_t kept_;
  std::int64_t terms_;
  std::int64_t part_terms_;
  std::int64_t parts_;
  IndexDivisor by_parts_;
  int threads_;
  State* partials_;
};

/// Results whose columns are kept, by the tiles of a reduction: a thread keeps to a pack of columns and walks down the
/// rows of its slot, and the slots meet in a tree.
template <Backend B, class T, class F>
class NormReduceDown {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 2;

  NormReduceDown(const NormRows<T, F>& rows, const NormPlan& plan, State* partials)
      : rows_(rows), parts_(plan.rows), tiles_(plan.rows), results_(plan.rows.results()), partials_(partials) {}

  static int threads() { return down_threads; }
  std::int64_t teams() const { return tiles_.teams(); }
  std::size_t scratch_bytes() const { return down_threads * widest * sizeof(State); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const DownTile tile = tiles_.locate(parts_, first_team + team.league_rank(), team.team_rank());
    with_access<widest>(rows_.pack, rows_.packs, [&]<class Access>(Access) { take<Access>(team, tile); });
  }

 private:
  static constexpr int widest = reduce_down_pack_bytes / static_cast<int>(sizeof(T));
  /// Rows that are under way together, of all inputs.
  static constexpr int most_rows = 16;

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Team& team, const DownTile& tile) const {
    constexpr int width = Access::width;
    const int count = Access::count(rows_.pack);
    State states[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) states[i] = F::identity();
    add_up<Access>(tile, states);
    join_over_slots(team, scratch_of<State>(team), tiles_.slots(), tiles_.lanes(), states, F());
    if (!tile.active || tiles_.slot(team.team_rank()) != 0) return;
    State* const to = partials_ + tile.part * results_ + tile.kept * parts_.columns + tile.column;
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      if (i < count) to[i] = states[i];
    }
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add_up(const DownTile& tile, State (&states)[Access::width]) const {
    constexpr int width = Access::width, batch = Access::batch(most_rows / F::inputs);
    constexpr int some = F::sides > 0 ? 1 : batch;  // rows that are taken in together
    const int count = Access::count(rows_.pack);
    PORTOPS_NO_UNROLL
    for (int first = 0; first < tile.runs; first += batch) {
      Word<T, width> loaded[F::inputs][batch];
      PORTOPS_UNROLL
      for (int r = 0; r < batch; ++r) {
        PORTOPS_UNROLL
        for (int k = 0; k < F::inputs; ++k) {
          loaded[k][r] = Word<T, width>(static_cast<T>(0.0f));
          if (first + r < tile.runs) {
            Access::load(loaded[k][r], rows_.in[k].data + at(rows_.in[k], tile, first + r), rows_.in[k].column_stride,
                         count);
          }
        }
      }
      PORTOPS_UNROLL
      for (int r = 0; r < batch; r += some) {
        A sides[NormRows<T, F>::most_sides][width] = {};
        if constexpr (F::sides > 0) {
          if (first + r >= tile.runs) continue;
          PORTOPS_UNROLL
          for (int k = 0; k < F::sides; ++k) {
            rows_.side[k].load(sides[k], at(rows_.side[k].operand, tile, first + r), count);
          }
        }
        const int left = tile.runs - first - r, there = left < some ? (left > 0 ? left : 0) : some;
        PORTOPS_UNROLL
        for (int i = 0; i < width; ++i) {
          A values[F::inputs][some], side[NormRows<T, F>::most_sides][some];
          PORTOPS_UNROLL
          for (int s = 0; s < some; ++s) {
            PORTOPS_UNROLL
            for (int k = 0; k < F::inputs; ++k) values[k][s] = static_cast<A>(loaded[k][r + s][i]);
            PORTOPS_UNROLL
            for (int k = 0; k < NormRows<T, F>::most_sides; ++k) side[k][s] = sides[k][i];
          }
          F().add(states[i], values, side, there);
        }
      }
    }
  }

  template <class E>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t at(const RowOperand<E>& operand, const DownTile& tile, int row) const {
    return rows_.axes.kept_offset(operand, tile.kept) + tile.column * operand.column_stride +
           rows_.axes.run_offset(operand, tile.run + std::int64_t{row} * tiles_.slots());
  }

  NormRows<T, F> rows_;
  RowParts parts_;
  DownTiles tiles_;
  std::int64_t results_;
  State* partials_;
};

}  // namespace portops::impl
