// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/rows.hpp"
#include "ops/softmaxes/softmax_plan.hpp"

namespace portops::impl {

/// What a kernel does of softmax.
enum class SoftmaxPass : std::int32_t {
  whole,   ///< all: rows have one part
  states,  ///< leaves what the parts of rows come to
  apply    ///< joins these, and writes the results
};

/// A row of the axis: what shares a state, or the part of it that a thread works on.
struct SoftmaxRow {
  const RowAxes& axes;
  std::int64_t kept;    ///< position along the kept axes
  std::int64_t column;  ///< of a row that goes down a column
  std::int64_t index;   ///< of the row among all of them
  std::int64_t first;   ///< of its elements, that from which they are counted

  /// Where an operand lies that has one element a row.
  template <class E>
  KOKKOS_FORCEINLINE_FUNCTION E* in(const RowOperand<E>& operand) const {
    return operand.data + axes.kept_offset(operand, kept) + column * operand.column_stride;
  }
};

/// Softmax or its gradient, of core/lanes/softmax_functions.hpp, as a functor of these kernels. Such a functor has
///
///   inputs       a constant: operands of which it takes the elements, the first ones of the plan; out is the next one
///   fill(k)      what stands for elements of operand k that are not there
///   collects     a constant: whether a row comes to a State first, by add(), operator()(State, State) and joined()
///   writes       a constant: whether out is written; then
///   row(State, SoftmaxRow)                gives what all elements of the row share, a struct of numbers, and
///   operator()(Row, elements, number)     the element of out; `number` counts from SoftmaxRow::first
///   finish(State, SoftmaxRow, Asked)      without `writes`: what is done with a row's state, and with what was read
///   ask(SoftmaxRow)                       before its elements, an Asked, and
///   ask_more(SoftmaxRow, Asked&)          when they are on their way
///   has_terms, sums_terms                 as in softmax_functions.hpp
template <class F>
struct SoftmaxOfNumbers : F {
  using A = decltype(F::fill());
  using State = typename F::State;
  using Row = typename F::Row;
  static constexpr bool collects = true;
  static constexpr bool writes = true;
  using F::operator();
  struct Asked {};

  KOKKOS_FORCEINLINE_FUNCTION static A fill(int = 0) { return F::fill(); }
  KOKKOS_FORCEINLINE_FUNCTION static Row row(const State& state) { return F::row(state); }
  KOKKOS_FORCEINLINE_FUNCTION Row row(const State& state, const SoftmaxRow&) const { return F::row(state); }
  KOKKOS_FORCEINLINE_FUNCTION A operator()(const Row& row, const A (&in)[F::inputs], int) const {
    return F::operator()(row, in);
  }
};

/// What the thread that finishes a row has asked for before it reads the row's elements, and when they are on their
/// way.
template <class F>
KOKKOS_FORCEINLINE_FUNCTION typename F::Asked ask([[maybe_unused]] const F& f, [[maybe_unused]] const SoftmaxRow& row,
                                                  [[maybe_unused]] bool finishes) {
  if constexpr (!F::writes) {
    if (finishes) return f.ask(row);
  }
  return {};
}
template <class F>
KOKKOS_FORCEINLINE_FUNCTION void ask_more([[maybe_unused]] const F& f, [[maybe_unused]] const SoftmaxRow& row,
                                          [[maybe_unused]] bool finishes, [[maybe_unused]] typename F::Asked& asked) {
  if constexpr (!F::writes) {
    if (finishes) f.ask_more(row, asked);
  }
}

/// What is done with a row's state, where nothing was asked for before.
template <class F>
KOKKOS_FORCEINLINE_FUNCTION void finish_row(const F& f, const typename F::State& state, const SoftmaxRow& row) {
  typename F::Asked asked = f.ask(row);
  f.ask_more(row, asked);
  f.finish(state, row, asked);
}

/// What the kernels of softmax, its gradient, and their like work on.
template <class T, class F>
struct SoftmaxRows {
  using State = typename F::State;

  SoftmaxRows(const F& functor, const ReducePlan& plan, State* states)
      : f(functor),
        axes(plan),
        parts(plan),
        pack(plan.pack),
        partials(states),
        down(plan.direction == Direction::down),
        results(plan.results()) {
    packs = true;
    for (int k = 0; k < F::inputs; ++k) {
      in[k] = RowOperand<const T>(plan.operand[k]);
      packs = packs && in[k].packs;
    }
    if (F::writes) {
      out = RowOperand<T>(plan.operand[F::inputs]);
      packs = packs && out.packs;
    }
  }

  /// Where a row or, where columns are kept, a column begins.
  template <class E>
  KOKKOS_FORCEINLINE_FUNCTION E* at(const RowOperand<E>& operand, std::int64_t at_kept, std::int64_t column) const {
    return operand.data + axes.kept_offset(operand, at_kept) + column * operand.column_stride;
  }

  /// The number of a team. Those that read once more begin at the end: what was read last is still in a cache.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION int number_of(const Team& team) const {
    return pass == SoftmaxPass::apply ? team.league_size() - 1 - team.league_rank() : team.league_rank();
  }

  /// What a part of a result came to. Those of a row lie side by side, as its lanes read them; where columns are kept,
  /// those of neighbouring columns do.
  KOKKOS_FORCEINLINE_FUNCTION State& partial(std::int64_t result, std::int64_t part) const {
    return partials[down ? part * results + result : result * parts.parts + part];
  }

  /// The row at `kept` and, where columns are kept, in `column`.
  KOKKOS_FORCEINLINE_FUNCTION SoftmaxRow row(std::int64_t kept, std::int64_t column, std::int64_t first) const {
    return {axes, kept, column, down ? kept * parts.columns + column : kept, first};
  }

  F f;
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
