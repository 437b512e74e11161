// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/divide.hpp"
#include "core/macros.hpp"
#include "core/map_plan.hpp"
#include "core/pack.hpp"

namespace portops::impl {

/// outputs = f(inputs) over a FlatPlan.
///
/// The first work items take a run of packs each, the next ones the packs that are left, the last ones the elements
/// before the first pack and after the last. There is one kernel for each kind of plan: the code for operands that are
/// not read by packs would cost the others registers and time.
template <Backend B, class T, class F, FlatKind kind>
class MapFlat {
 public:
  using A = Arithmetic<T>;
  static constexpr int pack = tile_shape(B, ElementTypeOf<T>::value).pack;
  /// A GPU's thread has the loads of so many packs under way at once. They are `group` packs apart, so that threads
  /// side by side read side by side.
  static constexpr int batch = B == Backend::cuda && kind == FlatKind::packs && F::inputs <= 3 ? 2 : 1;
  static constexpr int group = batch > 1 ? 128 : 1;
  /// Teams that should fit a GPU's multiprocessor at once, which limits the registers of a thread. 0: as it comes.
  static constexpr int blocks = kind == FlatKind::any || F::inputs > 3 ? 0 : batch > 1 ? 6 : 8;

  MapFlat(const F& f, const FlatPlan& plan)
      : f_(f), head_(plan.head), rank_(plan.rank), size_(plan.size), streaming_(plan.streaming) {
    // Long runs where stores are streamed, because each ends with a fence; else short ones, to share little work out.
    host_packs_ = plan.streaming ? 512 : 8;
    const std::int64_t packs = (plan.size - plan.head) / pack;
    runs_ = packs / (group * run_packs()) * group;
    single_packs_ = static_cast<int>(packs - runs_ * run_packs());
    if constexpr (kind == FlatKind::any) {
      for (int axis = 0; axis < plan.rank; ++axis) {
        stride_.extent[axis] = plan.extent[axis];
        if (plan.size <= INT32_MAX) stride_.divisor[axis] = Divisor(static_cast<std::uint32_t>(plan.extent[axis]));
      }
    }
    for (int k = 0; k < F::inputs + F::outputs; ++k) {
      const FlatPlan::Operand& operand = plan.operand[k];
      operand_[k].data = reinterpret_cast<T*>(operand.data);
      operand_[k].number = static_cast<A>(operand.number);
      operand_[k].access = operand.access;
      if constexpr (kind == FlatKind::any) {
        for (int axis = 0; axis < plan.rank; ++axis) stride_.of[k][axis] = operand.stride[axis];
      }
    }
  }

  std::int64_t items() const { return runs_ + single_packs_ + (size_ - packs() * pack); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t behind_runs = item - runs_;
    if (behind_runs < 0) {
      map_run(item);
    } else if (behind_runs < single_packs_) {
      map_packs<pack, 1>(head_ + (runs_ * run_packs() + behind_runs) * pack);
      if (streaming_) end_of_streaming<B>();
    } else {
      const std::int64_t edge = behind_runs - single_packs_;
      map_packs<1, 1>(edge < head_ ? edge : edge + packs() * pack);
    }
  }

 private:
  struct Operand {
    T* data;
    A number;
    FlatAccess access;
  };

  /// The loop's axes, for operands that are gathered.
  struct Strides {
    std::int64_t extent[max_rank];
    Divisor divisor[max_rank];  ///< of the extents, where all indices are less than 2^31
    std::int64_t of[F::inputs + F::outputs][max_rank];
  };
  struct Nothing {};

  KOKKOS_FORCEINLINE_FUNCTION int run_packs() const { return B == Backend::cuda ? batch : host_packs_; }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t packs() const { return runs_ * run_packs() + single_packs_; }

  KOKKOS_FORCEINLINE_FUNCTION void map_run(std::int64_t run) const {
    if constexpr (B == Backend::cuda) {
      const std::int64_t in_group = run % group;
      map_packs<pack, batch>(head_ + ((run - in_group) * batch + in_group) * pack);
    } else {
      const std::int64_t first = head_ + run * host_packs_ * pack;
      for (int p = 0; p < host_packs_; ++p) map_packs<pack, 1>(first + p * pack);
      if (streaming_) end_of_streaming<B>();
    }
  }

  /// Maps `count` packs of N elements (whole packs, or single elements), the first of them at `at`.
  template <int N, int count>
  KOKKOS_FORCEINLINE_FUNCTION void map_packs(std::int64_t at) const {
    A in[count][F::inputs][N];
    A out[F::outputs][N];
    PORTOPS_UNROLL
    for (int c = 0; c < count; ++c) {
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) load(k, at + c * group * N, in[c][k]);
    }
    PORTOPS_UNROLL
    for (int c = 0; c < count; ++c) {
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) apply<N>(f_, in[c], out, i);
      PORTOPS_UNROLL
      for (int k = 0; k < F::outputs; ++k) store(operand_[F::inputs + k], at + c * group * N, out[k]);
    }
  }

  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void load(int k, std::int64_t at, A (&values)[N]) const {
    const Operand& operand = operand_[k];
    const bool one_value = operand.access == FlatAccess::none || operand.access == FlatAccess::single;
    if (kind != FlatKind::packs && one_value) {
      const A value = operand.access == FlatAccess::single ? static_cast<A>(*operand.data) : operand.number;
      for (int i = 0; i < N; ++i) values[i] = value;
      return;
    }
    if constexpr (kind == FlatKind::any) {
      if (operand.access == FlatAccess::gathered) return gather(k, at, values);
    }
    if (N == pack && (kind != FlatKind::any || operand.access == FlatAccess::packs)) {
      if constexpr (N == pack) convert_pack<B, T, N>(values, read_pack<B, T, N>(operand.data + at), N);
    } else {
      for (int i = 0; i < N; ++i) values[i] = static_cast<A>(operand.data[at + i]);
    }
  }

  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void store(const Operand& operand, std::int64_t at, const A (&values)[N]) const {
    if (operand.access == FlatAccess::none) return;
    if constexpr (N == pack) {
      if (kind != FlatKind::any || operand.access == FlatAccess::packs) {
        return store_pack<B, T, N>(operand.data + at, values, streaming_);
      }
    }
    store_elements<B, T, N>(operand.data + (operand.access == FlatAccess::single ? 0 : at), values, 1, N);
  }

  /// Reads elements by their positions, which are worked out anew wherever a row of the last axis starts.
  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void gather(int k, std::int64_t at, A (&values)[N]) const {
    const T* from = operand_[k].data;
    std::int64_t left = 0;
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) {
      if (left == 0) from = operand_[k].data + locate(k, at + i, left);
      values[i] = static_cast<A>(*from);
      from += stride_.of[k][rank_ - 1];
      --left;
    }
  }

  /// The operand's offset at element `at`; `left` becomes the number of elements to the end of the row.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t locate(int k, std::int64_t at, std::int64_t& left) const {
    std::int64_t offset = 0;
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      const std::int64_t extent = stride_.extent[axis];
      const std::int64_t outer = axis == 0            ? 0
                                 : size_ <= INT32_MAX ? stride_.divisor[axis].quotient(static_cast<std::uint32_t>(at))
                                                      : at / extent;
      const std::int64_t along = at - outer * extent;
      offset += along * stride_.of[k][axis];
      if (axis == rank_ - 1) left = extent - along;
      at = outer;
    }
    return offset;
  }

  F f_;
  int head_;
  int rank_;
  int host_packs_;    ///< of a run on a host
  int single_packs_;  ///< behind the last run
  std::int64_t runs_;
  std::int64_t size_;
  bool streaming_;
  std::conditional_t<kind == FlatKind::any, Strides, Nothing> stride_;
  Operand operand_[F::inputs + F::outputs];
};

}  // namespace portops::impl
