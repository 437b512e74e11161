// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/divide.hpp"
#include "core/macros.hpp"
#include "core/pack.hpp"
#include "core/reduce_plan.hpp"

// What the kernels over a ReducePlan share: where rows lie, and how neighbouring columns are read and written.

namespace portops::impl {

/// An operand of a ReducePlan, in a kernel.
template <class T>
struct RowOperand {
  RowOperand() = default;
  explicit RowOperand(const ReducePlan::Operand& from)
      : data(reinterpret_cast<T*>(from.data)), column_stride(from.column_stride), access_bytes(from.access_bytes) {
    for (int axis = 0; axis < max_rank; ++axis) stride[axis] = from.stride[axis];
  }

  T* data = nullptr;
  std::int64_t stride[max_rank] = {};
  std::int64_t column_stride = 0;
  int access_bytes = 0;
};

/// The axes of a ReducePlan, in a kernel.
struct RowAxes {
  RowAxes() = default;
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

/// Some elements that are read or written at once.
template <class T, int bytes>
struct alignas(bytes) Word {
  static constexpr int elements = bytes / static_cast<int>(sizeof(T));
  T element[elements];
};

template <int bytes, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void load_words(T (&values)[N], const T* from) {
  using W = Word<T, bytes>;
  PORTOPS_UNROLL
  for (int w = 0; w < N / W::elements; ++w) {
    const W word = reinterpret_cast<const W*>(from)[w];
    PORTOPS_UNROLL
    for (int i = 0; i < W::elements; ++i) values[w * W::elements + i] = word.element[i];
  }
}

template <int bytes, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void store_words(T* to, const T (&values)[N]) {
  using W = Word<T, bytes>;
  PORTOPS_UNROLL
  for (int w = 0; w < N / W::elements; ++w) {
    W word;
    PORTOPS_UNROLL
    for (int i = 0; i < W::elements; ++i) word.element[i] = values[w * W::elements + i];
    reinterpret_cast<W*>(to)[w] = word;
  }
}

/// Calls action.template operator()<bytes>() with the widest access for packs of N elements of T that `access_bytes`
/// allows; 0 where they must be taken one by one.
template <class T, int N, class Action>
KOKKOS_FORCEINLINE_FUNCTION void with_access(int access_bytes, const Action& action) {
  constexpr int whole = N * static_cast<int>(sizeof(T));
  if (access_bytes >= whole) return action.template operator()<whole>();
  if constexpr (whole > 8 && sizeof(T) < 8) {
    if (access_bytes == 8) return action.template operator()<8>();
  }
  if constexpr (sizeof(T) < 4) {
    if (access_bytes == 4) return action.template operator()<4>();
  }
  action.template operator()<0>();
}

/// Reads N columns; `bytes` is that of with_access.
template <int bytes, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void load_columns(T (&values)[N], const T* from, std::int64_t stride) {
  if constexpr (bytes != 0) {
    load_words<bytes>(values, from);
  } else {
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) values[i] = from[i * stride];
  }
}

template <int bytes, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void store_columns(T* to, const T (&values)[N], std::int64_t stride) {
  if constexpr (bytes != 0) {
    store_words<bytes>(to, values);
  } else {
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) to[i * stride] = values[i];
  }
}

/// The terms of one part of a result.
struct PartRange {
  std::int64_t first_run;
  std::int64_t runs;
  std::int64_t first_column;
  int columns;  ///< where these are reduced
};

/// How the terms of a result are cut into parts, in a kernel.
struct RowParts {
  RowParts() = default;
  explicit RowParts(const ReducePlan& plan)
      : columns(plan.columns),
        runs(plan.runs),
        part_columns(plan.part_columns),
        part_runs(plan.part_runs),
        column_parts(plan.column_parts),
        parts(plan.parts()) {}

  KOKKOS_FORCEINLINE_FUNCTION PartRange range(std::int64_t part) const {
    const std::int64_t run_part = column_parts == 1 ? part : quotient(part, column_parts);
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

/// What a part of a result adds to it: scale^p · total for a norm of order p; scale is 1 but where that was rescaled.
template <class A>
struct Partial {
  A scale;
  A total;
};

}  // namespace portops::impl
