// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/normalization/norm_map.hpp"

namespace portops::impl {

/// The same as NormMap for rows at equal distances where sides have a number for each column, as images have that lie
/// with their channels last: a thread takes a pack of columns in a few rows, and reads its sides once. The last ones
/// come first: what a reduction has read at the end is still in a cache.
template <Backend B, class T, class F>
class NormMapColumns {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 2;

  /// Operands lie in the plan as they do in a kernel's arrays: inputs, sides, out.
  static bool suits(const ReducePlan& plan) {
    if (plan.rank != 1 || plan.pack != width) return false;
    for (int k = 0; k < operands; ++k) {
      const ReducePlan::Operand& operand = plan.operand[static_cast<std::size_t>(k)];
      const bool is_side = k >= F::inputs && k < operands - 1;
      if (is_side ? operand.stride[0] != 0 : !operand.packs) return false;
    }
    return true;
  }

  NormMapColumns(const NormRows<T, F>& rows, const ReducePlan& plan)
      : out_(reinterpret_cast<T*>(plan.operand[operands - 1].data)),
        out_stride_(plan.operand[operands - 1].stride[0]),
        rows_(plan.runs),
        row_packs_(plan.columns / width),
        by_row_packs_(row_packs_),
        items_(ceil_div(plan.runs, batch) * row_packs_) {
    for (int k = 0; k < F::inputs; ++k) {
      in_[k] = rows.in[k].data;
      in_stride_[k] = rows.in[k].stride[0];
    }
    for (int k = 0; k < F::sides; ++k) side_[k] = rows.side[k];
  }

  std::int64_t items() const { return items_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t place = items_ - 1 - item, group = by_row_packs_.quotient(place);
    const std::int64_t column = (place - group * row_packs_) * width, first = group * batch, left = rows_ - first;
    Word<T, width> in[batch][F::inputs];
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) {
        if (b < left) in[b][k] = *word_at(in_[k] + (first + b) * in_stride_[k] + column);
      }
    }
    A sides[F::sides][width];
    PORTOPS_UNROLL
    for (int k = 0; k < F::sides; ++k) side_[k].load(sides[k], column * side_[k].operand.column_stride, width);
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      if (b >= left) break;
      *word_at(out_ + (first + b) * out_stride_ + column) = map_pack<T, F>(in[b], sides);
    }
  }

 private:
  static constexpr int width = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = 4;  ///< rows that are on their way together
  static constexpr int operands = F::inputs + planned_sides<F> + 1;

  KOKKOS_FORCEINLINE_FUNCTION static const Word<T, width>* word_at(const T* address) {
    return reinterpret_cast<const Word<T, width>*>(in_device_memory(address));
  }
  KOKKOS_FORCEINLINE_FUNCTION static Word<T, width>* word_at(T* address) {
    return reinterpret_cast<Word<T, width>*>(in_device_memory(address));
  }

  const T* in_[F::inputs];
  std::int64_t in_stride_[F::inputs];
  Side<T> side_[F::sides];
  T* out_;
  std::int64_t out_stride_;
  std::int64_t rows_;
  std::int64_t row_packs_;
  IndexDivisor by_row_packs_;
  std::int64_t items_;
};

}  // namespace portops::impl
