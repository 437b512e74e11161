// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/normalization/norm_rows.hpp"

namespace portops::impl {

/// The elements of scale or bias for the columns of a row, which are read by packs, or a number in their place. P is
/// their type.
template <class P>
struct RowParameter {
  RowParameter(const ReducePlan::Operand& operand, bool is_given, float without)
      : data(is_given ? reinterpret_cast<const P*>(operand.data) : nullptr),
        number(without),
        aligned(reinterpret_cast<std::uintptr_t>(data) % gpu_pack_bytes == 0) {}

  template <class A, int N>
  KOKKOS_FORCEINLINE_FUNCTION void load(A (&values)[N], int column) const {
    if (data == nullptr) {
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) values[i] = static_cast<A>(number);
    } else {
      load_numbers(values, data + column);
    }
  }

  /// The same wherever the columns begin; those that the row of so many has not are 0.
  template <class A, int N>
  KOKKOS_FORCEINLINE_FUNCTION void load_any(A (&values)[N], int column, int columns) const {
    if (data == nullptr) {
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) values[i] = static_cast<A>(number);
    } else if (aligned && column % N == 0 && column >= 0 && column + N <= columns) {
      load_numbers(values, data + column);
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) {
        values[i] = column + i >= 0 && column + i < columns ? static_cast<A>(data[column + i]) : A(0);
      }
    }
  }

  const P* data;
  float number;
  bool aligned;
};

}  // namespace portops::impl
