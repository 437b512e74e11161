// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/scratch_word.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/reduce/rows.hpp"
#include "ops/softmaxes/softmax_numbers.hpp"
#include "ops/softmaxes/softmax_rows.hpp"

#include <algorithm>
#include <bit>

namespace portops::impl {

/// The same as SoftmaxAlong for short rows that lie one behind the other in memory, where packs of a row would be
/// narrow: a team copies a tile of rows into its scratch, by packs that may reach from a row into the next one. There a
/// group of lanes takes each row, each lane every lanes-th column, and results go to memory as the rows came from it.
/// Of many rows that one thread can keep several of, it takes these one after the other (`takes_several`).
template <Backend B, class T, class F, bool takes_several>
class SoftmaxTiles {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = sizeof(T) == 8 ? 2 : 4;

  static bool suits(const ReducePlan& plan) {
    return plan.parts() == 1 && plan.pack != pack && plan.columns <= most_lanes * most_numbers &&
           rows_are_neighbours(plan, F::inputs + (F::writes ? 1 : 0));
  }

  SoftmaxTiles(const SoftmaxRows<T, F>& rows, const ReducePlan& plan)
      : rows_(rows), out_packs_(has_packs(rows.out)), kept_(plan.kept), columns_(static_cast<int>(plan.columns)) {
    for (int k = 0; k < F::inputs; ++k) in_packs_[k] = has_packs(rows.in[k]);
    const std::int64_t lanes = ceil_div(columns_, most_numbers);
    lane_bits_ = std::bit_width(static_cast<unsigned>(lanes - 1));
    rounds_ = takes_several ? rounds(plan) : 1;
  }

  /// How many rows a thread takes.
  static int rounds(const ReducePlan& plan) {
    const std::int64_t kept = plan.kept / (threads * 2 * gpu_teams_at_once);
    return static_cast<int>(std::clamp<std::int64_t>(kept, 1, std::max<std::int64_t>(most_numbers / plan.columns, 1)));
  }

  std::int64_t teams() const { return ceil_div(kept_, tile_rows()); }
  std::size_t scratch_bytes() const { return F::inputs * tile_elements() * sizeof(T); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    T* const tile = scratch_of<T>(team);
    const std::int64_t first_row = (first_team + team.league_rank()) * tile_rows();
    const int rows = kept_ - first_row < tile_rows() ? static_cast<int>(kept_ - first_row) : tile_rows();
    const std::int64_t start = first_row * columns_;
    const int elements = rows * columns_;
    const int lane = team.team_rank() & (lanes() - 1);
    const auto row_at = [&](int row) { return rows_.row(first_row + (row < rows ? row : 0), 0, 0); };
    const auto finishes = [&](int row) { return row < rows && lane == 0; };
    int row = team.team_rank() >> lane_bits_;
    auto asked = ask(rows_.f, row_at(row), finishes(row));
    load(tile, start, elements, team.team_rank());
    ask_more(rows_.f, row_at(row), finishes(row), asked);
    team.team_barrier();
    if constexpr (takes_several) {
      PORTOPS_NO_UNROLL
      for (int round = 0; round < rounds_; ++round) {
        take(tile, row, row < rows, lane, row_at(row), asked, finishes(row));
        if (round + 1 == rounds_) break;
        row += threads >> lane_bits_;
        asked = ask(rows_.f, row_at(row), finishes(row));
        ask_more(rows_.f, row_at(row), finishes(row), asked);
      }
    } else {
      take(tile, row, row < rows, lane, row_at(row), asked, finishes(row));
    }
    if constexpr (F::writes) {
      team.team_barrier();
      store(tile, start, elements, team.team_rank());
    }
  }

 private:
  static constexpr int pack = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int most_lanes = 32;
  /// Numbers that a thread has of an input. As few lanes as can have a row share it: what they do besides is the same
  /// for one number.
  static constexpr int most_numbers = softmax_kept_numbers(sizeof(T)) / F::inputs;
  /// Packs of an input that a thread copies.
  static constexpr int batch = most_numbers / pack;
  static_assert(most_numbers % pack == 0);

  /// A row of the tile, if it exists: in scratch, where results replace the first input.
  template <class Asked>
  KOKKOS_FORCEINLINE_FUNCTION void take(T* tile, int row, bool is_row, int lane, const SoftmaxRow& of_row, Asked& asked,
                                        bool finishes) const {
    const int count = is_row ? ((columns_ - lane - 1) >> lane_bits_) + 1 : 0;
    T* const own = tile + row * columns_ + lane;
    A numbers[F::inputs][most_numbers];
    const auto exists = [&](int i) { return i < count; };
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      PORTOPS_UNROLL
      for (int i = 0; i < most_numbers; ++i) numbers[k][i] = F::fill(k);
      PORTOPS_UNROLL
      for (int i = 0; i < most_numbers; ++i) {
        if (i % softmax_some == 0 && !exists(i)) break;
        if (exists(i)) numbers[k][i] = static_cast<A>(own[k * tile_elements() + (i << lane_bits_)]);
      }
    }
    take_numbers<true>(
        rows_.f, of_row, numbers, exists, [&](int i) { return lane + (i << lane_bits_); },
        [&](A value, const auto& join) { return join_over_lanes(value, lanes(), join); }, asked, finishes);
    if constexpr (F::writes) {
      PORTOPS_UNROLL
      for (int i = 0; i < most_numbers; ++i) {
        if (i % softmax_some == 0 && !exists(i)) break;
        if (exists(i)) own[i << lane_bits_] = static_cast<T>(numbers[0][i]);
      }
    }
  }

  /// Whether packs of tiles are aligned: the rows of a tile are a multiple of eight.
  template <class E>
  static bool has_packs(const RowOperand<E>& operand) {
    return reinterpret_cast<std::uintptr_t>(operand.data) % gpu_pack_bytes == 0;
  }

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }
  KOKKOS_FORCEINLINE_FUNCTION int tile_rows() const { return (threads >> lane_bits_) * (takes_several ? rounds_ : 1); }
  KOKKOS_FORCEINLINE_FUNCTION int tile_elements() const { return tile_rows() * columns_; }

  /// Copies the tile's elements of all inputs into scratch.
  KOKKOS_FORCEINLINE_FUNCTION void load(T* tile, std::int64_t start, int elements, int thread) const {
    Word<T, pack> words[F::inputs][batch];
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      const T* const from = pinned(rows_.in[k].data + start);
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int at = (b * threads + thread) * pack;
        if (in_packs_[k] && at + pack <= elements) ColumnAccess<pack, true>::load(words[k][b], from + at, 1, pack);
      }
    }
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      const T* const from = rows_.in[k].data + start;
      T* const to = tile + k * tile_elements();
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int at = (b * threads + thread) * pack;
        if (in_packs_[k] && at + pack <= elements) {
          *reinterpret_cast<ScratchWord<T, pack>*>(to + at) = words[k][b];
        }
      }
      PORTOPS_NO_UNROLL
      for (int at = thread + in_packs(in_packs_[k], elements); at < elements; at += threads) to[at] = from[at];
    }
  }

  /// Copies results out of scratch.
  KOKKOS_FORCEINLINE_FUNCTION void store(const T* tile, std::int64_t start, int elements, int thread) const {
    T* const to = pinned(rows_.out.data + start);
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      const int at = (b * threads + thread) * pack;
      if (out_packs_ && at + pack <= elements) {
        const Word<T, pack> word = *reinterpret_cast<const ScratchWord<T, pack>*>(tile + at);
        ColumnAccess<pack, true>::store(to + at, word, 1, pack);
      }
    }
    PORTOPS_NO_UNROLL
    for (int at = thread + in_packs(out_packs_, elements); at < elements; at += threads) to[at] = tile[at];
  }

  /// The elements that packs have.
  KOKKOS_FORCEINLINE_FUNCTION static int in_packs(bool packs, int elements) {
    return packs ? elements & ~(pack - 1) : 0;
  }

  SoftmaxRows<T, F> rows_;
  bool in_packs_[F::inputs];
  bool out_packs_;
  std::int64_t kept_;
  int columns_;
  int lane_bits_;
  int rounds_;  ///< in which a group of lanes takes its rows
};

}  // namespace portops::impl
