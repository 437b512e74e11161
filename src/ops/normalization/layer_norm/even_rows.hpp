// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/rows.hpp"

namespace portops::impl {

/// An operand, in a kernel, whose rows are at equal distances: elements of type E, or one element a row.
template <class E>
struct EvenRows {
  explicit EvenRows(const ReducePlan::Operand& operand)
      : data(reinterpret_cast<E*>(operand.data)), stride(operand.stride[0]) {}

  KOKKOS_FORCEINLINE_FUNCTION E* row(std::int64_t index) const { return data + index * stride; }

  E* data;
  std::int64_t stride;
};

}  // namespace portops::impl
