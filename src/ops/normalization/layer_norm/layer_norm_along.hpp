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
#include <type_traits>

namespace portops::impl {

/// The elements of scale and bias for the columns of a row. They are read by packs of one type in almost every call:
/// then nothing is asked at each pack, and several are under way together.
template <class T>
struct RowParameters {
  using A = Arithmetic<T>;

  RowParameters(const ReducePlan& plan, const TensorRef& of_scale, int scale_operand, const TensorRef& of_bias,
                int bias_operand)
      : scale(plan, scale_operand, of_scale, A(1)), bias(plan, bias_operand, of_bias, A(0)) {
    in_packs = scale.given && bias.given && scale.packs && bias.packs && scale.narrow == bias.narrow;
  }

  /// Calls action(load), where load(column, of_scale, of_bias, count) reads `count` columns.
  template <class Access, class Action>
  KOKKOS_FORCEINLINE_FUNCTION void with_load(const Action& action) const {
    if constexpr (at_once<Access> && Access::width * sizeof(T) == gpu_pack_bytes) {
      if (in_packs && scale.narrow) return action(InPacks<T>{*this});
      if (in_packs) return action(InPacks<A>{*this});
    }
    action(Any{*this});
  }

  template <class E>
  struct InPacks {
    template <int N>
    KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t column, A (&of_scale)[N], A (&of_bias)[N], int) const {
      load_numbers(of_scale, reinterpret_cast<const E*>(of.scale.operand.data) + column);
      load_numbers(of_bias, reinterpret_cast<const E*>(of.bias.operand.data) + column);
    }
    const RowParameters& of;
  };
  struct Any {
    template <int N>
    KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t column, A (&of_scale)[N], A (&of_bias)[N],
                                                int count) const {
      of.scale.load(of_scale, column * of.scale.operand.column_stride, count);
      of.bias.load(of_bias, column * of.bias.operand.column_stride, count);
    }
    const RowParameters& of;
  };

  Side<T> scale, bias;
  bool in_packs;
};

/// Normalises rows on a GPU: a group of lanes, part of a warp or a team, takes a row, each lane every lanes-th pack.
/// What is kept of a row is read once, because the group has the whole row in registers.
template <Backend B, class T, KeptRow kept>
class LayerNormAlong {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int most_threads = kept == KeptRow::packs ? layer_norm_most_lanes : norm_most_threads;
  static constexpr int blocks = kept == KeptRow::packs ? 1 : 2;

  LayerNormAlong(const LayerNormTensors& t, const LayerNormPlan& plan)
      : axes_(plan.rows),
        x_(plan.rows.operand[row_x]),
        out_(plan.rows.operand[row_out]),
        mean_(plan.rows, row_mean, t.mean, A(0)),
        inv_std_(plan.rows, row_inv_std, t.inv_std, A(0)),
        parameters_(plan.rows, t.scale, row_scale, t.bias, row_bias),
        rows_(plan.rows.kept),
        columns_(plan.rows.columns),
        epsilon_(static_cast<A>(t.epsilon)),
        pack_(plan.rows.pack),
        packs_(x_.packs && out_.packs),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))),
        team_bits_(std::max(lane_bits_, least_team_bits)) {}

  int threads() const { return 1 << team_bits_; }
  std::int64_t teams() const { return ceil_div(rows_, threads() >> lane_bits_); }
  std::size_t scratch_bytes() const { return most_threads / warp * sizeof(Moments<A>); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t row =
        ((first_team + team.league_rank()) << (team_bits_ - lane_bits_)) + (team.team_rank() >> lane_bits_);
    with_access<widest>(pack_, keeps || packs_,
                        [&]<class Access>(Access) { take<Access>(team, row < rows_ ? row : -1); });
  }

 private:
  static constexpr bool keeps = kept != KeptRow::none;
  static constexpr int warp = 32;
  static constexpr int least_team_bits = 7;
  static constexpr int widest = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  /// A row that is kept has few columns.
  using Column = std::conditional_t<keeps, int, std::int64_t>;

  template <class Access, class E>
  KOKKOS_FORCEINLINE_FUNCTION static E* at(E* row, Column column, std::int64_t stride) {
    return at_once<Access> ? row + column : row + column * stride;
  }

  /// A thread's packs, in registers.
  template <class Access>
  struct Held {
    static constexpr int width = Access::width;
    static constexpr int batch = Access::batch(layer_norm_batch(width * static_cast<int>(sizeof(T)), sizeof(T)));
    Word<T, width> pack[batch];
  };

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }

  /// Row −1 is none.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Team& team, std::int64_t row) const {
    const int lane = team.team_rank() & (lanes() - 1), step = lanes() * Access::count(pack_);
    const Column columns = row < 0 ? 0 : static_cast<Column>(columns_);
    const std::int64_t at_row = row < 0 ? 0 : row;
    const T* const x = pinned(x_.data + axes_.kept_offset(x_, at_row));
    T* const out = pinned(out_.data + axes_.kept_offset(out_, at_row));
    const Column own = lane * Access::count(pack_);
    Moments<A> state = JoinMoments<A>::identity();
    Held<Access> held;
    if constexpr (keeps) {
      load(x, own, step, columns, held);
      state = moments_of_held(team, own, step, columns, held);
    } else {
      PORTOPS_NO_UNROLL
      for (Column first = own; first < columns; first += held.batch * step) {
        load(x, first, step, columns, held);
        state = JoinMoments<A>()(state, moments_of(first, step, columns, held));
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
      for (Column first = own; first < columns; first += held.batch * step) {
        load(x, first, step, columns, held);
        write(out, first, step, columns, mean, inv_std, held);
      }
    }
  }

  /// Loads a batch of packs from column `first` on, as far as they exist.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void load(const T* x, Column first, int step, Column columns, Held<Access>& held) const {
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; ++b) {
      held.pack[b] = Word<T, Access::width>(static_cast<T>(0.0f));
      const Column column = first + b * step;
      if (column < columns) {
        Access::load(held.pack[b], at<Access>(x, column, x_.column_stride), x_.column_stride, Access::count(pack_));
      }
    }
  }

  /// Sums of the elements, and then of their distances from the mean: two joins of few numbers, where joining moments
  /// would take more instructions than all else in short rows.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION Moments<A> moments_of_held(const Team& team, Column first, int step, Column columns,
                                                         const Held<Access>& held) const {
    constexpr int width = Access::width;
    const int count = Access::count(pack_);
    A sums[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) sums[i] = A(0);
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; ++b) {
      if (first + b * step >= columns) continue;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) sums[i] += static_cast<A>(held.pack[b][i]);
    }
    const A n = static_cast<A>(columns_);
    const A mean = join_states_of_group<A>(team, scratch_of<A>(team), sum_of(sums), lane_bits_, Plus()) / n;
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

  /// Those of one batch alone.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION Moments<A> moments_of(Column first, int step, Column columns,
                                                    const Held<Access>& held) const {
    const int count = Access::count(pack_);
    Distances<A> sums = MomentsOf<A>::start();
    PORTOPS_UNROLL
    for (int b = 0; b < held.batch; ++b) {
      A values[1][Access::width];
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) values[0][i] = static_cast<A>(held.pack[b][i]);
      MomentsOf<A>().add(sums, values, values, first + b * step < columns ? count : 0);
    }
    return MomentsOf<A>::state_of(sums);
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void write(T* out, Column first, int step, Column columns, A mean, A inv_std,
                                         const Held<Access>& held) const {
    constexpr int width = Access::width, batch = Held<Access>::batch,
                  some = kept == KeptRow::packs && width <= 4 ? 2 : 1;
    const int count = Access::count(pack_);
    parameters_.template with_load<Access>([&](const auto& load_parameters) {
      PORTOPS_UNROLL
      for (int begin = 0; begin < batch; begin += some) {
        A scale[some][width], bias[some][width];
        PORTOPS_UNROLL
        for (int s = 0; s < some; ++s) {
          const Column column = first + (begin + s) * step;
          if (column < columns) load_parameters(column, scale[s], bias[s], count);
        }
        PORTOPS_UNROLL
        for (int s = 0; s < some; ++s) {
          const Column column = first + (begin + s) * step;
          if (column >= columns) continue;
          Word<T, width> results;
          PORTOPS_UNROLL
          for (int i = 0; i < width; ++i) {
            const A in[1] = {static_cast<A>(held.pack[begin + s][i])},
                    side[4] = {mean, inv_std, scale[s][i], bias[s][i]};
            results.set(i, static_cast<T>(Normalize<A>()(in, side)));
          }
          Access::store(at<Access>(out, column, out_.column_stride), results, out_.column_stride, count);
        }
      }
    });
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
  Side<T> mean_, inv_std_;
  RowParameters<T> parameters_;
  std::int64_t rows_;
  std::int64_t columns_;
  A epsilon_;
  int pack_;
  bool packs_;
  int lane_bits_;
  int team_bits_;
};

/// The gradient on a GPU: teams stay, a group of lanes takes one row after the other, in registers, and keeps the sums
/// of its columns; in the end each team leaves a sum of each column.
template <Backend B, class T>
class LayerNormGradAlong {
 public:
  using A = Arithmetic<T>;
  using State = GradientSums<A>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int most_threads = norm_most_threads;
  static constexpr int blocks = 2;

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

  static int threads() { return most_threads; }
  std::int64_t teams() const { return teams_; }
  std::size_t scratch_bytes() const { return most_threads * widest * sizeof(State); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    // Rows have packs: else others take them.
    with_access<widest>(pack_, true,
                        [&]<class Access>(Access) { take<Access>(team, first_team + team.league_rank()); });
  }

 private:
  static constexpr int widest = reduce_along_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int values = norm_values(sizeof(T));

  /// A thread's packs of a row. The last groups of a team may have none: no columns.
  template <class Access>
  struct Row {
    static constexpr int batch = values > Access::width ? values / Access::width : 1;
    Word<T, Access::width> in[batch], grad[batch];
    A mean, inv_std;
    std::int64_t index;
    int columns;
  };
  /// The sums of a thread's columns.
  template <class Access>
  struct Sums {
    A sum[Row<Access>::batch][Access::width];
    A product[Row<Access>::batch][Access::width];
  };

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Team& team, std::int64_t index) const {
    const int lane = team.team_rank() & ((1 << lane_bits_) - 1), groups = most_threads >> lane_bits_;
    const int count = Access::count(pack_), own = lane * count, step = count << lane_bits_;
    const std::int64_t group = team.team_rank() >> lane_bits_;
    Sums<Access> sums;
    PORTOPS_UNROLL
    for (auto& of_pack : sums.sum) fill(of_pack, A(0));
    PORTOPS_UNROLL
    for (auto& of_pack : sums.product) fill(of_pack, A(0));
    const std::int64_t rows_of_step = teams_ * groups;
    PORTOPS_NO_UNROLL
    for (std::int64_t first = index * groups; first < rows_; first += rows_of_step) {
      Row<Access> row;
      load(first + group, own, step, row);
      take_row(team, row, own, step, sums);
    }
    if (sums_ != nullptr) leave<Access>(team, index, own, step, groups, sums);
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void load(std::int64_t index, int own, int step, Row<Access>& row) const {
    row.columns = index < rows_ ? columns_ : 0;
    row.index = index < rows_ ? index : 0;
    const int count = Access::count(pack_);
    const T* const x = pinned(x_.data + axes_.kept_offset(x_, row.index));
    const T* const out_grad = pinned(out_grad_.data + axes_.kept_offset(out_grad_, row.index));
    PORTOPS_UNROLL
    for (int b = 0; b < row.batch; ++b) {
      row.in[b] = row.grad[b] = Word<T, Access::width>(static_cast<T>(0.0f));
      const int column = own + b * step;
      if (column < row.columns) {
        Access::load(row.in[b], Access::at(x, column, x_.column_stride), x_.column_stride, count);
        Access::load(row.grad[b], Access::at(out_grad, column, out_grad_.column_stride), out_grad_.column_stride,
                     count);
      }
    }
    row.mean = mean_.get(axes_.kept_offset(mean_.operand, row.index));
    row.inv_std = inv_std_.get(axes_.kept_offset(inv_std_.operand, row.index));
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take_row(const Team& team, const Row<Access>& row, int own, int step,
                                            Sums<Access>& sums) const {
    constexpr int width = Access::width;
    const int count = Access::count(pack_);
    constexpr int chains = width < 4 ? width : 4;
    A of_sum[chains], of_product[chains];
    fill(of_sum, A(0));
    fill(of_product, A(0));
    PORTOPS_UNROLL
    for (int b = 0; b < row.batch; ++b) {
      const int column = own + b * step;
      if (column >= row.columns) continue;
      A scale[width];
      scale_.load(scale, column * scale_.operand.column_stride, count);
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        const A normal = (static_cast<A>(row.in[b][i]) - row.mean) * row.inv_std, out = static_cast<A>(row.grad[b][i]);
        const A weighted = out * scale[i];
        of_sum[i % chains] += weighted;
        of_product[i % chains] = Kokkos::fma(weighted, normal, of_product[i % chains]);
        sums.sum[b][i] += out;
        sums.product[b][i] = Kokkos::fma(out, normal, sums.product[b][i]);
      }
    }
    if (!writes_) return;
    const State own_sums = {sum_of(of_sum), sum_of(of_product)};
    const State total =
        join_states_of_group<A>(team, scratch_of<State>(team), own_sums, lane_bits_, JoinGradientSums<A>());
    const A n = static_cast<A>(columns_), mean_of_sum = total.sum / n, mean_of_product = total.product / n;
    T* const x_grad = pinned(x_grad_.data + axes_.kept_offset(x_grad_, row.index));
    PORTOPS_UNROLL
    for (int b = 0; b < row.batch; ++b) {
      const int column = own + b * step;
      if (column >= row.columns) continue;
      A scale[width];
      scale_.load(scale, column * scale_.operand.column_stride, count);
      Word<T, width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        const A in[2] = {static_cast<A>(row.in[b][i]), static_cast<A>(row.grad[b][i])};
        const A side[5] = {row.mean, row.inv_std, scale[i], mean_of_sum, mean_of_product};
        results.set(i, static_cast<T>(NormalizeGrad<A>()(in, side)));
      }
      Access::store(Access::at(x_grad, column, x_grad_.column_stride), results, x_grad_.column_stride, count);
    }
  }

  /// Joins the groups' sums, and leaves the team's.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void leave(const Team& team, std::int64_t index, int own, int step, int groups,
                                         const Sums<Access>& sums) const {
    team.team_barrier();  // the scratch was that of the rows' sums
    PORTOPS_UNROLL
    for (int b = 0; b < Row<Access>::batch; ++b) {
      State states[Access::width];
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) states[i] = {sums.sum[b][i], sums.product[b][i]};
      join_over_slots(team, scratch_of<State>(team), groups, 1 << lane_bits_, states, JoinGradientSums<A>());
      const int column = own + b * step;
      if (team.team_rank() >> lane_bits_ != 0 || column >= columns_) continue;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        if (i < Access::count(pack_)) sums_[index * columns_ + column + i] = states[i];
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
