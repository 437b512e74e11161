// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/types/tensor_ref.hpp"

namespace portops::impl {

/// The axes along which rows are counted, the fastest first: one as a rule, more where places or rows lie so that
/// neighbouring axes are not one axis to both. Nothing here knows Kokkos.
struct RowAxes {
  int rank = 0;
  std::int64_t extent[max_rank] = {};
  std::int64_t place_stride[max_rank] = {};  ///< of the tensor of places, in elements
  std::int64_t row_stride[max_rank] = {};    ///< of the tensor of rows

  /// From where row i has its place, and where it lies.
  PORTOPS_FUNCTION void locate(std::int64_t i, std::int64_t& place, std::int64_t& row) const {
    place = row = 0;
    PORTOPS_NO_UNROLL
    for (int axis = 0; axis < rank; ++axis) {
      const std::int64_t outer = axis + 1 < rank ? quotient(i, extent[axis]) : 0;
      const std::int64_t along = i - outer * extent[axis];
      place += along * place_stride[axis];
      row += along * row_stride[axis];
      i = outer;
    }
  }
};

/// Of places of any rank, and of rows whose first axes are those of the places.
RowAxes make_row_axes(const TensorRef& places, const TensorRef& rows);

}  // namespace portops::impl
