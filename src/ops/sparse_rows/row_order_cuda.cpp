// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/row_order_cuda.hpp"

#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/sparse_rows/few_rows_cuda.hpp"
#include "ops/sparse_rows/row_sort_cuda.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <type_traits>
#include <utility>

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

/// firsts[i] = the place of row i where it is the first that has that place. A team has a bucket.
template <class Index>
class FindFirsts {
  using Bucket = BucketOfRows<32>;

 public:
  using Team = typename Bucket::Team;
  static constexpr int blocks = 1;
  static constexpr int threads = Bucket::threads;
  /// What firsts are instead: of rows that are not the first, and of those that the table does not have.
  static constexpr Index none = none_of<Index>, outside = none - 1;
  std::int64_t first_team = 0;

  FindFirsts(const SparseRows& sparse, Index* firsts)
      : places_(sparse), firsts_(firsts), buckets_(ceil_div(sparse.n, rows_of_bucket)) {}

  std::int64_t teams() const { return buckets_; }
  std::size_t scratch_bytes() const { return Bucket::scratch_bytes(places_.n); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    Bucket bucket(team, places_, scratch_of<char>(team));
    const auto index = static_cast<std::uint32_t>(first_team + team.league_rank());
    bucket.list(team, index, static_cast<std::uint32_t>(buckets_), [&](int row, std::int64_t place) {
      if (index == 0 && place >= places_.height) firsts_[row] = place == places_.outside ? outside : none;
    });
    for (int at = team.team_rank(); at < bucket.size(); at += threads) {
      const std::int64_t place = bucket.place(at);
      firsts_[bucket.row(at)] = bucket.is_first(at, place) ? static_cast<Index>(place) : none;
    }
  }

 private:
  static constexpr std::int64_t rows_of_bucket = 76;

  PlacesOfRows places_;
  Index* firsts_;
  std::int64_t buckets_;
};

/// The number of a place is how many of the firsts are less. A team counts for a warp's neighbouring rows: it sorts
/// their firsts, finds between which of them each of all firsts is, and adds up.
template <class Index>
class NumberFewRows {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<Backend::cuda>>::member_type;
  static constexpr int blocks = 4;
  static constexpr int threads = 256;
  std::int64_t first_team = 0;

  NumberFewRows(const SparseRows& sparse, const Index* firsts, std::int32_t* numbers, const NumberedPlaces& out)
      : places_(sparse), firsts_(firsts), numbers_(numbers), out_(out) {}

  std::int64_t teams() const { return std::max<std::int64_t>(ceil_div(places_.n, rows), 1); }
  std::size_t scratch_bytes() const { return sizeof(Scratch); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = scratch_of<Scratch>(team);
    const auto n = static_cast<int>(places_.n);
    const int rank = team.team_rank(), lane = rank % rows;
    const int row = static_cast<int>(first_team + team.league_rank()) * rows + lane;
    // Every warp finds the order of the team's firsts.
    const Index own = row < n ? firsts_[row] : none;
    int before = 0;
    PORTOPS_NO_UNROLL
    for (int k = 0; k < rows; ++k) {
      const auto other = static_cast<Index>(of_lane(static_cast<std::int64_t>(own), k));
      before += other < own || (other == own && k < lane) ? 1 : 0;
    }
    if (rank < rows) scratch->sorted[before] = own;
    if (rank <= rows) scratch->between[rank] = 0;
    if (rank == 0) scratch->first_outside = n;
    team.team_barrier();
    PORTOPS_NO_UNROLL
    for (int first = rank; first < n; first += batch * threads) {
      Index values[batch];
      PORTOPS_UNROLL
      for (int k = 0; k < batch; ++k) values[k] = first + k * threads < n ? firsts_[first + k * threads] : none;
      PORTOPS_UNROLL
      for (int k = 0; k < batch; ++k) {
        if (values[k] < outside) {
          int at = 0;  // how many of the team's are not greater
          PORTOPS_UNROLL
          for (int half = rows / 2; half > 0; half /= 2) at += scratch->sorted[at + half - 1] <= values[k] ? half : 0;
          at += scratch->sorted[at] <= values[k] ? 1 : 0;
          Kokkos::atomic_inc(&scratch->between[at]);
        } else if (values[k] == outside) {
          Kokkos::atomic_min(&scratch->first_outside, first + k * threads);
        }
      }
    }
    team.team_barrier();
    if (rank >= rows) return;
    int number = 0, total = 0;
    PORTOPS_NO_UNROLL
    for (int k = 0; k <= rows; ++k) {
      total += scratch->between[k];
      if (k <= before) number += scratch->between[k];
    }
    if (row < n) {
      numbers_[row] = number;
      if (own < outside) out_.places[number * out_.places_stride] = static_cast<std::int64_t>(own);
      if (row >= total) out_.places[row * out_.places_stride] = places_.height;
    }
    if (row > 0) return;
    *out_.count = scratch->first_outside < n ? -1 - places_.locate(scratch->first_outside).row : total;
  }

 private:
  static constexpr Index none = FindFirsts<Index>::none, outside = FindFirsts<Index>::outside;
  static constexpr int batch = 4;
  static constexpr int rows = 32;

  struct Scratch {
    Index sorted[rows];
    int between[rows + 1];  ///< how many firsts are not less than so many of the team's
    int first_outside;
  };

  PlacesOfRows places_;
  const Index* firsts_;
  std::int32_t* numbers_;
  NumberedPlaces out_;
};

template <class Index>
std::size_t bytes_of(const SparseRows& sparse, bool numbered) {
  std::size_t sort_bytes = 0;
  std::size_t number_bytes = 0;
  cub::DoubleBuffer<Index> places;
  cub::DoubleBuffer<Index> positions;
  if (sparse.merged()) {
    // They are not sorted.
  } else if (RowSort::suits(sparse)) {
    sort_bytes = RowSort(sparse, nullptr).bytes();
  } else {
    call_cub("cub::SortPairs", [&] { return sort<Index>(nullptr, sort_bytes, places, positions, sparse, nullptr); });
  }
  if (numbered) {
    call_cub("cub::InclusiveSum", [&] { return number<Index>(nullptr, number_bytes, sparse, {}, nullptr); });
  }
  return std::max(sort_bytes, number_bytes);
}

template <int rows_of_thread>
void move_by_digits(const Context& ctx, const RowOrderLabels& labels, const RowSort& sort, std::int64_t n,
                    RowKeys& rows, RowKeys& room) {
  for (int pass = 0; pass < sort.passes(); ++pass) {
    launch_by_teams<Backend::cuda>(ctx, labels.sort, MoveByDigit<rows_of_thread>(sort, n, pass, rows, room));
    std::swap(rows, room);
  }
}

RowOrder<std::uint32_t> sort_by_tiles(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                                      RowKeys rows, RowKeys room, void* counts) {
  const RowSort sort(sparse, counts);
  const ReadPlaces<std::uint32_t> read{PlacesOfRows(sparse), rows.places, rows.positions};
  launch_by_teams<Backend::cuda>(ctx, labels.places, CountFirstDigits(sort, read));
  constexpr int most = RowSort::most_rows_of_thread;
  sort.rows_of_thread() < most ? move_by_digits<most / 2>(ctx, labels, sort, sparse.n, rows, room)
                               : move_by_digits<most>(ctx, labels, sort, sparse.n, rows, room);
  return {rows.places, rows.positions, nullptr};
}

}  // namespace

std::size_t cuda_sorter_bytes(const Context& ctx, const SparseRows& sparse, bool numbered) {
  const CurrentDevice device(ctx);
  return sparse.narrow() ? bytes_of<std::uint32_t>(sparse, numbered) : bytes_of<std::uint64_t>(sparse, numbered);
}

template <class Index>
void number_few_on_cuda(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse, Index* firsts,
                        std::int32_t* numbers, const NumberedPlaces& out) {
  if (sparse.n > 0) launch_by_teams<Backend::cuda>(ctx, labels.count, FindFirsts<Index>(sparse, firsts));
  launch_by_teams<Backend::cuda>(ctx, labels.write, NumberFewRows<Index>(sparse, firsts, numbers, out));
}

template <class Index>
RowOrder<Index> sort_on_cuda(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                             Index* (&places)[2], Index* (&positions)[2], void* sorter, std::size_t sorter_bytes) {
  if constexpr (sizeof(Index) == sizeof(std::uint32_t)) {
    if (RowSort::suits(sparse)) {
      return sort_by_tiles(ctx, labels, sparse, {places[0], positions[0]}, {places[1], positions[1]}, sorter);
    }
  }
  read_places<Backend::cuda>(ctx, labels, sparse, places[0], positions[0]);
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
  const CurrentDevice device(ctx);
  const LaunchEvent event(ctx, labels.count.c_str());
  const cudaStream_t stream = instance<Backend::cuda>(ctx).cuda_stream();
  call_cub("cub::InclusiveSum", [&] { return number<Index>(sorter, sorter_bytes, sparse, order, stream); });
}

template void number_few_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&, std::uint32_t*,
                                 std::int32_t*, const NumberedPlaces&);
template void number_few_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&, std::uint64_t*,
                                 std::int32_t*, const NumberedPlaces&);
template RowOrder<std::uint32_t> sort_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&,
                                              std::uint32_t* (&)[2], std::uint32_t* (&)[2], void*, std::size_t);
template RowOrder<std::uint64_t> sort_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&,
                                              std::uint64_t* (&)[2], std::uint64_t* (&)[2], void*, std::size_t);
template void number_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&, const RowOrder<std::uint32_t>&,
                             void*, std::size_t);
template void number_on_cuda(const Context&, const RowOrderLabels&, const SparseRows&, const RowOrder<std::uint64_t>&,
                             void*, std::size_t);

}  // namespace portops::impl
