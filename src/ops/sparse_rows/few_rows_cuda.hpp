// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/warp.hpp"
#include "ops/sparse_rows/few_rows.hpp"
#include "ops/sparse_rows/row_order_functors.hpp"

#include <cstdint>

// Few rows on a GPU, without a sort: places are dealt out to buckets by a hash, and a team, which reads all places,
// keeps those rows that are its bucket's.

namespace portops::impl {

/// values[k] = value(k), for all k: the code of `value` is there once, where it is long and seldom needed.
template <int count, class V, class Value>
KOKKOS_FORCEINLINE_FUNCTION void compute_one_by_one(V (&values)[count], const Value& value) {
  PORTOPS_NO_UNROLL
  for (int k = 0; k < count; ++k) {
    const V its = value(k);
    PORTOPS_UNROLL
    for (int i = 0; i < count; ++i) {
      if (i == k) values[i] = its;
    }
  }
}

/// The rows of one bucket in the order of the call, by a team of so many warps, which has all rows in its scratch if it
/// must.
template <int warps>
class BucketOfRows {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<Backend::cuda>>::member_type;
  static constexpr int warp = 32, threads = warps * warp;

  static std::size_t scratch_bytes(std::int64_t rows) {
    return (slots + warps) * sizeof(int) + static_cast<std::size_t>(rows) * sizeof(std::uint16_t);
  }

  KOKKOS_FORCEINLINE_FUNCTION BucketOfRows(const Team& team, const PlacesOfRows& places, char* scratch)
      : places_(places),
        end_(static_cast<int>(places.end())),
        warp_(team.team_rank() / warp),
        lane_(team.team_rank() % warp),
        slots_(reinterpret_cast<int*>(scratch)),
        counts_(slots_ + slots),
        rows_(reinterpret_cast<std::uint16_t*>(counts_ + warps)) {}

  /// Lists the rows of a bucket out of so many, and which are the first of their place. Some thread is given each row's
  /// place: each(row, place).
  template <class Each>
  KOKKOS_FORCEINLINE_FUNCTION void list(const Team& team, std::uint32_t bucket, std::uint32_t buckets,
                                        const Each& each) {
    // Each warp lists those of its own share of the rows, then these lists are moved together.
    const auto n = static_cast<int>(places_.n), share = (n + warps - 1) / warps;
    const int begin = warp_ * share, end = Kokkos::min(begin + share, n);
    for (int slot = team.team_rank(); slot < slots; slot += threads) slots_[slot] = no_row;
    int found = 0;
    PORTOPS_NO_UNROLL
    for (int first = begin; first < end; first += batch * warp) {
      std::int64_t place[batch];
      read_given(place, [&](int k) { return Kokkos::min(first + k * warp + lane_, end - 1); });
      PORTOPS_UNROLL
      for (int k = 0; k < batch; ++k) {
        const int row = first + k * warp + lane_;
        place[k] = row < end_ ? places_.counted_as(place[k]) : places_.outside;
        if (row < end) {
          each(row, place[k]);
        } else {
          place[k] = places_.height;
        }
        const bool is_its = place[k] < places_.height && bucket_of(place[k], buckets) == bucket;
        const unsigned taken = lanes_where(is_its);
        if (is_its) {
          const int at = begin + found + lanes_before(taken, lane_);
          rows_[at] = static_cast<std::uint16_t>(first + k * warp + lane_);
        }
        found += bits_in(taken);
      }
    }
    if (lane_ == 0) counts_[warp_] = found;
    team.team_barrier();
    PORTOPS_UNROLL
    for (int w = 0; w < warps; ++w) size_ += counts_[w];
    PORTOPS_NO_UNROLL
    for (int first = 0; first < size_; first += threads) {
      const int at = first + team.team_rank();
      int from = at, before = 0;
      PORTOPS_UNROLL
      for (int w = 0; w < warps; ++w) {
        if (at >= before) from = w * share + at - before;
        before += counts_[w];
      }
      const bool moves = at < size_;
      const std::uint16_t row = moves ? rows_[from] : 0;
      team.team_barrier();
      if (moves) rows_[at] = row;
    }
    team.team_barrier();
    for (int at = team.team_rank(); at < size_; at += threads) enter(at, place(at));
    team.team_barrier();
  }

  KOKKOS_FORCEINLINE_FUNCTION int size() const { return size_; }
  KOKKOS_FORCEINLINE_FUNCTION int row(int at) const { return rows_[at]; }
  /// Of a listed row: one that the table has.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place(int at) const { return given(rows_[at]); }

  /// Whether no row before has this one's place.
  KOKKOS_FORCEINLINE_FUNCTION bool is_first(int at, std::int64_t of) const {
    std::uint32_t slot = slot_of(of);
    PORTOPS_NO_UNROLL
    for (int probe = 0; probe < most_probes; ++probe, slot = next_slot(slot)) {
      const int its = slots_[slot];
      if (its == at) return true;
      if (place(its) == of) return false;
    }
    PORTOPS_NO_UNROLL
    for (int before = 0; before < at; ++before) {
      if (place(before) == of) return false;
    }
    return true;
  }

  /// Gives a warp, in its own `rows` of the scratch, the rows of the place that begins at `at`: the first `most`. Tells
  /// how many there are, `most` where there may be more.
  KOKKOS_FORCEINLINE_FUNCTION int rows_of(int at, std::int64_t place, std::uint16_t* rows, int most) const {
    int found = 0;
    constexpr int together = 2;
    unsigned lanes[together];
    warp_barrier();
    PORTOPS_NO_UNROLL
    for (int first = at; first < size_ && found < most; first += together * warp) {
      find_lanes(lanes, first, size_, place);
      write_rows(lanes, first, found, rows, most);
    }
    warp_barrier();
    return found < most ? found : most;
  }

  /// Gives a team, in `rows` of its scratch, the rows of the place that begins at `at`, from the `from`-th on: `most`
  /// at most. Tells how many there are from there on.
  KOKKOS_FORCEINLINE_FUNCTION int rows_of(const Team& team, int at, std::int64_t place, int from, std::uint16_t* rows,
                                          int most) {
    const int share = (size_ - at + threads - 1) / threads * warp;  // of a warp
    const int begin = at + warp_ * share, end = Kokkos::min(begin + share, size_);
    int own = 0;
    constexpr int together = 4;
    unsigned lanes[together];
    PORTOPS_NO_UNROLL
    for (int first = begin; first < end; first += together * warp) {
      find_lanes(lanes, first, end, place);
      PORTOPS_UNROLL
      for (int k = 0; k < together; ++k) own += bits_in(lanes[k]);
    }
    if (lane_ == 0) counts_[warp_] = own;
    team.team_barrier();
    int to = -from, found = -from;
    PORTOPS_UNROLL
    for (int w = 0; w < warps; ++w) {
      if (w < warp_) to += counts_[w];
      found += counts_[w];
    }
    PORTOPS_NO_UNROLL
    for (int first = begin; first < end && to < most; first += together * warp) {
      find_lanes(lanes, first, end, place);
      write_rows(lanes, first, to, rows, most);
    }
    team.team_barrier();
    return found;
  }

 private:
  static constexpr int batch = 8;
  /// A table of the places that are listed, by the first row of each: so many slots, in which a place is looked for so
  /// often. (A place that is not found has no room there: its rows are compared with all before them.)
  static constexpr int slots = 1024, most_probes = 32;
  static constexpr int no_row = 1 << 30;

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t given(int row) const { return places_.given[places_.locate(row).place]; }
  /// The same of rows row_at(k), all of them under way at once.
  template <int count, class RowAt>
  KOKKOS_FORCEINLINE_FUNCTION void read_given(std::int64_t (&place)[count], const RowAt& row_at) const {
    if (places_.axes.rank <= 1) {
      PORTOPS_UNROLL
      for (int k = 0; k < count; ++k) place[k] = places_.given[row_at(k) * places_.axes.place_stride[0]];
    } else {
      compute_one_by_one(place, [&](int k) { return given(row_at(k)); });
    }
  }

  /// Which rows of the list, from `first` on and before `end`, a warp's, have a place.
  template <int together>
  KOKKOS_FORCEINLINE_FUNCTION void find_lanes(unsigned (&lanes)[together], int first, int end,
                                              std::int64_t place) const {
    std::int64_t its[together];
    read_given(its, [&](int k) { return static_cast<int>(rows_[Kokkos::min(first + k * warp + lane_, end - 1)]); });
    PORTOPS_UNROLL
    for (int k = 0; k < together; ++k) lanes[k] = lanes_where(first + k * warp + lane_ < end && its[k] == place);
  }

  /// Writes rows of the list, those of the lanes from `first` on, from rows[to] on, but none before rows[0] and behind
  /// rows[most - 1]; moves `to` behind the last of them.
  template <int together>
  KOKKOS_FORCEINLINE_FUNCTION void write_rows(const unsigned (&lanes)[together], int first, int& to,
                                              std::uint16_t* rows, int most) const {
    PORTOPS_UNROLL
    for (int k = 0; k < together; ++k) {
      const int own_to = to + lanes_before(lanes[k], lane_);
      const bool is_its = (lanes[k] >> lane_ & 1u) != 0;
      if (is_its && own_to >= 0 && own_to < most) rows[own_to] = rows_[first + k * warp + lane_];
      to += bits_in(lanes[k]);
    }
  }

  static KOKKOS_FORCEINLINE_FUNCTION std::uint32_t hash_of(std::int64_t place) {
    const auto high = static_cast<std::uint32_t>(place >> 32);
    return (static_cast<std::uint32_t>(place) ^ high * 0x85EBCA6Bu) * 0x9E3779B1u;  // 2^32 over the golden ratio
  }
  static KOKKOS_FORCEINLINE_FUNCTION std::uint32_t bucket_of(std::int64_t place, std::uint32_t buckets) {
    return static_cast<std::uint32_t>(std::uint64_t{hash_of(place)} * buckets >> 32);
  }
  /// By other bits than the bucket, which the highest ones choose.
  static KOKKOS_FORCEINLINE_FUNCTION std::uint32_t slot_of(std::int64_t place) {
    return hash_of(place) >> 8 & (slots - 1);
  }
  static KOKKOS_FORCEINLINE_FUNCTION std::uint32_t next_slot(std::uint32_t slot) { return (slot + 1) & (slots - 1); }

  /// Takes a slot for the place of a listed row, or makes the row that of the place's slot if it comes first.
  KOKKOS_FORCEINLINE_FUNCTION void enter(int at, std::int64_t of) {
    std::uint32_t slot = slot_of(of);
    PORTOPS_NO_UNROLL
    for (int probe = 0; probe < most_probes; ++probe, slot = next_slot(slot)) {
      const int its = Kokkos::atomic_compare_exchange(&slots_[slot], int{no_row}, at);
      if (its == no_row) return;
      if (place(its) != of) continue;
      if (at < its) Kokkos::atomic_min(&slots_[slot], at);
      return;
    }
  }

  const PlacesOfRows& places_;
  int end_;  ///< of the rows that count
  int warp_, lane_;
  int* slots_;   ///< of the table: where in the list, or no_row
  int* counts_;  ///< of each warp
  std::uint16_t* rows_;
  int size_ = 0;
};

/// The sums of few rows, and what the sink does with them, in one kernel. A team has a bucket and up to 32 packs of
/// columns. A warp takes a place; one with more than a block of rows is left to all warps of the team.
template <class T, int N, class Sink>
class SumFewRows {
  static constexpr int warp = 32, warps = 16;
  using Bucket = BucketOfRows<warps>;

 public:
  using A = Arithmetic<T>;
  using Team = typename Bucket::Team;
  static constexpr Backend B = Backend::cuda;
  static constexpr int blocks = 1;
  static constexpr int threads = Bucket::threads;
  std::int64_t first_team = 0;

  /// The sink is given numbers[i] for a place whose first row is i, or the place where `numbers` is null.
  SumFewRows(const SparseRows& sparse, const std::int32_t* numbers, const Sink& sink)
      : places_(sparse),
        columns_(sparse),
        values_(sparse.operand[0]),
        packs_(ceil_div(columns_.count, N)),
        tiles_(ceil_div(packs_, warp)),
        buckets_(buckets(sparse.n, tiles_)),
        numbers_(numbers),
        sink_(sink) {}

  std::int64_t teams() const { return tiles_ * buckets_; }
  std::size_t scratch_bytes() const { return sizeof(Scratch) + Bucket::scratch_bytes(places_.n); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = scratch_of<Scratch>(team);
    Bucket bucket(team, places_, reinterpret_cast<char*>(scratch + 1));
    const std::int64_t index = first_team + team.league_rank();
    const std::int64_t tile = index / buckets_;
    if (team.team_rank() == 0) scratch->long_runs = 0;
    bucket.list(team, static_cast<std::uint32_t>(index - tile * buckets_), static_cast<std::uint32_t>(buckets_),
                [](int, std::int64_t) {});
    Columns own;
    own.warp = team.team_rank() / warp;
    own.lane = team.team_rank() % warp;
    own.takes = tile * warp + own.lane < packs_;
    const std::int64_t column = own.takes ? (tile * warp + own.lane) * N : 0;
    own.source = values_.at(columns_, column);
    own.target = sink_.at(column);
    // Neighbouring rows go to different warps; each lane looks at one.
    PORTOPS_NO_UNROLL
    for (int first = 0; first < bucket.size(); first += threads) {
      const int at = first + own.lane * warps + own.warp;
      const bool exists = at < bucket.size();
      const std::int64_t place = exists ? bucket.place(at) : 0;
      unsigned firsts = lanes_where(exists && bucket.is_first(at, place));
      const std::int64_t target = numbers_ != nullptr && exists ? numbers_[bucket.row(at)] : place;
      PORTOPS_NO_UNROLL
      while (firsts != 0) {
        const int its = bits_in((firsts & (~firsts + 1)) - 1);
        firsts &= firsts - 1;
        const int its_at = first + its * warps + own.warp;
        if (!add_short_run(bucket, *scratch, own, its_at, of_lane(place, its), of_lane(target, its)) && own.lane == 0) {
          scratch->long_run[Kokkos::atomic_fetch_add(&scratch->long_runs, 1)] = static_cast<std::uint16_t>(its_at);
        }
      }
    }
    team.team_barrier();
    PORTOPS_NO_UNROLL
    for (int run = 0; run < scratch->long_runs; ++run)
      add_long_run(team, bucket, *scratch, own, scratch->long_run[run]);
  }

 private:
  static constexpr int block = FewRowsTree::block, group = FewRowsTree::group;
  static_assert(warps % group == 0);
  static constexpr int most_long_runs = static_cast<int>(SparseRows::few_rows) / block + 3;

  struct Scratch {
    A of_block[group][N][warp];
    std::uint16_t rows[warps][block];  ///< of each warp's run, or all together of a long one
    std::uint16_t long_run[(most_long_runs + 3) / 4 * 4];
    int long_runs;
    int unused;  ///< a multiple of 8 bytes
  };

  /// A lane's pack of columns.
  struct Columns {
    int warp, lane;
    bool takes;  ///< whether it has one
    const T* source;
    typename Sink::Columns target;
  };

  /// A team for each multiprocessor, but with some rows each.
  static std::int64_t buckets(std::int64_t n, std::int64_t tiles) {
    constexpr std::int64_t rows_of_bucket = 16;
    return std::clamp<std::int64_t>(gpu_teams_at_once / 2 / tiles, 1, ceil_div(n, rows_of_bucket));
  }

  KOKKOS_FORCEINLINE_FUNCTION static void clear(A (&sum)[N]) {
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) sum[i] = no_sum<A>;
  }

  /// sum += some rows, one after the other, so many of them under way at once.
  template <int underway>
  KOKKOS_FORCEINLINE_FUNCTION void add_rows(A (&sum)[N], const Columns& own, const std::uint16_t* rows,
                                            int count) const {
    PORTOPS_NO_UNROLL
    for (int first = 0; first < count; first += underway) {
      const auto row_at = [&](int k) { return rows[Kokkos::min(first + k, count - 1)]; };
      std::int64_t lies_at[underway];
      if (places_.axes.rank <= 1) {
        PORTOPS_UNROLL
        for (int k = 0; k < underway; ++k) lies_at[k] = row_at(k) * places_.axes.row_stride[0];
      } else {
        compute_one_by_one(lies_at, [&](int k) { return places_.locate(row_at(k)).row; });
      }
      Pack<T, N> packs[underway];
      PORTOPS_UNROLL
      for (int k = 0; k < underway; ++k) {
        packs[k] = read_pack<B, T, N>(own.source + lies_at[k] * values_.row_stride);
      }
      PORTOPS_UNROLL
      for (int k = 0; k < underway; ++k) {
        if (first + k >= count) continue;
        A values[N];
        convert_pack<B, T, N>(values, packs[k], N);
        PORTOPS_UNROLL
        for (int i = 0; i < N; ++i) sum[i] += values[i];
      }
    }
  }

  /// By a warp. Leaves what is more than a block, and tells so.
  KOKKOS_FORCEINLINE_FUNCTION bool add_short_run(const Bucket& bucket, Scratch& scratch, const Columns& own, int at,
                                                 std::int64_t place, std::int64_t target) const {
    if (own.takes) sink_.prefetch(own.target, target);
    std::uint16_t* const rows = scratch.rows[own.warp];
    const int count = bucket.rows_of(at, place, rows, block);
    if (count == block) return false;
    if (!own.takes) return true;
    A sum[N];
    clear(sum);
    count == 1 ? add_rows<1>(sum, own, rows, 1) : add_rows<8>(sum, own, rows, count);
    sink_(own.target, target, sum, N);
    return true;
  }

  /// By a team: a block a warp at a time.
  KOKKOS_FORCEINLINE_FUNCTION void add_long_run(const Team& team, Bucket& bucket, Scratch& scratch, const Columns& own,
                                                int at) const {
    const std::int64_t place = bucket.place(at);
    const std::int64_t target = numbers_ != nullptr ? numbers_[bucket.row(at)] : place;
    constexpr int most = warps * block;
    std::uint16_t* const rows = scratch.rows[0];
    A sum[N];
    clear(sum);
    int left = 1;
    PORTOPS_NO_UNROLL
    for (int from = 0; left > 0; from += most) {
      left = bucket.rows_of(team, at, place, from, rows, most);
      const int count = Kokkos::min(Kokkos::max(left - own.warp * block, 0), int{block});
      left -= most;
      A of_block[N];
      clear(of_block);
      if (own.takes) add_rows<8>(of_block, own, rows + own.warp * block, count);
      PORTOPS_NO_UNROLL
      for (int first = 0; first < warps; first += group) {
        if (own.warp >= first && own.warp < first + group) {
          PORTOPS_UNROLL
          for (int i = 0; i < N; ++i) scratch.of_block[own.warp - first][i][own.lane] = of_block[i];
        }
        team.team_barrier();
        if (own.warp == 0) {
          A of_group[N];
          clear(of_group);
          PORTOPS_UNROLL
          for (int k = 0; k < group; ++k) {
            PORTOPS_UNROLL
            for (int i = 0; i < N; ++i) of_group[i] += scratch.of_block[k][i][own.lane];
          }
          take_batch(sum, of_group);
        }
        team.team_barrier();
      }
    }
    if (own.warp == 0 && own.takes) sink_(own.target, target, sum, N);
  }

  PlacesOfRows places_;
  RowColumns columns_;
  RowTensor<const T> values_;
  std::int64_t packs_;
  std::int64_t tiles_;  ///< of a warp's packs
  std::int64_t buckets_;
  const std::int32_t* numbers_;
  Sink sink_;
};

}  // namespace portops::impl
