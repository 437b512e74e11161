// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/exec/workspace.hpp"
#include "ops/sparse_rows/sparse_rows_memory.hpp"
#include "ops/sparse_rows/sum_crossings.hpp"
#include "ops/sparse_rows/sum_rows.hpp"
#include "ops/sparse_rows/sum_runs.hpp"

#include <string>
#include <type_traits>

namespace portops::impl {

/// Enqueues all levels.
template <Backend B, class T, class Index, int N, class Sink>
void sum_levels(const Context& ctx, const SparseRowsLabels& labels, const SparseRows& sparse,
                const SparseRowsMemory& memory, void* data, const RowOrder<Index>& order, const Index* places,
                Index none, const Sink& sink) {
  using A = Arithmetic<T>;
  constexpr bool is_cuda = B == Backend::cuda;
  using Walks = SumRows<B, T, Index, N, Sink, false>;
  using Runs = SumRuns<B, T, Index, N, Sink, false>;
  using Crossing =
      std::conditional_t<is_cuda, SumRuns<B, T, Index, N, Sink, true>, SumRows<B, T, Index, N, Sink, true>>;
  const auto sums_of = [&](int level) -> CrossingSums<A, Index> {
    if (level >= memory.levels.count) return {};
    const auto at = static_cast<std::size_t>(level);
    return {static_cast<A*>(memory.values[at].in(data)), static_cast<Index*>(memory.places[at].in(data))};
  };
  RowColumns columns(sparse);
  const auto sum_rows = [&]<class Functor>() {
    launch_by_items<B>(ctx, labels.sum,
                       Functor(columns, sparse.n, sparse.chunk(), RowTensor<const T>(sparse.operand[0]), order.position,
                               places, none, sums_of(1), sink));
  };
  if constexpr (is_cuda) {
    // Of more rows, threads that begin no run cost more than those that wait.
    constexpr std::int64_t most_by_runs = 65536;
    sparse.n <= most_by_runs ? sum_rows.template operator()<Runs>() : sum_rows.template operator()<Walks>();
  } else {
    sum_rows.template operator()<Walks>();
  }
  columns.rank = 1;  // crossing sums are contiguous
  for (int level = 1; level < memory.levels.count; ++level) {
    const CrossingSums<A, Index> sums = sums_of(level);
    const std::int64_t rows = memory.levels.rows[static_cast<std::size_t>(level)];
    const Crossing crossing(columns, rows, SparseRows::crossing_chunk, RowTensor<const A>(sums.values, sparse.columns),
                            nullptr, sums.places, none, sums_of(level + 1), sink);
    if constexpr (is_cuda) {
      using Last = SumCrossings<B, T, Index, N, Sink>;
      if (rows <= Last::most_sums) {
        const Last last(crossing, sparse, memory, data, level);
        return launch_all_teams<B, Last::threads>(ctx, labels.crossing, last, last.teams(), Last::threads,
                                                  last.scratch_bytes());
      }
    }
    launch_by_items<B>(ctx, labels.crossing, crossing);
  }
}

/// The temporaries of reduce_rows, taken before a call enqueues anything.
struct SparseRowsTemporary {
  SparseRowsTemporary(const Context& ctx, const SparseRowsLabels& labels, const SparseRows& sparse, bool numbered)
      : memory(ctx, sparse, numbered), temporary(ctx, labels.memory.c_str(), memory.layout.bytes()) {}

  SparseRowsMemory memory;
  Temporary temporary;
};

/// Enqueues the sums of the rows of each place. `Sink` is that of SumRows; with `numbered` the places that occur are
/// numbered, and it is given a place's number instead of the place.
template <Backend B, class T, class Sink>
void reduce_rows(const Context& ctx, const SparseRowsLabels& labels, const SparseRows& sparse,
                 const SparseRowsTemporary& temporary, const NumberedPlaces* numbered, const Sink& sink) {
  const SparseRowsMemory& memory = temporary.memory;
  const auto reduce = [&]<class Index>() {
    void* const data = temporary.temporary.data();
    const RowOrder<Index> order = order_rows<Index>(ctx, labels.order, sparse, memory.order, data);
    const Index* places = order.places;
    auto none = static_cast<Index>(sparse.height);
    if (numbered != nullptr) {
      number_places(ctx, labels.order, sparse, order, memory.order, data, *numbered);
      places = order.numbers;
      none = none_of<Index>;
    }
    if (sparse.empty()) return;
    sparse.has_packs(B)
        ? sum_levels<B, T, Index, row_pack<B, T>>(ctx, labels, sparse, memory, data, order, places, none, sink)
        : sum_levels<B, T, Index, 1>(ctx, labels, sparse, memory, data, order, places, none, sink);
  };
  sparse.narrow() ? reduce.template operator()<std::uint32_t>() : reduce.template operator()<std::uint64_t>();
}

}  // namespace portops::impl
