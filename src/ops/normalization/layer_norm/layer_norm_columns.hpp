// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/normalization/layer_norm/layer_norm_plan.hpp"
#include "ops/normalization/norm_functions.hpp"
#include "ops/normalization/norm_reduce.hpp"

#include <algorithm>

namespace portops::impl {

/// The gradient of rows whose sums are known (LayerNormGradMeans), and the sums of columns: a team takes some columns
/// of a part of the rows, a thread a few columns of every slots-th row. Where rows lie, and their statistics, are found
/// once for all columns of a team. Each part leaves a sum of each column. `neighbours`: a thread's columns are a pack
/// of the widest access; else they are a warp apart, so that lanes read neighbours wherever rows begin.
template <Backend B, class T, bool neighbours>
class LayerNormGradColumns {
 public:
  using A = Arithmetic<T>;
  using State = GradientSums<A>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 2;
  std::int64_t first_team = 0;

  /// `means` of the rows may be null where x_grad is not wanted, and `sums` where no sums of columns are.
  LayerNormGradColumns(const LayerNormTensors& t, const LayerNormPlan& plan, const State* means, State* sums)
      : axes_(plan.rows),
        x_(plan.rows.operand[row_x]),
        out_grad_(plan.rows.operand[row_out_grad]),
        x_grad_(plan.rows.operand[row_x_grad]),
        mean_(plan.rows, row_mean, t.mean, A(0)),
        inv_std_(plan.rows, row_inv_std, t.inv_std, A(0)),
        scale_(plan.rows, row_scale, t.scale, A(1)),
        rows_(plan.rows.kept),
        rows_of_part_(static_cast<int>(plan.rows_of_team)),
        columns_(plan.rows.columns),
        column_blocks_(ceil_div(columns_, lanes * width)),
        by_column_blocks_(column_blocks_),
        means_(t.x_grad ? means : nullptr),
        sums_(sums) {}

  std::int64_t teams() const { return column_blocks_ * ceil_div(rows_, rows_of_part_); }
  std::size_t scratch_bytes() const {
    return std::max(static_cast<std::size_t>(rows_of_part_) * sizeof(Row), threads * width * sizeof(State));
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t index = first_team + team.league_rank(), part = by_column_blocks_.quotient(index);
    const std::int64_t first_row = part * rows_of_part_, left = rows_ - first_row;
    const int rows = left < rows_of_part_ ? static_cast<int>(left) : rows_of_part_;
    auto* const row = scratch_of<Row>(team);
    for (int r = team.team_rank(); r < rows; r += threads) row[r] = row_at(first_row + r);
    team.team_barrier();
    const int lane = team.team_rank() % lanes, slot = team.team_rank() / lanes;
    const std::int64_t column = (index - part * column_blocks_) * (lanes * width) + lane * (neighbours ? width : 1);
    State sums[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) sums[i] = JoinGradientSums<A>::identity();
    if (column < columns_) {
      A scale[width];
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) scale[i] = has(column, i) ? scale_.get(column + i * apart) : A(0);
      PORTOPS_NO_UNROLL
      for (int first = slot; first < rows; first += batch * slots) take_rows(row, first, rows, column, scale, sums);
    }
    if (sums_ == nullptr) return;
    team.team_barrier();  // the scratch was the rows'
    join_over_slots(team, scratch_of<State>(team), slots, lanes, sums, JoinGradientSums<A>());
    if (slot != 0) return;
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      if (has(column, i)) sums_[part * columns_ + column + i * apart] = sums[i];
    }
  }

 private:
  static constexpr int lanes = layer_norm_column_lanes, slots = threads / lanes;
  static constexpr int width =
      neighbours ? reduce_along_pack_bytes / static_cast<int>(sizeof(T)) : layer_norm_columns_apart;
  static constexpr int batch = 4;
  /// From one of a thread's columns to its next one.
  static constexpr int apart = neighbours ? 1 : lanes;

  /// What all columns of a row have in common.
  struct Row {
    std::int64_t x, out_grad, x_grad;  ///< where it begins
    A mean, inv_std, mean_of_sum, mean_of_product;
  };

  /// Whether a thread has its i-th column.
  KOKKOS_FORCEINLINE_FUNCTION bool has(std::int64_t column, int i) const { return column + i * apart < columns_; }

  KOKKOS_FORCEINLINE_FUNCTION void load(T (&values)[width], const T* from, std::int64_t column) const {
    if constexpr (neighbours) {
      const auto word = *reinterpret_cast<const Word<T, width>*>(in_device_memory(from));
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) values[i] = word[i];
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        if (has(column, i)) values[i] = from[i * apart];
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void store(T* to, const A (&values)[width], std::int64_t column) const {
    if constexpr (neighbours) {
      Word<T, width> word;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) word.set(i, static_cast<T>(values[i]));
      *reinterpret_cast<Word<T, width>*>(in_device_memory(to)) = word;
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        if (has(column, i)) to[i * apart] = static_cast<T>(values[i]);
      }
    }
  }

  /// Takes a batch of the slot's rows, as far as they exist: all are under way before the first one is used.
  KOKKOS_FORCEINLINE_FUNCTION void take_rows(const Row* row, int first, int rows, std::int64_t column,
                                             const A (&scale)[width], State (&sums)[width]) const {
    T in[batch][width], grad[batch][width];
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      fill(in[b], static_cast<T>(0.0f));
      fill(grad[b], static_cast<T>(0.0f));
      const int r = first + b * slots;
      if (r >= rows) continue;
      load(in[b], x_.data + row[r].x + column, column);
      load(grad[b], out_grad_.data + row[r].out_grad + column, column);
    }
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      const int r = first + b * slots;
      if (r >= rows) continue;
      const Row of = row[r];
      A results[width];
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        const A values[2] = {static_cast<A>(in[b][i]), static_cast<A>(grad[b][i])};
        const A side[5] = {of.mean, of.inv_std, scale[i], of.mean_of_sum, of.mean_of_product};
        results[i] = NormalizeGrad<A>()(values, side);
        sums[i].sum += values[1];
        sums[i].product = Kokkos::fma(values[1], (values[0] - of.mean) * of.inv_std, sums[i].product);
      }
      if (means_ != nullptr) store(x_grad_.data + of.x_grad + column, results, column);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Row row_at(std::int64_t index) const {
    const State means = means_ != nullptr ? means_[index] : State{A(0), A(0)};
    return {axes_.kept_offset(x_, index),
            axes_.kept_offset(out_grad_, index),
            axes_.kept_offset(x_grad_, index),
            mean_.get(axes_.kept_offset(mean_.operand, index)),
            inv_std_.get(axes_.kept_offset(inv_std_.operand, index)),
            means.sum,
            means.product};
  }

  RowAxes axes_;
  RowOperand<const T> x_, out_grad_;
  RowOperand<T> x_grad_;
  Side<T> mean_, inv_std_, scale_;
  std::int64_t rows_;
  int rows_of_part_;
  std::int64_t columns_, column_blocks_;
  IndexDivisor by_column_blocks_;
  const State* means_;
  State* sums_;
};

}  // namespace portops::impl
