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
  RowOperand() = default;
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

/// Where the parts of results lie: those of a result side by side, which a GPU's lanes read together. On hosts part by
/// part, because threads that write parts of one result would wait for each other's lines of memory.
struct PartialPlaces {
  PartialPlaces(const ReducePlan& plan, bool on_host)
      : result_step(on_host ? 1 : plan.parts()), part_step(on_host ? plan.results() : 1) {}

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t of(std::int64_t result, std::int64_t part) const {
    return result * result_step + part * part_step;
  }

  std::int64_t result_step;
  std::int64_t part_step;
};

/// What the kernels of a reduction work on: x, and out or partial results.
template <class T>
struct ReduceRows {
  using A = Arithmetic<T>;

  ReduceRows(const ReducePlan& plan, Partial<A>* partial_results, bool on_host = false)
      : axes(plan),
        parts(plan),
        x(plan.operand[reduction_x]),
        out(plan.operand[reduction_out]),
        partials(partial_results),
        places(plan, on_host),
        result_columns(plan.direction == Direction::down ? plan.columns : 1),
        pack(plan.pack),
        shifted(plan.shifted) {}

  /// Columns of the first pack of a row, or of a part of it, that are not the row's.
  KOKKOS_FORCEINLINE_FUNCTION int columns_before(std::int64_t at_kept) const {
    constexpr int width = reduce_along_pack_bytes / static_cast<int>(sizeof(T));
    return shifted ? impl::columns_before(at_kept, parts.columns, width) : 0;
  }

  /// Writes what a part came to of the result at position `at_kept` along the kept axes, in column `column`.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void write(const F& f, std::int64_t at_kept, std::int64_t column, std::int64_t part,
                                         const Partial<A>& value) const {
    if (parts.parts == 1) {
      out.data[axes.kept_offset(out, at_kept) + column * out.column_stride] = static_cast<T>(f.finish(value));
    } else {
      partials[places.of(at_kept * result_columns + column, part)] = value;
    }
  }

  RowAxes axes;
  RowParts parts;
  RowOperand<T> x;
  RowOperand<T> out;
  Partial<A>* partials;
  PartialPlaces places;
  std::int64_t result_columns;  ///< of the results of one position along the kept axes
  int pack;
  bool shifted;
};

}  // namespace portops::impl
