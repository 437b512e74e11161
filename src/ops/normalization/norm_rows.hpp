// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/host_rows.hpp"
#include "core/reduce/rows.hpp"
#include "ops/normalization/norm_plan.hpp"

#include <cstddef>

// What the kernels of normalisation share: operands whose element types differ.

namespace portops::impl {

/// Whether an access reads and writes packs at once: columns are neighbours then.
template <class Access>
inline constexpr bool at_once = Access::batch(16) == 16;

/// Reads N neighbouring numbers of type E, which are aligned as a pack of them, or the widest access in it.
template <int N, class A, class E>
KOKKOS_FORCEINLINE_FUNCTION void load_numbers(A (&values)[N], const E* from) {
  constexpr int most = gpu_pack_bytes / static_cast<int>(sizeof(E)), width = N < most ? N : most;
  PORTOPS_UNROLL
  for (int first = 0; first < N; first += width) {
    const auto word = *reinterpret_cast<const Word<E, width>*>(in_device_memory(from + first));
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) values[first + i] = static_cast<A>(word[i]);
  }
}

/// An operand beside x, in a kernel: statistics, of the type that sums have, or parameters, which may be of the call's.
template <class T>
struct Side {
  using A = Arithmetic<T>;

  Side() = default;
  Side(const ReducePlan& plan, int index, const TensorRef& tensor, A without)
      : operand(plan.operand[index]), number(without) {
    if (!tensor) return;
    given = true;
    narrow = sizeof(T) < sizeof(A) && tensor.type() == ElementTypeOf<T>::value;
    packs = has_side_packs(plan, index, size_of(tensor.type()));
  }

  KOKKOS_FORCEINLINE_FUNCTION A get(std::int64_t at) const {
    if (!given) return number;
    if (narrow) return static_cast<A>(reinterpret_cast<const T*>(operand.data)[at]);
    return reinterpret_cast<const A*>(operand.data)[at];
  }
  KOKKOS_FORCEINLINE_FUNCTION void set(std::int64_t at, A value) const {
    if (narrow) {
      reinterpret_cast<T*>(operand.data)[at] = static_cast<T>(value);
    } else {
      reinterpret_cast<A*>(operand.data)[at] = value;
    }
  }

  /// `count` columns from `at` on, for a GPU's thread: a pack, where packs are read at once, or the first ones of N.
  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void load(A (&values)[N], std::int64_t at, int count) const {
    if (!given || operand.column_stride == 0) {
      const A value = get(at);
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) values[i] = value;
    } else if (packs && count == N) {
      narrow ? load_numbers(values, reinterpret_cast<const T*>(operand.data) + at)
             : load_numbers(values, reinterpret_cast<const A*>(operand.data) + at);
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) values[i] = i < count ? get(at + i * operand.column_stride) : A(0);
    }
  }

  /// A chunk of columns, for a host. Those behind the last one are 0.
  void load_chunk(A (&values)[HostRows::chunk], std::int64_t at, int count) const {
    if (!given || operand.column_stride == 0) {
      const A value = get(at);
      for (int i = 0; i < HostRows::chunk; ++i) values[i] = i < count ? value : A(0);
      return;
    }
    if (narrow) {
      HostRows::load<T>(values, reinterpret_cast<const T*>(operand.data) + at, operand.column_stride, count);
    } else {
      HostRows::load<A>(values, reinterpret_cast<const A*>(operand.data) + at, operand.column_stride, count);
    }
    std::fill(values + count, values + HostRows::chunk, A(0));
  }

  RowOperand<std::byte> operand;
  bool given = false;
  bool narrow = false;  ///< has the call's type, and that is narrower than that of sums
  bool packs = false;
  A number = A(0);  ///< in place of one that is not given
};

/// The sides of a map that are operands of its plan, in which inputs come first and out last. A plan has no room for
/// one more: that lies behind the last one, with its strides.
template <class F>
inline constexpr int planned_sides = F::sides < max_operands - F::inputs ? F::sides : max_operands - 1 - F::inputs;
/// The operand whose strides a side has.
template <class F>
KOKKOS_FORCEINLINE_FUNCTION constexpr int operand_of_side(int k) {
  return F::inputs + (k < planned_sides<F> ? k : planned_sides<F> - 1);
}

/// The inputs of a kernel and the operands beside them.
template <class T, class F>
struct NormRows {
  static constexpr int most_sides = F::sides > 0 ? F::sides : 1;

  /// Inputs come first among the plan's operands; side k is its operand first_side + k, if there are so many tensors.
  NormRows(const ReducePlan& plan, int first_side, std::span<const TensorRef> side_tensors,
           const Arithmetic<T> (&without)[most_sides])
      : axes(plan) {
    take_inputs(plan);
    for (int k = 0; k < F::sides; ++k) {
      if (static_cast<std::size_t>(k) == side_tensors.size()) break;
      side[k] = Side<T>(plan, first_side + k, side_tensors[static_cast<std::size_t>(k)], without[k]);
    }
  }

  /// Side k is another one, of the type that sums have, so many elements further.
  void place_behind(int k, int other, std::int64_t elements) {
    side[k] = side[other];
    const std::ptrdiff_t bytes =
        static_cast<std::ptrdiff_t>(elements) * static_cast<std::ptrdiff_t>(sizeof(Arithmetic<T>));
    side[k].operand.data += bytes;
    side[k].packs = side[k].packs && bytes % gpu_pack_bytes == 0;
  }

  /// From here on the rows are those of another plan, with the same inputs.
  void take_inputs(const ReducePlan& plan) {
    axes = RowAxes(plan);
    pack = plan.pack;
    packs = true;
    for (int k = 0; k < F::inputs; ++k) {
      in[k] = RowOperand<const T>(plan.operand[k]);
      packs = packs && in[k].packs;
    }
  }

  RowAxes axes;
  RowOperand<const T> in[F::inputs];
  Side<T> side[most_sides];
  int pack = 1;
  bool packs = false;  ///< all inputs have packs
};

}  // namespace portops::impl
