// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/flat_plan.hpp"
#include "core/map/tile_plan.hpp"

#include <algorithm>
#include <array>

// The operands of a plan as its kernel has them: in the element type, and only as many as the functor has.

namespace portops::impl {

/// An operand of a FlatPlan.
template <class T>
struct MapFlatOperand {
  MapFlatOperand() = default;
  explicit MapFlatOperand(const FlatOperand& from)
      : data(reinterpret_cast<T*>(from.data)), number(static_cast<Arithmetic<T>>(from.number)), access(from.access) {}

  T* data = nullptr;
  Arithmetic<T> number{};
  FlatAccess access{};
};

/// An operand of a TilePlan, with the members of its TileOperand. Their order decides about registers of MapTiles.
template <class T>
struct MapTileOperand {
  MapTileOperand() = default;
  explicit MapTileOperand(const TileOperand& from)
      : data(reinterpret_cast<T*>(from.data)),
        column_stride(from.column_stride),
        period(from.period),
        partial_at(from.partial_at),
        number(static_cast<Arithmetic<T>>(from.number)),
        step_bytes(from.step_bytes),
        access(from.access),
        sum(from.sum),
        direct(from.direct) {
    std::copy(from.stride.begin(), from.stride.end(), stride);
  }

  T* data = nullptr;
  std::int64_t stride[max_rank] = {};
  std::int64_t column_stride = 0;
  std::int64_t period = 0;
  std::int64_t partial_at = 0;
  Arithmetic<T> number{};
  unsigned step_bytes = 0;
  Access access{};
  TileSum sum{};
  bool direct = false;
};

/// Takes as many of a plan's operands as a kernel has.
template <class Operand, class PlanOperand, std::size_t count>
void take_operands(Operand (&to)[count], const std::array<PlanOperand, max_operands>& from) {
  for (std::size_t k = 0; k < count; ++k) to[k] = Operand(from[k]);
}

}  // namespace portops::impl
