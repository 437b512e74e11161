// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/prefetch.hpp"
#include "core/map/map.hpp"
#include "ops/sparse_rows/add_rows.hpp"
#include "ops/sparse_rows/copy_element.hpp"
#include "ops/sparse_rows/reduce_rows.hpp"
#include "ops/sparse_rows/sparse_update_kernels.hpp"

namespace portops::impl {

/// Reads some columns of the tables' row, calls f(element of each table, gradient) for each, and writes them back.
template <Backend B, class T, int tables, class F>
struct UpdateRow {
  using A = Arithmetic<T>;
  struct Columns {
    T* of[tables];
  };

  UpdateRow(const SparseRows& sparse, const F& function) : columns(sparse), f(function) {
    for (int k = 0; k < tables; ++k) table[k] = RowTensor<T>(sparse.operand[static_cast<std::size_t>(k + 1)]);
  }

  KOKKOS_FORCEINLINE_FUNCTION Columns at(std::int64_t column) const {
    Columns first;
    PORTOPS_UNROLL
    for (int k = 0; k < tables; ++k) first.of[k] = table[k].at(columns, column);
    return first;
  }

  KOKKOS_FORCEINLINE_FUNCTION void prefetch([[maybe_unused]] const Columns& first,
                                            [[maybe_unused]] std::int64_t row) const {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+l"(row));  // or these addresses would stay in registers until the row's sum is complete
    PORTOPS_UNROLL
    for (int k = 0; k < tables; ++k) impl::prefetch(first.of[k] + row * table[k].row_stride);
#endif
  }

  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const Columns& first, std::int64_t row, const A (&sum)[N],
                                              int count) const {
    T* to[tables];
    A values[tables][N];
    PORTOPS_UNROLL
    for (int k = 0; k < tables; ++k) {
      to[k] = first.of[k] + row * table[k].row_stride;
      if constexpr (B != Backend::cuda) {
        for (int i = 0; i < N; ++i) values[k][i] = A(0);
      }
      read_columns<B, T, N>(values[k], to[k], table[k].column_stride[0], count);
    }
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) {
      A element[tables];
      PORTOPS_UNROLL
      for (int k = 0; k < tables; ++k) element[k] = values[k][i];
      f(element, sum[i]);
      PORTOPS_UNROLL
      for (int k = 0; k < tables; ++k) values[k][i] = element[k];
    }
    PORTOPS_UNROLL
    for (int k = 0; k < tables; ++k) {
      write_columns<B, T, N>(to[k], values[k], table[k].column_stride[0], count);
    }
  }

  RowColumns columns;
  RowTensor<T> table[tables];
  F f;
};

template <class A>
struct SgdStep {
  A learning_rate;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(A (&x)[1], A gradient) const {
    x[0] = Kokkos::fma(-learning_rate, gradient, x[0]);
  }
};

template <class A>
struct MomentumStep {
  A learning_rate;
  A mu;
  bool use_nesterov;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(A (&x)[2], A gradient) const {
    auto& [param, velocity] = x;
    velocity = Kokkos::fma(mu, velocity, gradient);
    const A step = use_nesterov ? Kokkos::fma(mu, velocity, gradient) : velocity;
    param = Kokkos::fma(-learning_rate, step, param);
  }
};

template <class A>
struct AdamStep {
  A learning_rate;
  A beta1;
  A one_minus_beta1;
  A beta2;
  A one_minus_beta2;
  A epsilon;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(A (&x)[3], A gradient) const {
    auto& [param, moment1, moment2] = x;
    moment1 = Kokkos::fma(beta1, moment1, one_minus_beta1 * gradient);
    moment2 = Kokkos::fma(beta2, moment2, one_minus_beta2 * gradient * gradient);
    param = Kokkos::fma(-learning_rate, moment1 / (Kokkos::sqrt(moment2) + epsilon), param);
  }
};

/// The labels of an update.
struct SparseUpdateLabels {
  explicit SparseUpdateLabels(const std::string& op) : copy(op), rows(op), add("portops::" + op + "::add[rows]") {}

  MapLabels copy;
  SparseRowsLabels rows;
  std::string add;
};

template <Backend B, class T>
void copy_tables(const Context& ctx, const SparseUpdateLabels& labels, const SparseUpdate& update) {
  for (const Loop& loop : update.copies) map<B, T>(ctx, labels.copy, CopyElement{}, loop);
}

template <Backend B, class T, int tables, class F>
void update_rows(const Context& ctx, const SparseUpdateLabels& labels, const SparseUpdate& update, const F& f) {
  const SparseRowsTemporary temporary(ctx, labels.rows, update.sparse, false);
  copy_tables<B, T>(ctx, labels, update);
  if (update.sparse.empty()) return;
  reduce_rows<B, T>(ctx, labels.rows, update.sparse, temporary, nullptr, UpdateRow<B, T, tables, F>(update.sparse, f));
}

/// The table's rows += factor · the gradient's, in any order.
template <Backend B, class T>
void add_rows(const Context& ctx, const SparseUpdateLabels& labels, const SparseUpdate& update, T factor) {
  copy_tables<B, T>(ctx, labels, update);
  if (update.sparse.empty()) return;
  const auto add = [&]<int N>() { launch_by_teams<B>(ctx, labels.add, AddRows<B, T, N>(update.sparse, factor)); };
  update.sparse.has_packs(B) ? add.template operator()<row_pack<B, T>>() : add.template operator()<1>();
}

template <Backend B, class T>
void SparseUpdateKernels<B, T>::sgd(const Context& ctx, const SparseUpdate& update, double learning_rate) {
  using A = Arithmetic<T>;
  static const SparseUpdateLabels labels("sparse_sgd");
  if constexpr (B == Backend::cuda && std::is_same_v<T, A>) {
    if (update.in_any_order) return add_rows<B, T>(ctx, labels, update, static_cast<T>(-learning_rate));
  }
  update_rows<B, T, 1>(ctx, labels, update, SgdStep<A>{static_cast<A>(learning_rate)});
}

template <Backend B, class T>
void SparseUpdateKernels<B, T>::momentum(const Context& ctx, const SparseUpdate& update,
                                         const MomentumNumbers& numbers) {
  using A = Arithmetic<T>;
  static const SparseUpdateLabels labels("sparse_momentum");
  update_rows<B, T, 2>(
      ctx, labels, update,
      MomentumStep<A>{static_cast<A>(numbers.learning_rate), static_cast<A>(numbers.mu), numbers.use_nesterov});
}

template <Backend B, class T>
void SparseUpdateKernels<B, T>::adam(const Context& ctx, const SparseUpdate& update, const AdamNumbers& numbers) {
  using A = Arithmetic<T>;
  static const SparseUpdateLabels labels("sparse_adam");
  update_rows<B, T, 3>(ctx, labels, update,
                       AdamStep<A>{static_cast<A>(numbers.learning_rate), static_cast<A>(numbers.beta1),
                                   static_cast<A>(1.0 - numbers.beta1), static_cast<A>(numbers.beta2),
                                   static_cast<A>(1.0 - numbers.beta2), static_cast<A>(numbers.epsilon)});
}

}  // namespace portops::impl
