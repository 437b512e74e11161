// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/rows.hpp"
#include "core/reduce/spread_plan.hpp"

namespace portops::impl {

/// The operands of a spread, by their places in its loop and plan: y = f(x, value of the row), which out and out_grad
/// give.
inline constexpr int spread_x = 0, spread_out = 1, spread_out_grad = 2, spread_y = 3;

/// What is done about the ties of a row, where a function needs their number.
enum class Ties : std::int32_t {
  within,   ///< they are counted before the row is written: it has one part
  counted,  ///< those of each part are counted, and nothing else is done
  given     ///< the counts of all parts are added up
};

struct TieCounts {
  Ties mode = Ties::within;
  int* data = nullptr;  ///< [part][result]
  std::int64_t results = 0;

  KOKKOS_FORCEINLINE_FUNCTION int& of(std::int64_t part, std::int64_t result) const {
    return data[part * results + result];
  }
};

/// What the kernels of a spread work on.
template <class T>
struct SpreadRows {
  using A = Arithmetic<T>;

  SpreadRows(const ReducePlan& plan, const TieCounts& tie_counts)
      : axes(plan),
        parts(plan),
        out(plan.operand[spread_out]),
        out_grad(plan.operand[spread_out_grad]),
        x(plan.operand[spread_x]),
        y(plan.operand[spread_y]),
        counts(tie_counts),
        pack(plan.pack) {}

  /// Where the operands have a position along the kept axes.
  struct Place {
    const T* x;
    T* y;
    const T* out;
    const T* out_grad;
  };
  KOKKOS_FORCEINLINE_FUNCTION Place place(std::int64_t at_kept) const {
    if (axes.kept_rank <= 1) {
      return {x.data + at_kept * x.stride[0], y.data + at_kept * y.stride[0], out.data + at_kept * out.stride[0],
              out_grad.data + at_kept * out_grad.stride[0]};
    }
    return {x.data + axes.kept_offset(x, at_kept), y.data + axes.kept_offset(y, at_kept),
            out.data + axes.kept_offset(out, at_kept), out_grad.data + axes.kept_offset(out_grad, at_kept)};
  }
  /// The value of the row there, or of a column where these are kept too.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION typename F::Row row(const F& f, const Place& at, std::int64_t column = 0) const {
    return f.row(static_cast<A>(in_device_memory(at.out)[column * out.column_stride]),
                 static_cast<A>(in_device_memory(at.out_grad)[column * out_grad.column_stride]));
  }

  RowAxes axes;
  RowParts parts;
  RowOperand<T> out;
  RowOperand<T> out_grad;
  RowOperand<T> x;
  RowOperand<T> y;
  TieCounts counts;
  int pack;
};

}  // namespace portops::impl
