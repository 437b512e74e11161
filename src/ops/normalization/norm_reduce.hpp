// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/down_tiles.hpp"
#include "ops/normalization/norm_join.hpp"
#include "ops/normalization/norm_rows.hpp"

#include <bit>

// Reductions on a GPU, of x and of what lies beside it. Each part of a result leaves its state; norm_join.hpp has what
// follows. `steady`: sides are the same for all terms of a result, and read once.

namespace portops::impl {

template <class A, int n>
KOKKOS_FORCEINLINE_FUNCTION void fill(A (&values)[n], A value) {
  PORTOPS_UNROLL
  for (int i = 0; i < n; ++i) values[i] = value;
}

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
  const int warps = lanes / warp;
  const State* const of_group = scratch + (team.team_rank() >> lane_bits) * warps;
  state = join_states_over_lanes<A>(of_group[team.team_rank() & (warps - 1)], warps, join);
  team.team_barrier();
  return state;
}

/// Of a team whose threads are a power of two.
template <class Team>
KOKKOS_FORCEINLINE_FUNCTION int team_bits(const Team& team) {
#if defined(__CUDA_ARCH__)
  return 31 - __clz(team.team_size());
#else
  return std::bit_width(static_cast<unsigned>(team.team_size())) - 1;
#endif
}

/// Sums of `count` numbers over groups of 2^lane_bits threads of a team, a warp or less or several warps, by a tree;
/// each thread gets its group's. `scratch` has room for so many numbers of each of the team's warps. Nothing waits in
/// the end: it may be written again behind another barrier.
template <int count, class A, class Team>
KOKKOS_FORCEINLINE_FUNCTION void sum_over_group(const Team& team, A* scratch, A (&values)[count], int lane_bits) {
  constexpr int warp = 32;
  const int lanes = 1 << lane_bits, warps = lanes / warp;
  PORTOPS_UNROLL
  for (A& value : values) value = sum_over_lanes(value, lanes < warp ? lanes : warp);
  if (warps <= 1) return;
  const int thread = team.team_rank(), warps_of_team = team.team_size() / warp;
  PORTOPS_UNROLL
  for (int k = 0; k < count; ++k) {
    if (thread % warp == 0) scratch[k * warps_of_team + thread / warp] = values[k];
  }
  team.team_barrier();
  const A* const of_group = scratch + (thread >> lane_bits) * warps + (thread & (warps - 1));
  PORTOPS_UNROLL
  for (int k = 0; k < count; ++k) values[k] = sum_over_lanes(of_group[k * warps_of_team], warps);
}

/// Results whose columns are reduced: a team takes a part of one, pack i of which falls to thread i modulo threads.
/// Teams go part by part, which is nearly the order of memory: what the last ones read is in a cache for what follows.
template <Backend B, class T, class F, bool steady>
class NormReduceAlong {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  /// Sides that are read with the inputs take registers.
  static constexpr int blocks = steady || F::sides == 0 ? 3 : 2;

  NormReduceAlong(const NormRows<T, F>& rows, const NormPlan& plan, State* partials)
      : rows_(rows),
        row_packs_(plan.row_packs),
        by_row_packs_(plan.row_packs),
        kept_(plan.rows.kept),
        terms_(plan.terms),
        part_terms_(plan.part_terms),
        parts_(plan.parts),
        by_kept_(plan.rows.kept),
        threads_(plan.threads),
        partials_(partials) {}

  int threads() const { return threads_; }
  std::int64_t teams() const { return kept_ * parts_; }
  std::size_t scratch_bytes() const { return norm_most_threads / 32 * sizeof(State); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t group = first_team + team.league_rank();
    const std::int64_t part = by_kept_.quotient(group), kept = group - part * kept_;
    auto sums = F::start();
    with_access<widest>(rows_.pack, rows_.packs, [&]<class Access>(Access) { add_up<Access>(sums, team, kept, part); });
    const State state = join_states_of_team<A>(team, scratch_of<State>(team), F::state_of(sums), F());
    if (team.team_rank() == 0) partials_[group] = state;
  }

 private:
  static constexpr int widest = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add_up(typename F::Sums& sums, const Team& team, std::int64_t kept,
                                          std::int64_t part) const {
    constexpr int width = Access::width,
                  batch = Access::batch(norm_batch(width * static_cast<int>(sizeof(T)), F::inputs));
    // Packs that are taken in together. Single columns come one pack at a time: so what there is comes first.
    constexpr int wanted = norm_values(static_cast<int>(sizeof(T))) / width;
    constexpr int some = F::sides > 0 || !at_once<Access> || wanted <= 1 ? 1 : wanted < batch ? wanted : batch;
    A steady_side[NormRows<T, F>::most_sides] = {};
    if constexpr (steady) {
      PORTOPS_UNROLL
      for (int k = 0; k < F::sides; ++k) {
        steady_side[k] = rows_.side[k].get(rows_.axes.kept_offset(rows_.side[k].operand, kept));
      }
    }
    const T* from[F::inputs];
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) from[k] = pinned(rows_.in[k].data + rows_.axes.kept_offset(rows_.in[k], kept));
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
            const std::int64_t stride = at_once<Access> ? 1 : rows_.in[k].column_stride;
            Access::load(loaded[k][b], from[k] + term_offset(rows_.in[k], term, count * stride), stride, count);
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
            if constexpr (steady) {
              fill(sides[k], steady_side[k]);
            } else {
              const auto& side = rows_.side[k].operand;
              const std::int64_t at_kept = rows_.axes.kept_offset(side, kept);
              rows_.side[k].load(sides[k], at_kept + term_offset(side, term, count * side.column_stride), count);
            }
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
        F().add(sums, values, sides, there);
      }
    }
  }

  /// Where the operand, whose packs are so far apart, has a term, from the position along the kept axes on.
  template <class E>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t term_offset(const RowOperand<E>& operand, std::int64_t term,
                                                       std::int64_t pack_stride) const {
    const std::int64_t run = by_row_packs_.quotient(term);
    return rows_.axes.run_offset(operand, run) + (term - run * row_packs_) * pack_stride;
  }

  NormRows<T, F> rows_;
  std::int64_t row_packs_;
  IndexDivisor by_row_packs_;
  std::int64_t kept_;
  std::int64_t terms_;
  std::int64_t part_terms_;
  std::int64_t parts_;
  IndexDivisor by_kept_;
  int threads_;
  State* partials_;
};

/// Joins what the slots of a tile have added up, each a pack of columns of which there are `count`, and leaves their
/// states from `to` on. All threads of the team call it.
template <class F, class Team, int width>
KOKKOS_FORCEINLINE_FUNCTION void leave_states(const Team& team, const DownTiles& tiles, const DownTile& tile,
                                              const typename F::Sums (&sums)[width], typename F::State* to, int count) {
  using State = typename F::State;
  State states[width];
  PORTOPS_UNROLL
  for (int i = 0; i < width; ++i) states[i] = F::state_of(sums[i]);
  join_over_slots(team, scratch_of<State>(team), tiles.slots(), tiles.lanes(), states, F());
  if (!tile.active || tiles.slot(team.team_rank()) != 0) return;
  PORTOPS_UNROLL
  for (int i = 0; i < width; ++i) {
    if (i < count) to[i] = states[i];
  }
}

/// Results whose columns are kept, by the tiles of a reduction: a thread keeps to a pack of columns and walks down the
/// rows of its slot, and the slots meet in a tree.
template <Backend B, class T, class F, bool steady>
class NormReduceDown {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 2;

  NormReduceDown(const NormRows<T, F>& rows, const NormPlan& plan, State* partials)
      : rows_(rows),
        parts_(plan.walked()),
        tiles_(plan.walked()),
        columns_(plan.walked().results()),
        by_plane_(plan.plane),
        results_(plan.rows),
        partials_(partials) {
    rows_.take_inputs(plan.walked());
  }

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
  /// Rows that are under way together, of all inputs; half as many where sides are not steady.
  static constexpr int most_rows = 16;

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Team& team, const DownTile& tile) const {
    constexpr int width = Access::width;
    const int count = Access::count(rows_.pack);
    typename F::Sums sums[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) sums[i] = F::start();
    add_up<Access>(tile, sums);
    leave_states<F>(team, tiles_, tile, sums, partials_ + tile.part * columns_ + column_of(tile), count);
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add_up(const DownTile& tile, typename F::Sums (&sums)[Access::width]) const {
    constexpr int width = Access::width, batch = Access::batch(most_rows / F::inputs / (steady ? 1 : 2));
    constexpr int some = F::sides > 0 ? 1 : batch;  // rows that are taken in together
    constexpr int most_sides = NormRows<T, F>::most_sides;
    const int count = Access::count(rows_.pack);
    const T* from[F::inputs];
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) from[k] = pinned(rows_.in[k].data + column_offset(rows_.in[k], tile));
    std::int64_t side_from[most_sides] = {};
    PORTOPS_UNROLL
    for (int k = 0; k < F::sides; ++k) side_from[k] = steady ? 0 : column_offset(rows_.side[k].operand, tile);
    A sides[most_sides][width] = {};
    if constexpr (steady) {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        if (!tile.active || i >= count) continue;
        const ResultPlaces::Place place = results_.locate(by_plane_.quotient(column_of(tile) + i));
        PORTOPS_UNROLL
        for (int k = 0; k < F::sides; ++k) sides[k][i] = rows_.side[k].get(results_.of(rows_.side[k].operand, place));
      }
    }
    PORTOPS_NO_UNROLL
    for (int first = 0; first < tile.runs; first += batch) {
      Word<T, width> loaded[F::inputs][batch];
      PORTOPS_UNROLL
      for (int r = 0; r < batch; ++r) {
        PORTOPS_UNROLL
        for (int k = 0; k < F::inputs; ++k) {
          loaded[k][r] = Word<T, width>(static_cast<T>(0.0f));
          if (first + r < tile.runs) {
            Access::load(loaded[k][r], from[k] + run_offset(rows_.in[k], tile, first + r), rows_.in[k].column_stride,
                         count);
          }
        }
      }
      // So are the sides that have a number for each row.
      A of_row[most_sides][batch];
      if constexpr (!steady) {
        PORTOPS_UNROLL
        for (int k = 0; k < F::sides; ++k) {
          PORTOPS_UNROLL
          for (int r = 0; r < batch; ++r) {
            of_row[k][r] = A(0);
            if (rows_.side[k].operand.column_stride == 0 && first + r < tile.runs) {
              of_row[k][r] = rows_.side[k].get(side_from[k] + run_offset(rows_.side[k].operand, tile, first + r));
            }
          }
        }
      }
      PORTOPS_UNROLL
      for (int r = 0; r < batch; r += some) {
        if constexpr (F::sides > 0) {
          if (first + r >= tile.runs) continue;
        }
        if constexpr (!steady) {
          PORTOPS_UNROLL
          for (int k = 0; k < F::sides; ++k) {
            if (rows_.side[k].operand.column_stride == 0) {
              fill(sides[k], of_row[k][r]);
            } else {
              rows_.side[k].load(sides[k], side_from[k] + run_offset(rows_.side[k].operand, tile, first + r), count);
            }
          }
        }
        const int left = tile.runs - first - r, there = left < some ? (left > 0 ? left : 0) : some;
        PORTOPS_UNROLL
        for (int i = 0; i < width; ++i) {
          A values[F::inputs][some], side[most_sides][some];
          PORTOPS_UNROLL
          for (int s = 0; s < some; ++s) {
            PORTOPS_UNROLL
            for (int k = 0; k < F::inputs; ++k) values[k][s] = static_cast<A>(loaded[k][r + s][i]);
            PORTOPS_UNROLL
            for (int k = 0; k < most_sides; ++k) side[k][s] = sides[k][i];
          }
          F().add(sums[i], values, side, there);
        }
      }
    }
  }

  /// Where the operand has the tile's first column, and what row `row` of the slot is from there.
  template <class E>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t column_offset(const RowOperand<E>& operand, const DownTile& tile) const {
    return rows_.axes.kept_offset(operand, tile.kept) + tile.column * operand.column_stride;
  }
  template <class E>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t run_offset(const RowOperand<E>& operand, const DownTile& tile,
                                                      int row) const {
    return rows_.axes.run_offset(operand, tile.run + std::int64_t{row} * tiles_.slots());
  }

  /// The thread's first column among those of all positions along the kept axes.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t column_of(const DownTile& tile) const {
    return tile.kept * parts_.columns + tile.column;
  }

  NormRows<T, F> rows_;
  RowParts parts_;
  DownTiles tiles_;
  std::int64_t columns_;  ///< of all positions along the kept axes
  IndexDivisor by_plane_;
  ResultPlaces results_;
  State* partials_;
};

}  // namespace portops::impl
