// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/exec/workspace.hpp"
#include "ops/sequence/move_steps.hpp"
#include "ops/sequence/pool_steps.hpp"
#include "ops/sequence/spread_steps.hpp"
#include "ops/sequence/step_kernels.hpp"

#include <type_traits>

namespace portops::impl {

struct CopyNumbers {
  static constexpr int blocks = 0;
  const std::int64_t* numbers;
  std::int64_t count;
  std::int64_t* to;
  std::int64_t stride;

  std::int64_t items() const { return count; }
  KOKKOS_FUNCTION void operator()(std::int64_t item) const { to[item * stride] = numbers[item]; }
};

template <Backend B, class Kernel>
void launch_steps(const Context& ctx, const std::string& label, const Kernel& kernel) {
  if constexpr (B == Backend::cuda) {
    launch_by_teams<B>(ctx, label, kernel);
  } else {
    launch_by_items<B>(ctx, label, kernel);
  }
}

template <Backend B, class T, bool chooses>
using SpreadSteps = std::conditional_t<B == Backend::cuda, SpreadStepsDown<B, T, chooses>, SpreadStepsHost<T, chooses>>;
template <Backend B, class T>
using MoveSteps = std::conditional_t<B == Backend::cuda, MoveStepsDown<B, T>, MoveStepsHost<T>>;

template <Backend B, class X, class T, class F>
void launch_pool(const Context& ctx, const std::string& label, const PoolArguments<X, T, F>& arguments,
                 const StepEntries& longest, const StepEntries& others) {
  if constexpr (B == Backend::cuda) {
    constexpr int most = most_pool_singles<T>;
    switch (single_columns(arguments.columns, longest, others, pool_rows_of_thread, most)) {
      case 1: return launch_by_teams<B>(ctx, label, PoolStepsDown<B, X, T, F>(arguments, longest, others));
      case 2: return launch_by_teams<B>(ctx, label, PoolStepsDown<B, X, T, F, 2>(arguments, longest, others));
      default: return launch_by_teams<B>(ctx, label, PoolStepsDown<B, X, T, F, most>(arguments, longest, others));
    }
  } else {
    launch_by_items<B>(ctx, label, PoolStepsHost<X, T, F>(arguments, longest, others));
  }
}

/// The pieces, and then, where sequences were cut, their partial results.
template <Backend B, class T, class F>
void pool_steps(const Context& ctx, const std::string& op, const StepPool& pool) {
  using A = Arithmetic<T>;
  const PiecePlan& plan = pool.plan;
  const std::string prefix = "portops::" + op + "::";
  const std::string temporary_label = prefix + "partials";
  const StepPartials layout = step_partials(pool, ElementTypeOf<T>::value);
  const Temporary temporary(ctx, temporary_label.c_str(), layout.bytes);
  auto* const memory = static_cast<std::byte*>(temporary.data());
  auto* const partials = reinterpret_cast<A*>(memory);
  auto* const partial_index = pool.index.data != nullptr && memory != nullptr
                                  ? reinterpret_cast<std::int64_t*>(memory + layout.index_at)
                                  : nullptr;

  const TableUse<Piece> pieces(ctx, plan.pieces);
  const TableUse<Piece> joins(ctx, plan.joins);
  const F f{pool.scale};
  const PoolArguments<T, T, F> arguments{
      f,        pieces.data(), pool.columns, pool.x, pool.out, pool.index, static_cast<A>(pool.pad_value),
      partials, partial_index, nullptr};
  launch_pool<B>(ctx, prefix + "pool[steps]", arguments, {plan.long_pieces, plan.mean_long_rows},
                 {pieces.size() - plan.long_pieces, plan.mean_other_rows});
  if (plan.partials == 0) return;
  const PoolArguments<A, T, F> rest{f,
                                    joins.data(),
                                    pool.columns,
                                    rows_of_temporary(pool.columns, partials),
                                    pool.out,
                                    pool.index,
                                    static_cast<A>(pool.pad_value),
                                    nullptr,
                                    nullptr,
                                    partial_index};
  launch_pool<B>(ctx, prefix + "join[partials]", rest, {}, {joins.size(), plan.mean_join});
}

template <Backend B, class T>
void StepKernels<B, T>::sum(const Context& ctx, const std::string& op, const StepPool& pool) {
  pool_steps<B, T, SumSteps<Arithmetic<T>>>(ctx, op, pool);
}

template <Backend B, class T>
void StepKernels<B, T>::max(const Context& ctx, const std::string& op, const StepPool& pool) {
  pool_steps<B, T, MaxSteps<Arithmetic<T>>>(ctx, op, pool);
}

template <Backend B, class T>
void StepKernels<B, T>::spread(const Context& ctx, const std::string& op, const StepSpread& spread) {
  const TableUse<Piece> pieces(ctx, spread.plan.pieces);
  const SpreadArguments arguments{pieces.data(), spread.columns, spread.from,  spread.index,
                                  spread.to,     spread.scale,   spread.choice};
  const std::string label = "portops::" + op + "::spread[steps]";
  if (spread.choice == StepChoice::all) {
    launch_steps<B>(ctx, label, SpreadSteps<B, T, false>(arguments, pieces.size(), spread.plan.mean_rows));
  } else {
    launch_steps<B>(ctx, label, SpreadSteps<B, T, true>(arguments, pieces.size(), spread.plan.mean_rows));
  }
}

template <Backend B, class T>
void StepKernels<B, T>::move(const Context& ctx, const std::string& op, const StepMove& move) {
  const TableUse<Move> moves(ctx, move.plan.moves);
  const MoveArguments arguments{moves.data(), move.columns, move.from, move.to};
  const auto fill = static_cast<T>(static_cast<Arithmetic<T>>(move.fill));
  launch_steps<B>(ctx, "portops::" + op + "::move[steps]",
                  MoveSteps<B, T>(arguments, fill, moves.size(), move.plan.mean_rows));
}

template <Backend B, class T>
void StepKernels<B, T>::write(const Context& ctx, const std::string& op, const Table<std::int64_t>& numbers,
                              const StepStrides& to) {
  const TableUse<std::int64_t> use(ctx, numbers);
  launch_by_items<B>(ctx, "portops::" + op + "::write[numbers]",
                     CopyNumbers{use.data(), use.size(), static_cast<std::int64_t*>(to.data), to.row});
}

}  // namespace portops::impl
