// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/row_order_cuda.hpp"

#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/sparse_rows/row_order_functors.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <type_traits>

namespace portops::impl {
namespace {

/// Calls CUB, which takes an error that the application has left behind for its own: so that is cleared first.
template <class Action>
void call_cub(const char* name, const Action& action) {
  cudaGetLastError();
  check_cuda(action(), "portops::sparse_rows", name);
}

/// CUB is compiled for numbers of 32 and of 64 bits; the first are faster.
template <class Index>
using Number = std::conditional_t<sizeof(Index) == 4, std::int32_t, std::int64_t>;

template <class Index>
cudaError_t sort(void* sorter, std::size_t& bytes, cub::DoubleBuffer<Index>& places,
                 cub::DoubleBuffer<Index>& positions, const SparseRows& sparse, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(sorter, bytes, places, positions, static_cast<Number<Index>>(sparse.n), 0,
                                         bits_of_places(sparse), stream);
}

template <class Index>
cudaError_t number(void* sorter, std::size_t& bytes, const SparseRows& sparse, const RowOrder<Index>& order,
                   cudaStream_t stream) {
  const IsFirst<Index> is_first{order.places, static_cast<Index>(sparse.height), sparse.n};
  const auto firsts = thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}), is_first);
  return cub::DeviceScan::InclusiveSum(sorter, bytes, firsts, order.numbers, static_cast<Number<Index>>(sparse.n + 1),
                                       stream);
}

/// scratch[i] = read(i), by a team, several under way at once.
template <int threads, class Index, class Read>
KOKKOS_FORCEINLINE_FUNCTION void read_to_scratch(Index* scratch, int n, int rank, const Read& read) {
  constexpr int batch = 8;
  for (int first = rank; first < n; first += batch * threads) {
    Index values[batch];
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      if (first + k * threads < n) values[k] = read(first + k * threads);
    }
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      if (first + k * threads < n) scratch[first + k * threads] = values[k];
    }
  }
}

/// Counts for each row those that come before it in a stable order of the places. A team has all places in its scratch;
/// a warp takes some neighbouring rows, so that each place that it reads is compared with several.
template <class Index>
struct RankPlaces {
  using Team = typename Kokkos::TeamPolicy<SpaceOf<Backend::cuda>>::member_type;
  static constexpr int blocks = 4;
  static constexpr int threads = 256;
  static constexpr int warp = 32;
  static constexpr int rows_of_warp = 4;
  static constexpr int rows_of_team = threads / warp * rows_of_warp;

  ReadPlaces<Index> read;  ///< with room for the sorted places and positions
  std::int64_t first_team = 0;

  std::int64_t teams() const { return ceil_div(read.n, rows_of_team); }
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(read.n) * sizeof(Index); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const place = scratch_of<Index>(team);
    const auto n = static_cast<int>(read.n);
    read_to_scratch<threads>(place, n, team.team_rank(), [&](int i) { return read.place_of(i, read.locate(i)); });
    team.team_barrier();
    const int lane = team.team_rank() % warp;
    const int first =
        static_cast<int>(first_team + team.league_rank()) * rows_of_team + team.team_rank() / warp * rows_of_warp;
    if (first >= n) return;
    // Equal places come before a row where they come first in the call: below `first` all, behind it none.
    Index own[rows_of_warp], below[rows_of_warp];
    int before[rows_of_warp] = {};
    PORTOPS_UNROLL
    for (int r = 0; r < rows_of_warp; ++r) {
      own[r] = first + r < n ? place[first + r] : 0;
      below[r] = own[r] + 1;
    }
    count(before, below, place + lane, first - lane);
    if (lane < rows_of_warp && first + lane < n) {
      PORTOPS_UNROLL
      for (int r = 0; r < rows_of_warp; ++r) before[r] += place[first + lane] < (lane < r ? below[r] : own[r]) ? 1 : 0;
    }
    const int behind = first + rows_of_warp + lane;
    count(before, own, place + behind, n - behind);
    PORTOPS_UNROLL
    for (int r = 0; r < rows_of_warp; ++r) {
      before[r] = sum_over_lanes(before[r], warp);
      if (lane != r || first + r >= n) continue;
      read.places[before[r]] = own[r];
      read.positions[before[r]] = static_cast<Index>(read.locate(first + r).row);
    }
  }

 private:
  /// Counts, of every 32nd of so many places, those that are less than the bounds.
  KOKKOS_FORCEINLINE_FUNCTION static void count(int (&before)[rows_of_warp], const Index (&bounds)[rows_of_warp],
                                                const Index* place, int places) {
    constexpr int batch = 4;
    int j = 0;
    PORTOPS_NO_UNROLL
    for (; j + (batch - 1) * warp < places; j += batch * warp) {
      Index values[batch];
      PORTOPS_UNROLL
      for (int k = 0; k < batch; ++k) values[k] = place[j + k * warp];
      PORTOPS_UNROLL
      for (int k = 0; k < batch; ++k) {
        PORTOPS_UNROLL
        for (int r = 0; r < rows_of_warp; ++r) before[r] += values[k] < bounds[r] ? 1 : 0;
      }
    }
    PORTOPS_NO_UNROLL
    for (; j < places; j += warp) {
      PORTOPS_UNROLL
      for (int r = 0; r < rows_of_warp; ++r) before[r] += place[j] < bounds[r] ? 1 : 0;
    }
  }
};

/// numbers[i], i ≤ n: how many places occur up to row i, by one team. Each thread counts the firsts of some
/// neighbouring rows.
template <class Index>
struct NumberFewPlaces {
  using Team = typename Kokkos::TeamPolicy<SpaceOf<Backend::cuda>>::member_type;
  static constexpr int threads = 1024;

  IsFirst<Index> of_all;
  Index* numbers;

  std::size_t scratch_bytes() const { return static_cast<std::size_t>(of_all.n) * sizeof(Index); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const place = scratch_of<Index>(team);
    const auto n = static_cast<int>(of_all.n);
    read_to_scratch<threads>(place, n, team.team_rank(), [&](int i) { return of_all.places[i]; });
    team.team_barrier();
    const IsFirst<Index> is_first{place, of_all.height, n};
    const int each = (n + threads) / threads;  // of rows and, behind them, what counts them all
    const int begin = team.team_rank() * each, end = Kokkos::min(begin + each, n + 1);
    Index count = 0;
    for (int i = begin; i < end; ++i) count += is_first(i);
    Index number = team.team_scan(count);
    for (int i = begin; i < end; ++i) {
      number += is_first(i);
      numbers[i] = number;
    }
  }
};

template <class Index>
std::size_t bytes_of(const SparseRows& sparse, bool numbered) {
  std::size_t sort_bytes = 0;
  std::size_t number_bytes = 0;
  cub::DoubleBuffer<Index> places;
  cub::DoubleBuffer<Index> positions;
  if (!sparse.merged() && !is_ranked_on_cuda(sparse)) {
    call_cub("cub::SortPairs", [&] { return sort<Index>(nullptr, sort_bytes, places, positions, sparse, nullptr); });
  }
  if (numbered && !is_ranked_on_cuda(sparse)) {
    call_cub("cub::InclusiveSum", [&] { return number<Index>(nullptr, number_bytes, sparse, {}, nullptr); });
  }
  return std::max(sort_bytes, number_bytes);
}

}  // namespace

std::size_t cuda_sorter_bytes(const Context& ctx, const SparseRows& sparse, bool numbered) {
  const CurrentDevice device(ctx);
  return sparse.narrow() ? bytes_of<std::uint32_t>(sparse, numbered) : bytes_of<std::uint64_t>(sparse, numbered);
}

bool is_ranked_on_cuda(const SparseRows& sparse) {
  // The numbers that come before each of so many rows are soon counted, and a team's scratch has all places.
  constexpr std::int64_t most_bytes = 40000;
  const auto size = static_cast<std::int64_t>(sparse.narrow() ? sizeof(std::uint32_t) : sizeof(std::uint64_t));
  return !sparse.merged() && sparse.n * size <= most_bytes;
}

template <class Index>
RowOrder<Index> rank_on_cuda(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse, Index* places,
                             Index* positions) {
  launch_by_teams<Backend::cuda>(ctx, labels.sort, RankPlaces<Index>{make_read_places(sparse, places, positions)});
  return {places, positions, nullptr};
}

template <class Index>
RowOrder<Index> sort_on_cuda(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                             Index* (&places)[2], Index* (&positions)[2], void* sorter, std::size_t sorter_bytes) {
  const CurrentDevice device(ctx);
  const LaunchEvent event(ctx, labels.sort.c_str());
  cub::DoubleBuffer<Index> place_buffers(places[0], places[1]);
  cub::DoubleBuffer<Index> position_buffers(positions[0], positions[1]);
  const cudaStream_t stream = instance<Backend::cuda>(ctx).cuda_stream();
  call_cub("cub::SortPairs",
           [&] { return sort<Index>(sorter, sorter_bytes, place_buffers, position_buffers, sparse, stream); });
  return {place_buffers.Current(), position_buffers.Current(), nullptr};
}

template <class Index>
void number_on_cuda(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                    const RowOrder<Index>& order, void* sorter, std::size_t sorter_bytes) {
  if (is_ranked_on_cuda(sparse)) {
    using Functor = NumberFewPlaces<Index>;
    const Functor functor{{order.places, static_cast<Index>(sparse.height), sparse.n}, order.numbers};
    launch_teams<Backend::cuda, 1, Functor::threads>(ctx, labels.count, functor, 1, Functor::threads,
                                                     functor.scratch_bytes());
    return;
  }
  const CurrentDevice device(ctx);
  const LaunchEvent event(ctx, labels.count.c_str());
  const cudaStream_t stream = instance<Backend::cuda>(ctx).cuda_stream();
  call_cub("cub::InclusiveSum", [&] { return number<Index>(sorter, sorter_bytes, sparse, order, stream); });
}

template RowOrder<std::uint32_t> rank_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&, std::uint32_t*,
                                              std::uint32_t*);
template RowOrder<std::uint64_t> rank_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&, std::uint64_t*,
                                              std::uint64_t*);
template RowOrder<std::uint32_t> sort_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&,
                                              std::uint32_t* (&)[2], std::uint32_t* (&)[2], void*, std::size_t);
template RowOrder<std::uint64_t> sort_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&,
                                              std::uint64_t* (&)[2], std::uint64_t* (&)[2], void*, std::size_t);
template void number_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&, const RowOrder<std::uint32_t>&,
                             void*, std::size_t);
template void number_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&, const RowOrder<std::uint64_t>&,
                             void*, std::size_t);

}  // namespace portops::impl
