// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/normalization/layer_norm/layer_norm_plan.hpp"
#include "ops/normalization/norm_functions.hpp"
#include "ops/normalization/norm_reduce.hpp"

#include <algorithm>
#include <bit>

namespace portops::impl {

/// Normalises rows on a GPU: a group of lanes, part of a warp or a team, takes a row, each lane every lanes-th pack.
/// `keeps`: rows are read once, because the group has the whole row in registers; else twice, by a team.
template <Backend B, class T, bool keeps>
class LayerNormAlong {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 2;

  LayerNormAlong(const LayerNormTensors& t, const LayerNormPlan& plan)
      : axes_(plan.rows),
        x_(plan.rows.operand[row_x]),
        out_(plan.rows.operand[row_out]),
        mean_(plan.rows, row_mean, t.mean, A(0)),
        inv_std_(plan.rows, row_inv_std, t.inv_std, A(0)),
        scale_(plan.rows, row_scale, t.scale, A(1)),
        bias_(plan.rows, row_bias, t.bias, A(0)),
        rows_(plan.rows.kept),
        columns_(plan.rows.columns),
        epsilon_(static_cast<A>(t.epsilon)),
        pack_(plan.rows.pack),
        packs_(x_.packs && out_.packs),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))),
        team_bits_(std::max(lane_bits_, least_team_bits)) {}

  int threads() const { return 1 << team_bits_; }
  std::int64_t teams() const { return ceil_div(rows_, threads() >> lane_bits_); }
  std::size_t scratch_bytes() const { return norm_most_threads / 32 * sizeof(Moments<A>); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t row =
        ((first_team + team.league_rank()) << (team_bits_ - lane_bits_)) + (team.team_rank() >> lane_bits_);
    with_access<widest>(pack_, keeps || packs_,
                        [&]<class Access>(Access) { take<Access>(team, row < rows_ ? row : -1); });
  }

 private:
  static constexpr int warp = 32;
  static constexpr int least_team_bits = 7;
  static constexpr int widest = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  /// A thread's packs, in registers.
  template <class Access>
  struct Held {
    static constexpr int width = Access::width;
    static constexpr int batch = Access::batch(layer_norm_batch(width * static_cast<int>(sizeof(T))));
    Word<T, width> pack[batch];
  };

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }

  /// Row −1 is none.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Team& team, std::int64_t row) const {
    const int lane = team.team_rank() & (lanes() - 1), step = lanes() * Access::count(pack_);
    const std::int64_t columns = row < 0 ? 0 : columns_, at_row = row < 0 ? 0 : row;
    const T* const x = pinned(x_.data + axes_.kept_offset(x_, at_row));
    T* const out = pinned(out_.data + axes_.kept_offset(out_, at_row));
    const std::int64_t own = std::int64_t{lane} * Access::count(pack_);
    Moments<A> state = JoinMoments<A>::identity();
    Held<Access> held;
    if constexpr (keeps) {
      load(x, own, step, columns, held);
      state = moments_of_held(team, own, step, columns, held);
    } else {
      PORTOPS_NO_UNROLL
      for (std::int64_t first = own; first < columns; first += held.batch * step) {
        load(x, first, step, columns, held);
        add(state, first, step, columns, held);
      }
      state = join_group(team, state);
    }
    const A mean = state.mean + state.rest;
    const A inv_std = A(1) / Kokkos::sqrt(state.variance() + epsilon_);
    if (lane == 0 && row >= 0) {
      mean_.set(axes_.kept_offset(mean_.operand, row), mean);
      inv_std_.set(axes_.kept_offset(inv_std_.operand, row), inv_std);
    }
    if constexpr (keeps) {
      write(out, own, step, columns, mean, inv_std, held);
    } else {
      PORTOPS_NO_UNROLL
      for (std::int64_t first = own; first < columns; first += held.batch * step) {
        load(x, first, step, columns, held);
        write(out, first, step, columns, mean, inv_std, held);
      }
    }
  }

  /// Loads a batch of packs from column `first` on, as far as they exist.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void load(const T* x, std::int64_t first, int step, std::int64_t columns,
                                        Held<Access>& held) const {
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; ++b) {
      held.pack[b] = Word<T, Access::width>(static_cast<T>(0.0f));
      const std::int64_t column = first + b * step;
      if (column < columns)
        Access::load(held.pack[b], x + column * x_.column_stride, x_.column_stride, Access::count(pack_));
    }
  }

  /// Sums of the elements, and then of their distances from the mean: two joins of few numbers, where joining moments
  /// would take more instructions than all else in short rows.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION Moments<A> moments_of_held(const Team& team, std::int64_t first, int step,
                                                         std::int64_t columns, const Held<Access>& held) const {
    constexpr int width = Access::width;
    const int count = Access::count(pack_);
    A sums[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) sums[i] = A(0);
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; ++b) {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) sums[i] += static_cast<A>(held.pack[b][i]);
    }
    const A n = static_cast<A>(columns_);
    const A mean = join_sums(team, {sum_of(sums), A(0)}).sum / n;
    A distances[width], squares[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) distances[i] = squares[i] = A(0);
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; ++b) {
      if (first + b * step >= columns) continue;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        const A distance = i < count ? static_cast<A>(held.pack[b][i]) - mean : A(0);
        distances[i] += distance;
        squares[i] = Kokkos::fma(distance, distance, squares[i]);
      }
    }
    const GradientSums<A> both = join_sums(team, {sum_of(distances), sum_of(squares)});
    return JoinMoments<A>::about(mean, n, both.sum, both.product);
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add(Moments<A>& state, std::int64_t first, int step, std::int64_t columns,
                                       const Held<Access>& held) const {
    const int count = Access::count(pack_);
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; ++b) {
      A values[1][Access::width];
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) values[0][i] = static_cast<A>(held.pack[b][i]);
      MomentsOf<A>().add(state, values, values, first + b * step < columns ? count : 0);
    }
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void write(T* out, std::int64_t first, int step, std::int64_t columns, A mean, A inv_std,
                                         const Held<Access>& held) const {
    const int count = Access::count(pack_);
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; ++b) {
      const std::int64_t column = first + b * step;
      if (column >= columns) continue;
      A scale[Access::width], bias[Access::width];
      scale_.load(scale, column * scale_.operand.column_stride, count);
      bias_.load(bias, column * bias_.operand.column_stride, count);
      Word<T, Access::width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        const A in[1] = {static_cast<A>(held.pack[b][i])}, side[4] = {mean, inv_std, scale[i], bias[i]};
        results.set(i, static_cast<T>(Normalize<A>()(in, side)));
      }
      Access::store(out + column * out_.column_stride, results, out_.column_stride, count);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION GradientSums<A> join_sums(const Team& team, GradientSums<A> own) const {
    return join_states_of_group<A>(team, scratch_of<GradientSums<A>>(team), own, lane_bits_, JoinGradientSums<A>());
  }
  KOKKOS_FORCEINLINE_FUNCTION Moments<A> join_group(const Team& team, const Moments<A>& own) const {
    return join_states_of_group<A>(team, scratch_of<Moments<A>>(team), own, lane_bits_, JoinMoments<A>());
  }

  RowAxes axes_;
  RowOperand<const T> x_;
  RowOperand<T> out_;
  Side<T> mean_, inv_std_, scale_, bias_;
  std::int64_t rows_;
  std::int64_t columns_;
  A epsilon_;
  int pack_;
  bool packs_;
  int lane_bits_;
  int team_bits_;
};

/// The gradient on a GPU. Teams stay: a group of lanes takes one row after the other, in registers, and keeps the sums
/// of its columns; in the end each team leaves a sum of each column.
template <Backend B, class T>
class LayerNormGradAlong {
 public:
  using A = Arithmetic<T>;
  using State = GradientSums<A>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 2;
  static constexpr int threads = norm_most_threads;

  /// `sums` may be null, where no sums of columns are wanted.
  LayerNormGradAlong(const LayerNormTensors& t, const LayerNormPlan& plan, State* sums)
      : axes_(plan.rows),
        x_(plan.rows.operand[row_x]),
        out_grad_(plan.rows.operand[row_out_grad]),
        x_grad_(plan.rows.operand[row_x_grad]),
        mean_(plan.rows, row_mean, t.mean, A(0)),
        inv_std_(plan.rows, row_inv_std, t.inv_std, A(0)),
        scale_(plan.rows, row_scale, t.scale, A(1)),
        rows_(plan.rows.kept),
        columns_(static_cast<int>(plan.rows.columns)),
        teams_(plan.teams),
        pack_(plan.rows.pack),
        writes_(static_cast<bool>(t.x_grad)),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))),
        sums_(sums) {}

  std::int64_t teams() const { return teams_; }
  std::size_t scratch_bytes() const { return threads * widest * sizeof(State); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    // Rows have packs: else others take them.
    with_access<widest>(pack_, true,
                        [&]<class Access>(Access) { take<Access>(team, first_team + team.league_rank()); });
  }

 private:
  static constexpr int widest = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  static constexpr int values = norm_values(static_cast<int>(sizeof(T)));
  /// Packs of an input that a thread has.
  template <class Access>
  static constexpr int batch_of = values > Access::width ? values / Access::width : 1;

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Team& team, std::int64_t index) const {
    constexpr int width = Access::width, batch = batch_of<Access>;
    const int lane = team.team_rank() & ((1 << lane_bits_) - 1), groups = threads >> lane_bits_;
    const int count = Access::count(pack_), own = lane * count, step = count << lane_bits_;
    State sums[batch][width];
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) sums[b][i] = {A(0), A(0)};
    }
    PORTOPS_NO_UNROLL
    for (std::int64_t first = index * groups; first < rows_; first += teams_ * groups) {
      const std::int64_t row = first + (team.team_rank() >> lane_bits_);
      take_row<Access, batch>(team, row < rows_ ? row : first, row < rows_ ? columns_ : 0, own, step, sums);
    }
    if (sums_ != nullptr) leave<Access>(team, index, own, step, groups, sums);
  }

  template <class Access, int batch>
  KOKKOS_FORCEINLINE_FUNCTION void take_row(const Team& team, std::int64_t row, int columns, int own, int step,
                                            State (&sums)[batch][Access::width]) const {
    constexpr int width = Access::width;
    const int count = Access::count(pack_);
    const T* const x = pinned(x_.data + axes_.kept_offset(x_, row));
    const T* const out_grad = pinned(out_grad_.data + axes_.kept_offset(out_grad_, row));
    Word<T, width> in[batch], grad[batch];
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      in[b] = grad[b] = Word<T, width>(static_cast<T>(0.0f));
      const int column = own + b * step;
      if (column < columns) {
        Access::load(in[b], x + column * x_.column_stride, x_.column_stride, count);
        Access::load(grad[b], out_grad + column * out_grad_.column_stride, out_grad_.column_stride, count);
      }
    }
    const A mean = mean_.get(axes_.kept_offset(mean_.operand, row));
    const A inv_std = inv_std_.get(axes_.kept_offset(inv_std_.operand, row));
    A of_g[width], of_product[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) of_g[i] = of_product[i] = A(0);
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      const int column = own + b * step;
      if (column >= columns) continue;
      A scale[width];
      scale_.load(scale, column * scale_.operand.column_stride, count);
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        if (i >= count) continue;
        const A normal = (static_cast<A>(in[b][i]) - mean) * inv_std, out = static_cast<A>(grad[b][i]);
        const A g = out * scale[i];
        of_g[i] += g;
        of_product[i] = Kokkos::fma(g, normal, of_product[i]);
        sums[b][i].sum += out;
        sums[b][i].product = Kokkos::fma(out, normal, sums[b][i].product);
      }
    }
    if (!writes_) return;
    const State total = join_states_of_group<A>(team, scratch_of<State>(team), State{sum_of(of_g), sum_of(of_product)},
                                                lane_bits_, JoinGradientSums<A>());
    const A n = static_cast<A>(columns_), mean_of_sum = total.sum / n, mean_of_product = total.product / n;
    T* const x_grad = pinned(x_grad_.data + axes_.kept_offset(x_grad_, row));
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      const int column = own + b * step;
      if (column >= columns) continue;
      A scale[width];
      scale_.load(scale, column * scale_.operand.column_stride, count);
      Word<T, width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        const A values[2] = {static_cast<A>(in[b][i]), static_cast<A>(grad[b][i])};
        const A side[5] = {mean, inv_std, scale[i], mean_of_sum, mean_of_product};
        results.set(i, static_cast<T>(NormalizeGrad<A>()(values, side)));
      }
      Access::store(x_grad + column * x_grad_.column_stride, results, x_grad_.column_stride, count);
    }
  }

  /// Joins the groups' sums, and leaves the team's.
  template <class Access, int batch>
  KOKKOS_FORCEINLINE_FUNCTION void leave(const Team& team, std::int64_t index, int own, int step, int groups,
                                         State (&sums)[batch][Access::width]) const {
    team.team_barrier();  // the scratch was that of the rows' sums
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      join_over_slots(team, scratch_of<State>(team), groups, 1 << lane_bits_, sums[b], JoinGradientSums<A>());
      const int column = own + b * step;
      if (team.team_rank() >> lane_bits_ != 0 || column >= columns_) continue;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        if (i < Access::count(pack_)) sums_[index * columns_ + column + i] = sums[b][i];
      }
    }
  }

  RowAxes axes_;
  RowOperand<const T> x_;
  RowOperand<const T> out_grad_;
  RowOperand<T> x_grad_;
  Side<T> mean_, inv_std_, scale_;
  std::int64_t rows_;
  int columns_;
  std::int64_t teams_;
  int pack_;
  bool writes_;
  int lane_bits_;
  State* sums_;
};

}  // namespace portops::impl
