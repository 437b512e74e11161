// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/rows.hpp"
#include "ops/softmax/softmax_plan.hpp"

namespace portops::impl {

/// What a kernel does of softmax.
enum class SoftmaxPass : std::int32_t {
  whole,   ///< all: rows have one part
  states,  ///< leaves what the parts of rows come to
  apply    ///< joins these, and writes the results
};

/// What the kernels of softmax and its gradient work on.
template <class T, class F>
struct SoftmaxRows {
  using State = typename F::State;

  SoftmaxRows(const ReducePlan& plan, State* states)
      : axes(plan),
        parts(plan),
        out(plan.operand[F::inputs]),
        pack(plan.pack),
        partials(states),
        down(plan.direction == Direction::down),
        results(plan.results()) {
    packs = out.packs;
    for (int k = 0; k < F::inputs; ++k) {
      in[k] = RowOperand<const T>(plan.operand[k]);
      packs = packs && in[k].packs;
    }
  }

  /// Where a row or, where columns are kept, a column begins.
  template <class E>
  KOKKOS_FORCEINLINE_FUNCTION E* at(const RowOperand<E>& operand, std::int64_t at_kept, std::int64_t column) const {
    return operand.data + axes.kept_offset(operand, at_kept) + column * operand.column_stride;
  }

  /// What a part of a result came to. Those of a row lie side by side, as its lanes read them; where columns are kept,
  /// those of neighbouring columns do.
  KOKKOS_FORCEINLINE_FUNCTION State& partial(std::int64_t result, std::int64_t part) const {
    return partials[down ? part * results + result : result * parts.parts + part];
  }

  RowAxes axes;
  RowParts parts;
  RowOperand<const T> in[F::inputs];
  RowOperand<T> out;
  int pack;
  bool packs;  ///< all operands have packs
  SoftmaxPass pass = SoftmaxPass::whole;
  bool streaming = false;  ///< a host writes past its caches
  State* partials;
  bool down;
  std::int64_t results;
};

}  // namespace portops::impl
