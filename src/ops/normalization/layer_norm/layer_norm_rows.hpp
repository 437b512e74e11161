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

/// The same as LayerNormAlong for rows of neighbouring columns at equal distances, beside scale and bias of type P: a
/// lane has `batch` packs of a row at most, of the widest access. `shifts`: where rows are not made of whole packs, or
/// scale and bias lie elsewhere than packs do.
template <Backend B, class T, class P, int batch, int most_lanes, bool shifts>
class LayerNormRows {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int most_threads = most_lanes;
  static constexpr int blocks = sizeof(T) == 8 || most_lanes > layer_norm_most_lanes ? 1 : 2;

  LayerNormRows(const LayerNormTensors& t, const LayerNormPlan& plan)
      : x_(plan.rows.operand[row_x]),
        out_(plan.rows.operand[row_out]),
        mean_(plan.rows.operand[row_mean]),
        inv_std_(plan.rows.operand[row_inv_std]),
        scale_(plan.rows.operand[row_scale], static_cast<bool>(t.scale), 1.0f),
        bias_(plan.rows.operand[row_bias], static_cast<bool>(t.bias), 0.0f),
        rows_(plan.rows.kept),
        columns_(static_cast<int>(plan.rows.columns)),
        inverse_count_(static_cast<A>(1.0 / static_cast<double>(plan.rows.columns))),
        epsilon_(static_cast<A>(t.epsilon)),
        aligned_(have_shifted_packs(plan.rows, ElementTypeOf<T>::value, {row_x, row_out})),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))),
        team_bits_(std::max(lane_bits_, least_team_bits)) {}

  int threads() const { return 1 << team_bits_; }
  std::int64_t teams() const { return ceil_div(rows_, threads() >> lane_bits_); }
  std::size_t scratch_bytes() const { return 3 * most_threads / warp * sizeof(A); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t row =
        ((first_team + team.league_rank()) << (team_bits_ - lane_bits_)) + (team.team_rank() >> lane_bits_);
    const int lane = team.team_rank() & (lanes() - 1), own = lane * width, step = width << lane_bits_;
    const ShiftedRow<T> shifted(shifts && row < rows_ ? row : 0, columns_, aligned_);
    // A group without a row has no columns.
    const int columns = row < rows_ ? shifted.end : 0;
    Word<T, width> pack[batch];
    const T* const x = pinned(x_.row(row) + (shifts ? 0 : own));
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      pack[b] = Word<T, width>(static_cast<T>(0.0f));
      if (own + b * step >= columns) continue;
      if constexpr (shifts) {
        shifted.load(pack[b], x, own + b * step);
      } else {
        pack[b] = *reinterpret_cast<const Word<T, width>*>(in_device_memory(x + b * step));
      }
    }
    A* const scratch = scratch_of<A>(team);
    A sums[width];
    fill(sums, A(0));
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) sums[i] += static_cast<A>(pack[b][i]);
    }
    A total[1] = {sum_of(sums)};
    sum_over_group(team, scratch, total, lane_bits_);
    const A near_mean = total[0] * inverse_count_;
    convert_again(pack);

    // Distances from a mean that is rounded tell what is left of it, and their squares the variance.
    A distances[width], squares[width];
    fill(distances, A(0));
    fill(squares, A(0));
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      const int column = own + b * step;
      if (column >= columns) continue;
      const auto add = [&](const auto& has) {
        PORTOPS_UNROLL
        for (int i = 0; i < width; ++i) {
          const A distance = has(i) ? static_cast<A>(pack[b][i]) - near_mean : A(0);
          distances[i] += distance;
          squares[i] = Kokkos::fma(distance, distance, squares[i]);
        }
      };
      if (!shifts || shifted.has_pack(column)) {
        add([](int) { return true; });
      } else {
        add([&](int i) { return shifted.has(column + i); });
      }
    }
    A both[2] = {sum_of(distances), sum_of(squares)};
    sum_over_group(team, scratch + most_threads / warp, both, lane_bits_);
    const A rest = both[0] * inverse_count_, about_mean = Kokkos::fma(-rest, both[0], both[1]);
    const A mean = near_mean + rest;
    const A inv_std = Kokkos::rsqrt(Kokkos::fma(about_mean < A(0) ? A(0) : about_mean, inverse_count_, epsilon_));
    if (lane == 0 && row < rows_) {
      *mean_.row(row) = mean;
      *inv_std_.row(row) = inv_std;
    }
    convert_again(pack);

    T* const out = pinned(out_.row(row) + (shifts ? 0 : own));
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      const int column = own + b * step;
      if (column >= columns) continue;
      A scale[width], bias[width];
      if constexpr (shifts) {
        scale_.load_any(scale, column - shifted.before, columns_);
        bias_.load_any(bias, column - shifted.before, columns_);
      } else {
        scale_.load(scale, column);
        bias_.load(bias, column);
      }
      Word<T, width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        const A in[1] = {static_cast<A>(pack[b][i])}, side[4] = {mean, inv_std, scale[i], bias[i]};
        results.set(i, static_cast<T>(Normalize<A>()(in, side)));
      }
      if constexpr (shifts) {
        shifted.store(out, results, column);
      } else {
        *reinterpret_cast<Word<T, width>*>(in_device_memory(out + b * step)) = results;
      }
    }
  }

 private:
  static constexpr int warp = 32;
  static constexpr int least_team_bits = 7;
  static constexpr int width = gpu_pack_bytes / static_cast<int>(sizeof(T));

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }

  /// Numbers of 16-bit elements that a thread has are twice as much as these: they are converted once more instead of
  /// kept.
  KOKKOS_FORCEINLINE_FUNCTION static void convert_again(Word<T, width> (&pack)[batch]) {
    if constexpr (sizeof(T) == 2) {
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) forget_numbers(pack[b]);
    }
  }

  EvenRows<const T> x_;
  EvenRows<T> out_;
  EvenRows<A> mean_, inv_std_;
  RowParameter<P> scale_, bias_;
  std::int64_t rows_;
  int columns_;
  A inverse_count_;
  A epsilon_;
  bool aligned_;
  int lane_bits_;
  int team_bits_;
};

}  // namespace portops::impl
