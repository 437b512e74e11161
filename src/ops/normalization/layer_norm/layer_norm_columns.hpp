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

/// The sums of columns that a gradient on a GPU takes apart from its rows: a team takes some columns of a part of the
/// rows, a thread a pack of columns of every slots-th row. Where rows lie, and their statistics, are found once for all
/// columns of a team. Each part leaves a sum of each column.
template <Backend B, class T>
class LayerNormGradColumns {
 public:
  using A = Arithmetic<T>;
  using State = GradientSums<A>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 2;
  std::int64_t first_team = 0;

  LayerNormGradColumns(const LayerNormTensors& t, const LayerNormPlan& plan, State* sums)
      : axes_(plan.rows),
        x_(plan.rows.operand[row_x]),
        out_grad_(plan.rows.operand[row_out_grad]),
        mean_(plan.rows, row_mean, t.mean, A(0)),
        inv_std_(plan.rows, row_inv_std, t.inv_std, A(0)),
        rows_(plan.rows.kept),
        rows_of_part_(static_cast<int>(plan.rows_of_team)),
        columns_(plan.rows.columns),
        column_blocks_(ceil_div(columns_, lanes * plan.rows.pack)),
        by_column_blocks_(column_blocks_),
        pack_(plan.rows.pack),
        sums_(sums) {}

  std::int64_t teams() const { return column_blocks_ * ceil_div(rows_, rows_of_part_); }
  std::size_t scratch_bytes() const {
    return std::max(static_cast<std::size_t>(rows_of_part_) * sizeof(Row), threads * widest * sizeof(State));
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    with_access<widest>(pack_, true,
                        [&]<class Access>(Access) { take<Access>(team, first_team + team.league_rank()); });
  }

 private:
  static constexpr int lanes = layer_norm_column_lanes, slots = threads / lanes;
  static constexpr int widest = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  /// What all columns of a row have in common.
  struct Row {
    std::int64_t x, out_grad;  ///< where it begins
    A mean, inv_std;
  };

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Team& team, std::int64_t index) const {
    constexpr int width = Access::width, batch = Access::batch(4);
    const int count = Access::count(pack_);
    const std::int64_t part = by_column_blocks_.quotient(index), block = index - part * column_blocks_;
    const std::int64_t first_row = part * rows_of_part_, left = rows_ - first_row;
    const int rows = left < rows_of_part_ ? static_cast<int>(left) : rows_of_part_;
    auto* const row = scratch_of<Row>(team);
    for (int r = team.team_rank(); r < rows; r += threads) row[r] = row_at(first_row + r);
    team.team_barrier();
    const int lane = team.team_rank() % lanes, slot = team.team_rank() / lanes;
    const std::int64_t column = (block * lanes + lane) * count;
    const bool has_columns = column < columns_;
    const T* const x = x_.data + column * x_.column_stride;
    const T* const out_grad = out_grad_.data + column * out_grad_.column_stride;
    State sums[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) sums[i] = JoinGradientSums<A>::identity();
    PORTOPS_NO_UNROLL
    for (int first = slot; has_columns && first < rows; first += batch * slots) {
      Word<T, width> in[batch], grad[batch];
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        in[b] = grad[b] = Word<T, width>(static_cast<T>(0.0f));
        const int r = first + b * slots;
        if (r >= rows) continue;
        Access::load(in[b], x + row[r].x, x_.column_stride, count);
        Access::load(grad[b], out_grad + row[r].out_grad, out_grad_.column_stride, count);
      }
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int r = first + b * slots;
        if (r >= rows) continue;
        const A mean = row[r].mean, inv_std = row[r].inv_std;
        PORTOPS_UNROLL
        for (int i = 0; i < width; ++i) {
          const A normal = (static_cast<A>(in[b][i]) - mean) * inv_std, out = static_cast<A>(grad[b][i]);
          sums[i].sum += out;
          sums[i].product = Kokkos::fma(out, normal, sums[i].product);
        }
      }
    }
    team.team_barrier();  // the scratch was the rows'
    join_over_slots(team, scratch_of<State>(team), slots, lanes, sums, JoinGradientSums<A>());
    if (slot != 0 || !has_columns) return;
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      if (i < count) sums_[part * columns_ + column + i] = sums[i];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Row row_at(std::int64_t index) const {
    return {axes_.kept_offset(x_, index), axes_.kept_offset(out_grad_, index),
            mean_.get(axes_.kept_offset(mean_.operand, index)),
            inv_std_.get(axes_.kept_offset(inv_std_.operand, index))};
  }

  RowAxes axes_;
  RowOperand<const T> x_, out_grad_;
  Side<T> mean_, inv_std_;
  std::int64_t rows_;
  int rows_of_part_;
  std::int64_t columns_, column_blocks_;
  IndexDivisor by_column_blocks_;
  int pack_;
  State* sums_;
};

}  // namespace portops::impl
