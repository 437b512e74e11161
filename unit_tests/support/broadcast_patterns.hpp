// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/tensor_ref.hpp>

// Broadcast patterns: along each axis, an operand either has the extent or 1.

namespace portops::test {

/// The extents that operands with this bit mask have; leading axes of extent 1 are left out where `short_rank`.
inline Extents masked(const Extents& shape, unsigned mask, bool short_rank) {
  int first = 0;
  while (short_rank && first < shape.rank() && (mask >> first & 1u) == 0) ++first;
  Extents result = Extents::of_rank(shape.rank() - first);
  for (int axis = first; axis < shape.rank(); ++axis) result[axis - first] = (mask >> axis & 1u) != 0 ? shape[axis] : 1;
  return result;
}

inline Extents united(const Extents& shape, unsigned mask) { return masked(shape, mask, false); }

}  // namespace portops::test
