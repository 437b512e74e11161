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
      : data(is_given ? reinterpret_cast<const P*>(operand.data) : nullptr), number(without) {}

  template <class A, int N>
  KOKKOS_FORCEINLINE_FUNCTION void load(A (&values)[N], int column) const {
    constexpr int most = gpu_pack_bytes / static_cast<int>(sizeof(P)), width = N < most ? N : most;
    if (data == nullptr) {
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) values[i] = static_cast<A>(number);
      return;
    }
    PORTOPS_UNROLL
    for (int first = 0; first < N; first += width) {
      const auto word = *reinterpret_cast<const Word<P, width>*>(in_device_memory(data + column + first));
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) values[first + i] = static_cast<A>(word[i]);
    }
  }

  const P* data;
  float number;
};

}  // namespace portops::impl
