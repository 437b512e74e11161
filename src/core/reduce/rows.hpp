// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/pack.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "core/types/macros.hpp"

// What the kernels over a ReducePlan share: where rows lie, and what they work on.

namespace portops::impl {

/// An operand of a ReducePlan, in a kernel.
template <class T>
struct RowOperand {
  explicit RowOperand(const ReducePlan::Operand& from)
      : data(reinterpret_cast<T*>(from.data)), column_stride(from.column_stride), packs(from.packs) {
    for (int axis = 0; axis < max_rank; ++axis) stride[axis] = from.stride[axis];
  }

  T* data = nullptr;
  std::int64_t stride[max_rank] = {};
  std::int64_t column_stride = 0;
  bool packs = false;  ///< as in ReducePlan::Operand
};

/// The axes of a ReducePlan, in a kernel.
struct RowAxes {
  explicit RowAxes(const ReducePlan& plan) : kept_rank(plan.kept_rank), rank(plan.rank) {
    for (int axis = 0; axis < max_rank; ++axis) extent[axis] = plan.extent[axis];
  }

  /// Where the operand has position `index` along the kept axes.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t kept_offset(const RowOperand<T>& operand, std::int64_t index) const {
    return kept_rank <= 1 ? index * operand.stride[0] : offset(operand.stride, index, 0, kept_rank);
  }
  /// Where it has run `index`, from there.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t run_offset(const RowOperand<T>& operand, std::int64_t index) const {
    return has_one_run_axis() ? index * run_stride(operand) : offset(operand.stride, index, kept_rank, rank);
  }

  /// Whether runs follow each other at equal distances.
  KOKKOS_FORCEINLINE_FUNCTION bool has_one_run_axis() const { return rank - kept_rank <= 1; }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t run_stride(const RowOperand<T>& operand) const {
    return rank > kept_rank ? operand.stride[kept_rank] : 0;
  }

  std::int64_t extent[max_rank] = {};
  int kept_rank = 0;
  int rank = 0;

 private:
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t offset(const std::int64_t (&stride)[max_rank], std::int64_t index, int begin,
                                                  int end) const {
    std::int64_t result = 0;
    PORTOPS_NO_UNROLL
    for (int axis = end - 1; axis >= begin; --axis) {
      const std::int64_t outer = axis > begin ? quotient(index, extent[axis]) : 0;
      result += (index - outer * extent[axis]) * stride[axis];
      index = outer;
    }
    return result;
  }
};

/// The terms of one part of a result.
struct PartRange {
  std::int64_t first_run;
  std::int64_t runs;
  std::int64_t first_column;
  int columns;  ///< where these are reduced; their parts are short
};

/// How the terms of a result are cut into parts, in a kernel.
struct RowParts {
  explicit RowParts(const ReducePlan& plan)
      : columns(plan.columns),
        runs(plan.runs),
        part_columns(plan.part_columns),
        part_runs(plan.part_runs),
        column_parts(plan.column_parts),
        parts(plan.parts()),
        by_column_parts(plan.column_parts),
        by_parts(plan.parts()) {}

  KOKKOS_FORCEINLINE_FUNCTION PartRange range(std::int64_t part) const {
    const std::int64_t run_part = column_parts == 1 ? part : by_column_parts.quotient(part);
    PartRange range;
    range.first_run = run_part * part_runs;
    range.runs = range.first_run + part_runs <= runs ? part_runs : runs - range.first_run;
    range.first_column = (part - run_part * column_parts) * part_columns;
    const std::int64_t left = columns - range.first_column;
    range.columns = static_cast<int>(left < part_columns ? left : part_columns);
    return range;
  }

  std::int64_t columns = 1;
  std::int64_t runs = 1;
  std::int64_t part_columns = 1;
  std::int64_t part_runs = 1;
  std::int64_t column_parts = 1;
  std::int64_t parts = 1;
  IndexDivisor by_column_parts;
  IndexDivisor by_parts;
};

/// What a part of a result adds to it: scale^p · total for a norm of order p; scale is 1 but where that was rescaled.
template <class A>
struct Partial {
  A scale;
  A total;
};

/// What the kernels of a reduction work on: operand x of a plan, and its operand out or partial results.
template <class T>
struct ReduceRows {
  using A = Arithmetic<T>;

  ReduceRows(const ReducePlan& plan, int x_place, int out_place, Partial<A>* partial_results)
      : axes(plan),
        parts(plan),
        x(plan.operand[x_place]),
        out(plan.operand[out_place]),
        partials(partial_results),
        result_columns(plan.direction == Direction::down ? plan.columns : 1),
        pack(plan.pack) {}

  /// Writes what a part came to of the result at position `at_kept` along the kept axes, in column `column`.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void write(const F& f, std::int64_t at_kept, std::int64_t column, std::int64_t part,
                                         const Partial<A>& value) const {
    if (parts.parts == 1) {
      out.data[axes.kept_offset(out, at_kept) + column * out.column_stride] = static_cast<T>(f.finish(value));
    } else {
      partials[(at_kept * result_columns + column) * parts.parts + part] = value;
    }
  }

  RowAxes axes;
  RowParts parts;
  RowOperand<T> x;
  RowOperand<T> out;
  Partial<A>* partials;         ///< [result][part]
  std::int64_t result_columns;  ///< of the results of one position along the kept axes
  int pack;
};

/// The operands of a spread, by their places in the plan: y = f(x, value of the row), which out and out_grad give.
struct SpreadOperands {
  int out;
  int out_grad;
  int x;
  int y;
};

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

  SpreadRows(const ReducePlan& plan, const SpreadOperands& operands, const TieCounts& tie_counts)
      : axes(plan),
        parts(plan),
        out(plan.operand[operands.out]),
        out_grad(plan.operand[operands.out_grad]),
        x(plan.operand[operands.x]),
        y(plan.operand[operands.y]),
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
