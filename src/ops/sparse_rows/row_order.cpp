// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/row_order.hpp"

#include "core/exec/dispatch.hpp"
#include "ops/sparse_rows/row_order_host.hpp"
#include "portops/core/config.hpp"
#if defined(PORTOPS_HAS_CUDA)
#include "ops/sparse_rows/row_order_cuda.hpp"
#endif

namespace portops::impl {
namespace {

std::size_t sorter_bytes_of([[maybe_unused]] const Context& ctx, const SparseRows& sparse,
                            [[maybe_unused]] bool numbered) {
#if defined(PORTOPS_HAS_CUDA)
  if (ctx.backend() == Backend::cuda) return sparse.is_few() ? 0 : cuda_sorter_bytes(ctx, sparse, numbered);
#endif
  return sparse.merged() ? 0 : host_sorter_bytes(sparse);
}

}  // namespace

RowOrderMemory::RowOrderMemory(MemoryLayout& layout, const Context& ctx, const SparseRows& sparse, bool numbered)
    : sorter_bytes(sorter_bytes_of(ctx, sparse, numbered)) {
  const std::size_t index = sparse.narrow() ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
  if (ctx.backend() == Backend::cuda && sparse.is_few()) {
    if (!numbered) return;
    places[0] = TemporaryArray(layout, sparse.n, index);
    numbers = TemporaryArray(layout, sparse.n, sizeof(std::int32_t));
    return;
  }
  places[0] = TemporaryArray(layout, sparse.n, index);
  if (!sparse.merged()) {
    places[1] = TemporaryArray(layout, sparse.n, index);
    for (TemporaryArray& array : positions) array = TemporaryArray(layout, sparse.n, index);
  }
  if (numbered) numbers = TemporaryArray(layout, sparse.n + 1, index);
  sorter = TemporaryArray(layout, static_cast<std::int64_t>(sorter_bytes), 1);
}

template <class Index>
RowOrder<Index> order_rows(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                           const RowOrderMemory& memory, void* data) {
  Index* places[2];
  Index* positions[2];
  for (int i = 0; i < 2; ++i) {
    places[i] = static_cast<Index*>(memory.places[i].in(data));
    positions[i] = static_cast<Index*>(memory.positions[i].in(data));
  }
  RowOrder<Index> order{places[0], nullptr, nullptr};
  if (sparse.n > 0) {
    dispatch_backend(ctx.backend(), [&]<Backend B>() {
      if (sparse.merged()) return read_places<B>(ctx, labels, sparse, places[0], positions[0]);
      if constexpr (B == Backend::cuda) {
#if defined(PORTOPS_HAS_CUDA)
        order =
            sort_on_cuda<Index>(ctx, labels, sparse, places, positions, memory.sorter.in(data), memory.sorter_bytes);
#endif
      } else {
        order = sort_on_host<B>(ctx, labels, sparse, places, positions, static_cast<Index*>(memory.sorter.in(data)));
      }
    });
  }
  order.numbers = static_cast<Index*>(memory.numbers.in(data));
  return order;
}

template <class Index>
void number_places(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                   const RowOrder<Index>& order, const RowOrderMemory& memory, void* data, const NumberedPlaces& out) {
  void* const sorter = memory.sorter.in(data);  // merged rows have none, and are not numbered
  dispatch_backend(ctx.backend(), [&]<Backend B>() {
    if (sparse.n > 0 && sorter != nullptr) {
      if constexpr (B == Backend::cuda) {
#if defined(PORTOPS_HAS_CUDA)
        number_on_cuda(ctx, labels, sparse, order, sorter, memory.sorter_bytes);
#endif
      } else {
        number_on_host<B>(ctx, labels, sparse, order, static_cast<Index*>(sorter));
      }
    }
    write_numbers<B>(ctx, labels, sparse, order, out);
  });
}

template RowOrder<std::uint32_t> order_rows(const Context&, const RowOrderLabels&, const SparseRows&,
                                            const RowOrderMemory&, void*);
template RowOrder<std::uint64_t> order_rows(const Context&, const RowOrderLabels&, const SparseRows&,
                                            const RowOrderMemory&, void*);
template void number_places(const Context&, const RowOrderLabels&, const SparseRows&, const RowOrder<std::uint32_t>&,
                            const RowOrderMemory&, void*, const NumberedPlaces&);
template void number_places(const Context&, const RowOrderLabels&, const SparseRows&, const RowOrder<std::uint64_t>&,
                            const RowOrderMemory&, void*, const NumberedPlaces&);

}  // namespace portops::impl
