// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/tile_plan.hpp"

#include <algorithm>
#include <array>

// The operands of a plan as its kernel has them: in the element type, and only as many as the functor has.

namespace portops::impl {

/// An operand of any form of a loop.
template <class T, class Access>
struct MapOperand {
  MapOperand() = default;
  template <class PlanOperand>
  explicit MapOperand(const PlanOperand& from)
      : data(reinterpret_cast<T*>(from.data)), number(static_cast<Arithmetic<T>>(from.number)), access(from.access) {}

  T* data = nullptr;
  Arithmetic<T> number{};
  Access access{};
};

/// An operand of a TilePlan, with the members of its TileOperand.
template <class T>
struct MapTileOperand : MapOperand<T, Access> {
  MapTileOperand() = default;
  explicit MapTileOperand(const TileOperand& from)
      : MapOperand<T, Access>(from),
        column_stride(from.column_stride),
        period(from.period),
        partial_at(from.partial_at),
        step_bytes(from.step_bytes),
        sum(from.sum),
        direct(from.direct) {
    std::copy(from.stride.begin(), from.stride.end(), stride);
  }

  std::int64_t stride[max_rank] = {};
  std::int64_t column_stride = 0;
  std::int64_t period = 0;
  std::int64_t partial_at = 0;
  unsigned step_bytes = 0;
  TileSum sum{};
  bool direct = false;
};

/// Takes as many of a plan's operands as a kernel has.
template <class Operand, class PlanOperand, std::size_t count>
void take_operands(Operand (&to)[count], const std::array<PlanOperand, max_operands>& from) {
  for (std::size_t k = 0; k < count; ++k) to[k] = Operand(from[k]);
}

}  // namespace portops::impl
