// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/copy_to_scratch.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/normalization/layer_norm/even_rows.hpp"
#include "ops/normalization/layer_norm/layer_norm_plan.hpp"
#include "ops/normalization/layer_norm/row_parameter.hpp"
#include "ops/normalization/norm_functions.hpp"
#include "ops/normalization/norm_reduce.hpp"

#include <bit>

namespace portops::impl {

/// The same as LayerNormGradAlong, with the sums of columns, for rows at equal distances in whole packs of the widest
/// access, beside a scale of type P. Each thread copies its packs of the row that comes next to the team's scratch,
/// from where it alone reads them: that row is on its way while the one before it is computed.
template <Backend B, class T, class P, int threads_of_team>
class LayerNormGradRows {
 public:
  using A = Arithmetic<T>;
  using State = GradientSums<A>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int most_threads = threads_of_team;
  static constexpr int blocks = 512 / most_threads;

  /// `sums` may be null, where no sums of columns are wanted.
  LayerNormGradRows(const LayerNormTensors& t, const LayerNormPlan& plan, State* sums)
      : x_(plan.rows.operand[row_x]),
        out_grad_(plan.rows.operand[row_out_grad]),
        x_grad_(plan.rows.operand[row_x_grad]),
        mean_(plan.rows.operand[row_mean]),
        inv_std_(plan.rows.operand[row_inv_std]),
        scale_(plan.rows.operand[row_scale], static_cast<bool>(t.scale), 1.0f),
        rows_(plan.rows.kept),
        columns_(static_cast<int>(plan.rows.columns)),
        inverse_count_(static_cast<A>(1.0 / static_cast<double>(plan.rows.columns))),
        teams_(plan.teams),
        writes_(static_cast<bool>(t.x_grad)),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))),
        sums_(sums) {}

  static int threads() { return most_threads; }
  std::int64_t teams() const { return teams_; }
  std::size_t scratch_bytes() const { return sizeof(Scratch); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto& scratch = *static_cast<Scratch*>(team.team_scratch(0).get_shmem_aligned(sizeof(Scratch), 16));
    const int thread = team.team_rank(), group = thread >> lane_bits_, groups = most_threads >> lane_bits_;
    const int own = (thread & ((1 << lane_bits_) - 1)) * width;
    const std::int64_t first_row = (first_team + team.league_rank()) * groups, rows_of_step = teams_ * groups;
    ask_for(scratch, thread, first_row + group, own);
    Statistics next = statistics_of(first_row + group);
    Columns columns(*this, own);
    int parity = 0;
    PORTOPS_NO_UNROLL
    for (std::int64_t first = first_row; first < rows_; first += rows_of_step) {
      const std::int64_t row = first + group;
      const Statistics of_row = next;
      Row held;
      wait_for_copies_to_scratch();
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        held.in[b] = *reinterpret_cast<const Word<T, width>*>(&scratch.pack[b][thread]);
        held.grad[b] = *reinterpret_cast<const Word<T, width>*>(&scratch.pack[batch + b][thread]);
      }
      ask_for(scratch, thread, row + rows_of_step, own);
      next = statistics_of(row + rows_of_step);
      take_row(team, scratch.of_warps[parity], held, {row < rows_ ? own : columns_, row, of_row}, columns);
      parity ^= 1;
    }
    if (sums_ != nullptr) leave(team, scratch.of_threads, own, groups, columns);
  }

 private:
  static constexpr int warp = 32;
  static constexpr int width = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = norm_values(sizeof(T)) / width;

  struct alignas(gpu_pack_bytes) Pack {
    std::byte bytes[gpu_pack_bytes];
  };
  struct Scratch {
    union {
      Pack pack[2 * batch][most_threads];
      State of_threads[most_threads * width];
    };
    A of_warps[2][2 * most_threads / warp];  ///< of a row, and the one before it
  };

  /// A thread's packs of a row, as they are in memory.
  struct Row {
    Word<T, width> in[batch], grad[batch];
  };
  struct Statistics {
    A mean, inv_std;
  };
  /// Where they are, and what the row's elements share.
  struct Place {
    int own;  ///< the first column; that behind the last one, if there is no row
    std::int64_t row;
    Statistics of_row;
  };
  /// Of a thread's columns, the elements of scale, and the sums.
  struct Columns {
    KOKKOS_FORCEINLINE_FUNCTION Columns(const LayerNormGradRows& kernel, int own) {
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        fill(scale[b], A(0));
        fill(sum[b], A(0));
        fill(product[b], A(0));
        const int column = own + b * kernel.step();
        if (column < kernel.columns_) kernel.scale_.load(scale[b], column);
      }
    }
    A scale[batch][width], sum[batch][width], product[batch][width];
  };

  KOKKOS_FORCEINLINE_FUNCTION int step() const { return width << lane_bits_; }

  /// Of the row, if there is one.
  KOKKOS_FORCEINLINE_FUNCTION Statistics statistics_of(std::int64_t row) const {
    const std::int64_t at = row < rows_ ? row : 0;
    return {*mean_.row(at), *inv_std_.row(at)};
  }

  /// Starts the copies of a thread's packs of a row, if there is one.
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(Scratch& scratch, int thread, std::int64_t row, int own) const {
    if (row >= rows_) return;
    const T* const x = pinned(x_.row(row) + own);
    const T* const out_grad = pinned(out_grad_.row(row) + own);
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      if (own + b * step() >= columns_) continue;
      copy_to_scratch(&scratch.pack[b][thread], x + b * step(), true);
      copy_to_scratch(&scratch.pack[batch + b][thread], out_grad + b * step(), true);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void take_row(const Team& team, A* of_warps, const Row& held, const Place& at,
                                            Columns& columns) const {
    A of_sum[4], of_product[4];
    fill(of_sum, A(0));
    fill(of_product, A(0));
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      if (at.own + b * step() >= columns_) continue;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        const A normal = (static_cast<A>(held.in[b][i]) - at.of_row.mean) * at.of_row.inv_std;
        const A out = static_cast<A>(held.grad[b][i]);
        const A weighted = out * columns.scale[b][i];
        of_sum[i % 4] += weighted;
        of_product[i % 4] = Kokkos::fma(weighted, normal, of_product[i % 4]);
        columns.sum[b][i] += out;
        columns.product[b][i] = Kokkos::fma(out, normal, columns.product[b][i]);
      }
    }
    if (!writes_) return;
    A total[2] = {sum_of(of_sum), sum_of(of_product)};
    sum_over_group(team, of_warps, total, lane_bits_);
    const A mean_of_sum = total[0] * inverse_count_, mean_of_product = total[1] * inverse_count_;
    T* const x_grad = pinned(x_grad_.row(at.row) + at.own);
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      if (at.own + b * step() >= columns_) continue;
      Word<T, width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        const A values[2] = {static_cast<A>(held.in[b][i]), static_cast<A>(held.grad[b][i])};
        const A side[5] = {at.of_row.mean, at.of_row.inv_std, columns.scale[b][i], mean_of_sum, mean_of_product};
        results.set(i, static_cast<T>(NormalizeGrad<A>()(values, side)));
      }
      *reinterpret_cast<Word<T, width>*>(in_device_memory(x_grad + b * step())) = results;
    }
  }

  /// Joins the groups' sums, and leaves the team's.
  KOKKOS_FORCEINLINE_FUNCTION void leave(const Team& team, State* of_threads, int own, int groups,
                                         const Columns& columns) const {
    team.team_barrier();  // the scratch was that of the rows
    State* const sums = sums_ + (first_team + team.league_rank()) * columns_;
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      State states[width];
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) states[i] = {columns.sum[b][i], columns.product[b][i]};
      join_over_slots(team, of_threads, groups, 1 << lane_bits_, states, JoinGradientSums<A>());
      const int column = own + b * step();
      if (team.team_rank() >> lane_bits_ != 0 || column >= columns_) continue;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) sums[column + i] = states[i];
    }
  }

  EvenRows<const T> x_, out_grad_;
  EvenRows<T> x_grad_;
  EvenRows<const A> mean_, inv_std_;
  RowParameter<P> scale_;
  std::int64_t rows_;
  int columns_;
  A inverse_count_;
  std::int64_t teams_;
  bool writes_;
  int lane_bits_;
  State* sums_;
};

}  // namespace portops::impl
