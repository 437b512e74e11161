// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/exec/spaces.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/scratch_word.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/reduce/rows.hpp"
#include "ops/softmaxes/softmax_numbers.hpp"
#include "ops/softmaxes/softmax_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

namespace portops::impl {

/// The same as SoftmaxTiles for rows of so few columns that a thread takes as many as fill whole packs, from memory to
/// registers. Where these are several, their results go through the team's scratch, and from there side by side.
template <Backend B, class T, class F, int columns>
class SoftmaxShort {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 0;  ///< as many teams at once as the registers allow

  /// Whether rows lie one behind the other in memory, their first packs aligned.
  static bool suits(const ReducePlan& plan) {
    return rows_are_neighbours(plan, F::inputs + 1) &&
           std::all_of(plan.operand.begin(), plan.operand.begin() + F::inputs + 1, [](const auto& operand) {
             return reinterpret_cast<std::uintptr_t>(operand.data) % gpu_pack_bytes == 0;
           });
  }

  SoftmaxShort(const SoftmaxRows<T, F>& rows, const ReducePlan& plan) : rows_(rows), kept_(plan.kept) {}

  std::int64_t teams() const { return ceil_div(kept_, rows_of_team); }
  static constexpr std::size_t scratch_bytes() { return packs > 1 ? threads * packs * gpu_pack_bytes : 0; }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t first = (first_team + team.league_rank()) * rows_of_team;
    const int thread = team.team_rank();
    if (first + rows_of_team <= kept_) {
      take_packs(team, first, thread);
    } else {
      PORTOPS_NO_UNROLL
      for (std::int64_t row = first + thread; row < kept_; row += threads) take_row(row);
    }
  }

 private:
  static constexpr int pack = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int packs = std::lcm(columns, pack) / pack;  ///< of a thread
  static constexpr int rows_of_thread = packs * pack / columns;
  static constexpr int rows_of_team = threads * rows_of_thread;

  KOKKOS_FORCEINLINE_FUNCTION void take_packs(const Team& team, std::int64_t first, int thread) const {
    Word<T, pack> words[F::inputs][packs];
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      const T* const from = pinned(rows_.in[k].data + (first + thread * rows_of_thread) * columns);
      PORTOPS_UNROLL
      for (int p = 0; p < packs; ++p) ColumnAccess<pack, true>::load(words[k][p], from + p * pack, 1, pack);
    }
    PORTOPS_UNROLL
    for (int row = 0; row < rows_of_thread; ++row) {
      A numbers[F::inputs][columns];
      for_each_number(row * columns, [&](int i, int p, int of_pack) {
        PORTOPS_UNROLL
        for (int k = 0; k < F::inputs; ++k) numbers[k][i] = static_cast<A>(words[k][p][of_pack]);
      });
      take(first + thread * rows_of_thread + row, numbers);
      for_each_number(row * columns,
                      [&](int i, int p, int of_pack) { words[0][p].set(of_pack, static_cast<T>(numbers[0][i])); });
    }
    T* const to = pinned(rows_.out.data + first * columns + thread * pack);
    if constexpr (packs == 1) {
      ColumnAccess<pack, true>::store(to, words[0][0], 1, pack);
    } else {
      auto* const scratch = scratch_of<ScratchWord<T, pack>>(team);
      PORTOPS_UNROLL
      for (int p = 0; p < packs; ++p) scratch[thread * packs + p] = words[0][p];
      team.team_barrier();
      PORTOPS_UNROLL
      for (int p = 0; p < packs; ++p) {
        const Word<T, pack> word = scratch[p * threads + thread];
        ColumnAccess<pack, true>::store(to + p * threads * pack, word, 1, pack);
      }
    }
  }

  /// A row of the last team.
  KOKKOS_FORCEINLINE_FUNCTION void take_row(std::int64_t row) const {
    A numbers[F::inputs][columns];
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      PORTOPS_UNROLL
      for (int i = 0; i < columns; ++i) numbers[k][i] = static_cast<A>(rows_.in[k].data[row * columns + i]);
    }
    take(row, numbers);
    PORTOPS_UNROLL
    for (int i = 0; i < columns; ++i) rows_.out.data[row * columns + i] = static_cast<T>(numbers[0][i]);
  }

  /// Calls action(i, pack, number in it) for the i-th number of the row that begins with the first-th of a thread.
  template <class Action>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_number(int first, const Action& action) {
    PORTOPS_UNROLL
    for (int i = 0; i < columns; ++i) action(i, (first + i) / pack, (first + i) % pack);
  }

  KOKKOS_FORCEINLINE_FUNCTION void take(std::int64_t row, A (&numbers)[F::inputs][columns]) const {
    take_numbers<false>(
        rows_.f, rows_.row(row, 0, 0), numbers, [](int) { return true; }, [](int i) { return i; },
        [](A value, const auto&) { return value; }, {}, false);
  }

  SoftmaxRows<T, F> rows_;
  std::int64_t kept_;
};

/// Enqueues a SoftmaxShort of as many columns as the rows have, if there is one that suits. Returns whether it does.
template <Backend B, class T, class F, int columns = 8>
bool launch_short_softmax(const Context& ctx, const std::string& label, const SoftmaxRows<T, F>& rows,
                          const ReducePlan& plan) {
  using Short = SoftmaxShort<B, T, F, columns>;
  if (plan.columns == columns) {
    if (!Short::suits(plan)) return false;
    launch_by_teams<B>(ctx, label, Short(rows, plan));
    return true;
  }
  if constexpr (columns > 1) return launch_short_softmax<B, T, F, columns - 1>(ctx, label, rows, plan);
  return false;
}

}  // namespace portops::impl
