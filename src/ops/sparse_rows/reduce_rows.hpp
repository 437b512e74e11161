// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/exec/workspace.hpp"
#include "ops/sparse_rows/few_rows.hpp"
#include "ops/sparse_rows/sparse_rows_memory.hpp"
#include "ops/sparse_rows/sum_crossings.hpp"
#include "ops/sparse_rows/sum_rows.hpp"
#include "ops/sparse_rows/sum_runs.hpp"
#include "portops/core/config.hpp"
#if defined(PORTOPS_HAS_CUDA)
#include "ops/sparse_rows/few_rows_cuda.hpp"
#include "ops/sparse_rows/row_order_cuda.hpp"
#endif

#include <string>
#include <type_traits>

namespace portops::impl {

#if defined(PORTOPS_HAS_CUDA)
/// Enqueues the sums of few rows on a GPU, after the kernels that number their places if those are wanted.
template <class T, class Index, int N, class Sink>
void sum_few_rows(const Context& ctx, const SparseRowsLabels& labels, const SparseRows& sparse,
                  const SparseRowsMemory& memory, void* data, const NumberedPlaces* numbered, const Sink& sink) {
  std::int32_t* numbers = nullptr;
  if (numbered != nullptr) {
    numbers = static_cast<std::int32_t*>(memory.order.numbers.in(data));
    auto* const firsts = static_cast<Index*>(memory.order.places[0].in(data));
    number_few_on_cuda(ctx, labels.order, sparse, firsts, numbers, *numbered);
  }
  if (sparse.empty()) return;
  launch_by_teams<Backend::cuda>(ctx, labels.sum, SumFewRows<T, N, Sink>(sparse, numbers, sink));
}
#endif

/// Enqueues all levels of the sums of many rows.
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
                       Functor(columns, sparse.n, SparseRows::chunk, RowTensor<const T>(sparse.operand[0]),
                               order.position, places, none, sums_of(1), sink));
  };
  if constexpr (is_cuda) {
    // Of more rows, and with more threads, those that begin no run cost more than those that wait.
    constexpr std::int64_t most_by_runs = 65536, most_threads = 3 << 19;
    const bool by_runs = sparse.n <= most_by_runs && sparse.n * ceil_div(sparse.columns, N) <= most_threads;
    by_runs ? sum_rows.template operator()<Runs>() : sum_rows.template operator()<Walks>();
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
        return launch_by_teams<B>(ctx, labels.crossing, Last(crossing, sparse, memory, data, level));
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
  void* const data = temporary.temporary.data();
  const auto reduce = [&]<class Index, int N>() {
    if constexpr (B == Backend::cuda) {
#if defined(PORTOPS_HAS_CUDA)
      if (sparse.is_few()) return sum_few_rows<T, Index, N>(ctx, labels, sparse, memory, data, numbered, sink);
#endif
    }
    const RowOrder<Index> order = order_rows<Index>(ctx, labels.order, sparse, memory.order, data);
    const Index* places = order.places;
    auto none = static_cast<Index>(sparse.height);
    if (numbered != nullptr) {
      number_places(ctx, labels.order, sparse, order, memory.order, data, *numbered);
      places = order.numbers;
      none = none_of<Index>;
    }
    if (sparse.empty()) return;
    if constexpr (B != Backend::cuda) {
      if (sparse.is_few()) {
        const SumSortedRows<B, T, Index, N, Sink> sums(sparse, order.position, places, none, sink);
        return launch_by_items<B>(ctx, labels.sum, sums);
      }
    }
    sum_levels<B, T, Index, N>(ctx, labels, sparse, memory, data, order, places, none, sink);
  };
  const auto choose = [&]<class Index>() {
    sparse.has_packs(B) ? reduce.template operator()<Index, row_pack<B, T>>() : reduce.template operator()<Index, 1>();
  };
  sparse.narrow() ? choose.template operator()<std::uint32_t>() : choose.template operator()<std::uint64_t>();
}

}  // namespace portops::impl
