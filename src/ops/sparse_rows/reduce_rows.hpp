// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/exec/workspace.hpp"
#include "ops/sparse_rows/sparse_rows_memory.hpp"
#include "ops/sparse_rows/sum_rows.hpp"

#include <string>
#include <type_traits>

namespace portops::impl {

/// Enqueues the sums of one level: of the rows, or of sums that cross chunks of the level below.
template <Backend B, class T, class Index, int N, bool crossing, class Sink>
void sum_level(const Context& ctx, const std::string& label, const SparseRows& sparse, const SparseRowsMemory& memory,
               void* data, int level, const RowTensor<const std::conditional_t<crossing, Arithmetic<T>, T>>& values,
               const Index* position, const Index* places, Index none, const Sink& sink) {
  using A = Arithmetic<T>;
  const auto above = static_cast<std::size_t>(level + 1);
  CrossingSums<A, Index> next;
  if (level + 1 < memory.levels.count) {
    next = {static_cast<A*>(memory.values[above].in(data)), static_cast<Index*>(memory.places[above].in(data))};
  }
  RowColumns columns(sparse);
  if (crossing) columns.rank = 1;  // sums are contiguous
  const std::int64_t rows = memory.levels.rows[static_cast<std::size_t>(level)];
  const std::int64_t chunk = crossing ? SparseRows::crossing_chunk : sparse.chunk();
  const SumRows<B, T, Index, N, Sink, crossing> functor(columns, rows, chunk, values, position, places, none, next,
                                                        sink);
  launch_items<B, functor.blocks>(ctx, label, functor, functor.items());
}

/// Enqueues all levels.
template <Backend B, class T, class Index, int N, class Sink>
void sum_levels(const Context& ctx, const SparseRowsLabels& labels, const SparseRows& sparse,
                const SparseRowsMemory& memory, void* data, const RowOrder<Index>& order, const Index* places,
                Index none, const Sink& sink) {
  using A = Arithmetic<T>;
  sum_level<B, T, Index, N, false>(ctx, labels.sum, sparse, memory, data, 0, RowTensor<const T>(sparse.operand[0]),
                                   order.position, places, none, sink);
  for (int level = 1; level < memory.levels.count; ++level) {
    const auto at = static_cast<std::size_t>(level);
    const RowTensor<const A> sums(static_cast<const A*>(memory.values[at].in(data)), sparse.columns);
    sum_level<B, T, Index, N, true>(ctx, labels.crossing, sparse, memory, data, level, sums,
                                    static_cast<const Index*>(nullptr),
                                    static_cast<const Index*>(memory.places[at].in(data)), none, sink);
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
