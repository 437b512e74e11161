// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/rescale.hpp"

namespace portops::impl {

/// Reduces columns of few rows on a GPU, without teams: a thread takes a pack of columns, and has all of their rows
/// under way at once. What it adds, and in which order, is as in ReduceDown; packs are wider, because rows are few.
template <class T, class F>
class ReduceFewRows {
 public:
  using A = Arithmetic<T>;
  /// Teams that should fit a multiprocessor at once.
  static constexpr int blocks = 4;

  static bool suits(const ReducePlan& plan) {
    return plan.direction == Direction::down && plan.parts() == 1 && plan.slots == 1 && plan.runs <= most_rows &&
           plan.rank - plan.kept_rank <= 1 && plan.operand[reduction_x].column_stride == 1;
  }

  ReduceFewRows(const F& f, const ReducePlan& plan)
      : f_(f),
        rows_(plan, nullptr),
        kept_(plan.kept),
        runs_(static_cast<int>(plan.runs)),
        pack_(widest_pack_of(plan)),
        out_packs_(has_packs(plan, plan.operand[reduction_out], pack_)),
        packs_(plan.columns / pack_),
        by_packs_(packs_) {}

  std::int64_t items() const { return kept_ * packs_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    with_access<widest_pack>(pack_, true, [&]<class Access>(Access) {
      constexpr int width = Access::width;
      const std::int64_t kept = by_packs_.quotient(item), column = (item - kept * packs_) * width;
      const T* const x = pinned(rows_.x.data + rows_.axes.kept_offset(rows_.x, kept) + column);
      A sums[width];
      runs_ <= few_rows ? add_up<Access, few_rows>(x, sums) : add_up<Access, most_rows>(x, sums);
      T* const out = rows_.out.data + rows_.axes.kept_offset(rows_.out, kept) + column * rows_.out.column_stride;
      Word<T, width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) results.set(i, static_cast<T>(f_.finish(partial(x + i, sums[i]))));
      if (out_packs_) return Access::store(out, results, 1, width);
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) out[i * rows_.out.column_stride] = results[i];
    });
  }

 private:
  static constexpr int widest_pack = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int few_rows = 4, most_rows = 8;

  static bool has_packs(const ReducePlan& plan, const ReducePlan::Operand& operand, int pack) {
    auto bits = reinterpret_cast<std::uintptr_t>(operand.data);
    for (int axis = 0; axis < plan.rank; ++axis) bits |= static_cast<std::uintptr_t>(operand.stride[axis]) * sizeof(T);
    return operand.column_stride == 1 && bits % (static_cast<std::uintptr_t>(pack) * sizeof(T)) == 0;
  }
  static int widest_pack_of(const ReducePlan& plan) {
    int pack = widest_pack;
    while (pack > 1 && (plan.columns % pack != 0 || !has_packs(plan, plan.operand[reduction_x], pack))) pack /= 2;
    return pack;
  }

  KOKKOS_FORCEINLINE_FUNCTION const T* row(const T* x, int run) const {
    return x + run * rows_.axes.run_stride(rows_.x);
  }

  /// What up to `most` rows add up to, all of them loaded before the first is added.
  template <class Access, int most>
  KOKKOS_FORCEINLINE_FUNCTION void add_up(const T* x, A (&sums)[Access::width]) const {
    Word<T, Access::width> loaded[most];
    PORTOPS_UNROLL
    for (int r = 0; r < most; ++r) {
      if (r < runs_) Access::load(loaded[r], row(x, r), 1, Access::width);
    }
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) sums[i] = f_.identity();
    PORTOPS_UNROLL
    for (int r = 0; r < most; ++r) {
      if (r >= runs_) break;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) sums[i] = f_.add(sums[i], static_cast<A>(loaded[r][i]));
    }
  }

  /// A column's sum, taken anew where it is not safe.
  KOKKOS_FORCEINLINE_FUNCTION Partial<A> partial(const T* x, A sum) const {
    if constexpr (F::rescales) {
      if (!f_.is_safe(sum)) return rescale(x);
    }
    return {A(1), sum};
  }
  KOKKOS_FUNCTION Partial<A> rescale(const T* x) const {
    return rescaled_sum<A>(f_, [&](A value, const auto& join, const auto& term) {
      PORTOPS_NO_UNROLL
      for (int r = 0; r < runs_; ++r) value = join(value, term(static_cast<A>(*row(x, r))));
      return value;
    });
  }

  F f_;
  ReduceRows<T> rows_;
  std::int64_t kept_;
  int runs_;
  int pack_;
  bool out_packs_;
  std::int64_t packs_;
  IndexDivisor by_packs_;
};

}  // namespace portops::impl
