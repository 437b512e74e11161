// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/normalization/norm_chains.hpp"

#include <algorithm>

namespace portops::impl {

/// The same as NormReduceAlong where runs follow each other at equal distances, of whole packs of the widest access,
/// and sides are the same for all terms of a result: a thread finds its next pack by additions.
template <Backend B, class T, class F>
class NormReduceRuns {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 3;

  static bool suits(const NormPlan& plan) {
    const ReducePlan& rows = plan.rows;
    if (!plan.along() || rows.pack != width || rows.rank - rows.kept_rank > 1) return false;
    return are_steady(rows, F::inputs, F::sides) &&
           std::all_of(rows.operand.begin(), rows.operand.begin() + F::inputs,
                       [](const ReducePlan::Operand& operand) { return operand.packs; });
  }

  NormReduceRuns(const NormRows<T, F>& rows, const NormPlan& plan, State* partials)
      : axes_(rows.axes),
        kept_(plan.rows.kept),
        by_kept_(plan.rows.kept),
        row_packs_(plan.row_packs),
        by_row_packs_(plan.row_packs),
        terms_(plan.terms),
        part_terms_(plan.part_terms),
        parts_(plan.parts),
        threads_(plan.threads),
        packs_to_end_(static_cast<int>(std::min(plan.row_packs, many_packs))),
        packs_of_step_(static_cast<int>(plan.threads % plan.row_packs)),
        partials_(partials) {
    for (int k = 0; k < F::inputs; ++k) {
      in_[k] = rows.in[k];
      run_stride_[k] = axes_.run_stride(in_[k]);
      step_[k] = threads_ / row_packs_ * run_stride_[k] + std::int64_t{packs_of_step_} * width;
      next_run_[k] = run_stride_[k] - row_packs_ * width;
    }
    for (int k = 0; k < F::sides; ++k) side_[k] = rows.side[k];
  }

  int threads() const { return threads_; }
  std::int64_t teams() const { return kept_ * parts_; }
  std::size_t scratch_bytes() const { return 3 * norm_most_threads / 32 * sizeof(A); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t group = first_team + team.league_rank();
    const std::int64_t part = by_kept_.quotient(group), kept = group - part * kept_;
    const std::int64_t begin = part * part_terms_, rest = terms_ - begin;
    const int packs = static_cast<int>(rest < part_terms_ ? rest : part_terms_);
    const int own = packs > team.team_rank() ? (packs - team.team_rank() - 1) / threads_ + 1 : 0;
    NormChains<A, F, width> chains;
    add_up(chains, kept, begin + team.team_rank(), own);
    const State state = chains.joined(team, scratch_of<A>(team), own, packs);
    if (team.team_rank() == 0) partials_[group] = state;
  }

 private:
  static constexpr int width = reduce_along_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = norm_batch(reduce_along_pack_bytes, F::inputs);
  static constexpr int most_sides = F::sides > 0 ? F::sides : 1;
  /// More than a part has.
  static constexpr std::int64_t many_packs = std::int64_t{1} << 30;

  /// Where a thread's next pack is.
  struct Cursor {
    const T* at[F::inputs];
    int left;  ///< packs from there to the end of the run, or many
  };

  /// Adds up `packs` packs, threads_ apart, from the result's pack `first` on.
  KOKKOS_FORCEINLINE_FUNCTION void add_up(NormChains<A, F, width>& chains, std::int64_t kept, std::int64_t first,
                                          int packs) const {
    if (packs == 0) return;
    A side[most_sides] = {};
    PORTOPS_UNROLL
    for (int k = 0; k < F::sides; ++k) side[k] = side_[k].get(axes_.kept_offset(side_[k].operand, kept));
    const std::int64_t run = by_row_packs_.quotient(first), in_run = first - run * row_packs_;
    Cursor cursor;
    cursor.left = row_packs_ - in_run < many_packs ? static_cast<int>(row_packs_ - in_run) : packs_to_end_;
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      cursor.at[k] = pinned(in_[k].data + axes_.kept_offset(in_[k], kept) + run * run_stride_[k] + in_run * width);
    }
    take_batch<true>(chains, cursor, side, packs);
    PORTOPS_NO_UNROLL
    for (int taken = batch; taken < packs; taken += batch) take_batch<false>(chains, cursor, side, packs - taken);
  }

  /// Takes in a batch, as far as there are packs.
  template <bool is_first>
  KOKKOS_FORCEINLINE_FUNCTION void take_batch(NormChains<A, F, width>& chains, Cursor& cursor,
                                              const A (&side)[most_sides], int packs) const {
    Word<T, width> loaded[F::inputs][batch];
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) {
        loaded[k][b] = Word<T, width>(static_cast<T>(0.0f));
        if (b < packs) loaded[k][b] = *reinterpret_cast<const Word<T, width>*>(in_device_memory(cursor.at[k]));
      }
      advance(cursor);
    }
    if constexpr (is_first) chains.start(loaded, packs < batch ? packs : batch);
    chains.add(loaded, packs, side);
  }

  KOKKOS_FORCEINLINE_FUNCTION void advance(Cursor& cursor) const {
    cursor.left -= packs_of_step_;
    const bool ends = cursor.left <= 0;
    if (ends) cursor.left += packs_to_end_;
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      cursor.at[k] += step_[k];
      if (ends) cursor.at[k] += next_run_[k];
    }
  }

  RowAxes axes_;
  RowOperand<const T> in_[F::inputs];
  Side<T> side_[most_sides];
  std::int64_t kept_;
  IndexDivisor by_kept_;
  std::int64_t row_packs_;
  IndexDivisor by_row_packs_;
  std::int64_t terms_;
  std::int64_t part_terms_;
  std::int64_t parts_;
  int threads_;
  int packs_to_end_;   ///< of a run, or many
  int packs_of_step_;  ///< from a thread's pack to its next one, beside whole runs
  std::int64_t run_stride_[F::inputs];
  std::int64_t step_[F::inputs];      ///< elements
  std::int64_t next_run_[F::inputs];  ///< where a step ends behind the run
  State* partials_;
};

}  // namespace portops::impl
