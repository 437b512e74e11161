// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/normalization/layer_norm/even_rows.hpp"
#include "ops/normalization/layer_norm/layer_norm_plan.hpp"
#include "ops/normalization/layer_norm/row_parameter.hpp"
#include "ops/normalization/layer_norm/shifted_rows.hpp"
#include "ops/normalization/norm_functions.hpp"
#include "ops/normalization/norm_reduce.hpp"

#include <algorithm>
#include <bit>

namespace portops::impl {

/// The means over a row, on a GPU, of out_grad · scale and of that times the normalised x, which the gradient of all
/// its elements takes: a group of lanes takes a row of neighbouring columns, beside a scale of type P.
template <Backend B, class T, class P>
class LayerNormGradMeans {
 public:
  using A = Arithmetic<T>;
  using State = GradientSums<A>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int most_threads = layer_norm_most_lanes;
  static constexpr int blocks = 2;

  LayerNormGradMeans(const LayerNormTensors& t, const LayerNormPlan& plan, State* means)
      : x_(plan.rows.operand[row_x]),
        out_grad_(plan.rows.operand[row_out_grad]),
        mean_(plan.rows.operand[row_mean]),
        inv_std_(plan.rows.operand[row_inv_std]),
        scale_(plan.rows.operand[row_scale], static_cast<bool>(t.scale), 1.0f),
        rows_(plan.rows.kept),
        columns_(static_cast<int>(plan.rows.columns)),
        inverse_count_(static_cast<A>(1.0 / static_cast<double>(plan.rows.columns))),
        aligned_(have_shifted_packs(plan.rows, ElementTypeOf<T>::value, {row_x, row_out_grad})),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))),
        team_bits_(std::max(lane_bits_, least_team_bits)),
        means_(means) {}

  int threads() const { return 1 << team_bits_; }
  std::int64_t teams() const { return ceil_div(rows_, threads() >> lane_bits_); }
  std::size_t scratch_bytes() const { return 2 * most_threads / warp * sizeof(A); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t row =
        ((first_team + team.league_rank()) << (team_bits_ - lane_bits_)) + (team.team_rank() >> lane_bits_);
    const int lane = team.team_rank() & ((1 << lane_bits_) - 1), step = width << lane_bits_;
    A of_sum[chains], of_product[chains];
    fill(of_sum, A(0));
    fill(of_product, A(0));
    if (row < rows_) {
      const ShiftedRow<T> shifted(row, columns_, aligned_);
      const T* const x = x_.row(row);
      const T* const out_grad = out_grad_.row(row);
      const A mean = *mean_.row(row), inv_std = *inv_std_.row(row);
      PORTOPS_NO_UNROLL
      for (int first = lane * width; first < shifted.end; first += batch * step) {
        Word<T, width> in[batch], grad[batch];
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          in[b] = grad[b] = Word<T, width>(static_cast<T>(0.0f));
          if (first + b * step >= shifted.end) continue;
          shifted.load(in[b], x, first + b * step);
          shifted.load(grad[b], out_grad, first + b * step);
        }
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          if (first + b * step >= shifted.end) continue;
          A scale[width];
          scale_.load_any(scale, first + b * step - shifted.before, columns_);
          PORTOPS_UNROLL
          for (int i = 0; i < width; ++i) {
            const A weighted = static_cast<A>(grad[b][i]) * scale[i];
            of_sum[i % chains] += weighted;
            const A normal = (static_cast<A>(in[b][i]) - mean) * inv_std;
            of_product[i % chains] = Kokkos::fma(weighted, normal, of_product[i % chains]);
          }
        }
      }
    }
    A total[2] = {sum_of(of_sum), sum_of(of_product)};
    sum_over_group(team, scratch_of<A>(team), total, lane_bits_);
    if (lane == 0 && row < rows_) means_[row] = {total[0] * inverse_count_, total[1] * inverse_count_};
  }

 private:
  static constexpr int warp = 32;
  static constexpr int least_team_bits = 7;
  static constexpr int width = ShiftedRow<T>::width;
  static constexpr int batch = 2;
  static constexpr int chains = width < 4 ? width : 4;

  EvenRows<const T> x_, out_grad_;
  EvenRows<const A> mean_, inv_std_;
  RowParameter<P> scale_;
  std::int64_t rows_;
  int columns_;
  A inverse_count_;
  bool aligned_;
  int lane_bits_;
  int team_bits_;
  State* means_;
};

}  // namespace portops::impl
