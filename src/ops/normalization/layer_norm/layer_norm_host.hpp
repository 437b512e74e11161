// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/normalization/layer_norm/layer_norm_plan.hpp"
#include "ops/normalization/norm_functions.hpp"
#include "ops/normalization/norm_map.hpp"
#include "ops/normalization/norm_reduce_host.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace portops::impl {

/// Normalises rows on a host: a thread takes some rows, each twice, chunk by chunk.
template <class T>
class LayerNormHost {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  LayerNormHost(const LayerNormTensors& t, const LayerNormPlan& plan, bool streaming)
      : moments_(plan.rows, 1, {}, {A(0)}),
        normalize_(plan.rows, row_mean, std::array{t.mean, t.inv_std, t.scale, t.bias}, {A(0), A(1), A(1), A(0)}),
        out_(plan.rows.operand[row_out]),
        rows_(plan.rows.kept),
        columns_(plan.rows.columns),
        rows_of_item_(std::max<std::int64_t>(item_elements / columns_, 1)),
        epsilon_(t.epsilon),
        streaming_(streaming) {}

  std::int64_t items() const { return ceil_div(rows_, rows_of_item_); }

  void operator()(std::int64_t item) const {
    const std::int64_t end = std::min(rows_, (item + 1) * rows_of_item_);
    for (std::int64_t row = item * rows_of_item_; row < end; ++row) take(row);
    host::end_of_streaming();
  }

 private:
  static constexpr std::int64_t item_elements = 8192;
  static constexpr int chunk = HostRows::chunk;

  void take(std::int64_t row) const {
    const auto at = [&](const auto& operand) { return normalize_.axes.kept_offset(operand, row); };
    StateCascade<MomentsOf<A>> states;
    add_row(moments_, {at(moments_.in[0])}, {0}, 0, columns_, states);
    const Moments<A> state = states.total();
    const A mean = state.mean + state.rest;
    const auto inv_std = static_cast<A>(1.0 / std::sqrt(static_cast<double>(state.variance()) + epsilon_));
    const Side<T>(&side)[4] = normalize_.side;
    side[side_mean].set(at(side[side_mean].operand), mean);
    side[side_inv_std].set(at(side[side_inv_std].operand), inv_std);
    alignas(64) A sides[4][chunk];
    std::fill_n(sides[side_mean], chunk, mean);
    std::fill_n(sides[side_inv_std], chunk, inv_std);
    const RowOperand<const T>& x = normalize_.in[0];
    for (std::int64_t column = 0; column < columns_; column += chunk) {
      const int count = static_cast<int>(std::min<std::int64_t>(chunk, columns_ - column));
      for (int k = side_weight; k < 4; ++k) {
        side[k].load_chunk(sides[k], column * side[k].operand.column_stride, count);
      }
      map_chunk<Normalize<A>>({x.data + at(x) + column * x.column_stride}, {x.column_stride}, sides,
                              out_.data + at(out_) + column * out_.column_stride, out_.column_stride, count,
                              streaming_);
    }
  }

  NormRows<T, MomentsOf<A>> moments_;
  NormRows<T, Normalize<A>> normalize_;
  RowOperand<T> out_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t rows_of_item_;
  double epsilon_;
  bool streaming_;
};

/// The gradient on a host: a thread takes some rows, each twice, and leaves the sums of their columns.
template <class T>
class LayerNormGradHost {
 public:
  using A = Arithmetic<T>;
  using State = GradientSums<A>;
  using F = GradientSumsOf<A>;
  static constexpr int blocks = 0;

  LayerNormGradHost(const LayerNormTensors& t, const LayerNormPlan& plan, State* sums, bool streaming)
      : rows_(plan.rows, row_mean, std::array{t.mean, t.inv_std, t.scale}, {A(0), A(1), A(1)}),
        x_grad_(plan.rows.operand[row_x_grad]),
        writes_(static_cast<bool>(t.x_grad)),
        plan_(plan),
        sums_(sums),
        streaming_(streaming) {}

  std::int64_t items() const { return plan_.teams; }

  void operator()(std::int64_t item) const {
    State* const sums = sums_ == nullptr ? nullptr : sums_ + item * plan_.rows.columns;
    if (sums != nullptr) std::fill_n(sums, plan_.rows.columns, F::identity());
    const std::int64_t end = std::min(plan_.rows.kept, (item + 1) * plan_.rows_of_team);
    for (std::int64_t row = item * plan_.rows_of_team; row < end; ++row) take(row, sums);
    host::end_of_streaming();
  }

 private:
  static constexpr int chunk = HostRows::chunk;

  void take(std::int64_t row, State* sums) const {
    const auto at = [&](const auto& operand) { return rows_.axes.kept_offset(operand, row); };
    const RowOperand<const T>&x = rows_.in[grad_x], &out_grad = rows_.in[grad_out_grad];
    const Side<T>(&side)[3] = rows_.side;
    const A mean = side[side_mean].get(at(side[side_mean].operand));
    const A inv_std = side[side_inv_std].get(at(side[side_inv_std].operand));
    alignas(64) A sides[5][chunk];
    std::fill_n(sides[side_mean], chunk, mean);
    std::fill_n(sides[side_inv_std], chunk, inv_std);
    if (writes_) {
      StateCascade<F> states;
      add_row(rows_, {at(x), at(out_grad)},
              {at(side[side_mean].operand), at(side[side_inv_std].operand), at(side[side_weight].operand)}, 0,
              plan_.rows.columns, states);
      const State total = states.total();
      const A n = static_cast<A>(plan_.rows.columns);
      std::fill_n(sides[side_mean_of_sum], chunk, total.sum / n);
      std::fill_n(sides[side_mean_of_product], chunk, total.product / n);
    }
    for (std::int64_t column = 0; column < plan_.rows.columns; column += chunk) {
      const int count = static_cast<int>(std::min<std::int64_t>(chunk, plan_.rows.columns - column));
      const T* const in[2] = {x.data + at(x) + column * x.column_stride,
                              out_grad.data + at(out_grad) + column * out_grad.column_stride};
      const std::int64_t stride[2] = {x.column_stride, out_grad.column_stride};
      if (sums != nullptr) add_columns(in, stride, mean, inv_std, sums + column, count);
      if (!writes_) continue;
      side[side_weight].load_chunk(sides[side_weight], column * side[side_weight].operand.column_stride, count);
      map_chunk<NormalizeGrad<A>>(in, stride, sides, x_grad_.data + at(x_grad_) + column * x_grad_.column_stride,
                                  x_grad_.column_stride, count, streaming_);
    }
  }

  void add_columns(const T* const (&in)[2], const std::int64_t (&stride)[2], A mean, A inv_std, State* sums,
                   int count) const {
    alignas(64) A x[chunk], out_grad[chunk];
    HostRows::load<T>(x, in[0], stride[0], count);
    HostRows::load<T>(out_grad, in[1], stride[1], count);
    for (int i = 0; i < count; ++i) {
      sums[i].sum += out_grad[i];
      sums[i].product += out_grad[i] * ((x[i] - mean) * inv_std);
    }
  }

  NormRows<T, F> rows_;
  RowOperand<T> x_grad_;
  bool writes_;
  LayerNormPlan plan_;
  State* sums_;
  bool streaming_;
};

}  // namespace portops::impl
