// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/down_tiles.hpp"
#include "core/reduce/rescale.hpp"

namespace portops::impl {

/// Reduces columns on a GPU, by tiles.
template <Backend B, class T, class F>
class ReduceDown {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 4;
  static constexpr int threads = down_threads;

  ReduceDown(const F& f, const ReducePlan& plan, Partial<A>* partials) : f_(f), rows_(plan, partials), tiles_(plan) {}

  std::int64_t teams() const { return tiles_.teams(); }
  std::int64_t first_team = 0;
  std::size_t scratch_bytes() const { return threads * widest_pack * sizeof(A) + sizeof(int); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = scratch_of<A>(team);
    const DownTile tile = tiles_.locate(rows_.parts, first_team + team.league_rank(), team.team_rank());
    with_access<widest_pack>(rows_.pack, rows_.x.packs || rows_.pack == 1, [&]<class Access>(Access) {
      A values[Access::width];
      add_up<Access>(tile, values);
      finish<Access>(team, scratch, tile, values);
    });
  }

 private:
  static constexpr int widest_pack = reduce_down_pack_bytes / static_cast<int>(sizeof(T));
  /// Rows that are loaded together, and where no more than so few are left: a batch costs as much whether full or not.
  static constexpr int most_rows = 16, few_rows = 4;

  KOKKOS_FORCEINLINE_FUNCTION const T* x_of(const DownTile& tile) const {
    return rows_.x.data + rows_.axes.kept_offset(rows_.x, tile.kept) + tile.column * rows_.x.column_stride;
  }

  /// What the rows of the thread's slot add up to.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add_up(const DownTile& tile, A (&sums)[Access::width]) const {
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) sums[i] = f_.identity();
    const T* x = x_of(tile);
    if (rows_.axes.has_one_run_axis()) {
      const std::int64_t stride = rows_.axes.run_stride(rows_.x);
      add_rows<Access>(pinned(x + tile.run * stride), tiles_.slots() * stride, tile.runs, sums);
    } else {
      PORTOPS_NO_UNROLL
      for (int r = 0; r < tile.runs; ++r) {
        Word<T, Access::width> loaded;
        load<Access>(loaded, x + rows_.axes.run_offset(rows_.x, tile.run + r * tiles_.slots()));
        add<Access>(sums, loaded);
      }
    }
  }

  /// Adds rows, a batch at a time.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add_rows(const T* x, std::int64_t step, int rows, A (&sums)[Access::width]) const {
    constexpr int batch = Access::batch(most_rows), short_batch = Access::batch(few_rows);
    PORTOPS_NO_UNROLL
    for (; rows > short_batch; rows -= batch) add_batch<Access, batch>(x, step, rows, sums);
    if (rows > 0) add_batch<Access, short_batch>(x, step, rows, sums);
  }

  /// Adds a batch of rows, or as many as there are; x becomes the next one.
  template <class Access, int batch>
  KOKKOS_FORCEINLINE_FUNCTION void add_batch(const T*& x, std::int64_t step, int rows, A (&sums)[Access::width]) const {
    Word<T, Access::width> loaded[batch];
    load_rows<Access>(loaded, x, step, rows);
    PORTOPS_UNROLL
    for (int r = 0; r < batch; ++r) add<Access>(sums, loaded[r]);
  }

  /// Loads a batch of rows, or as many as there are; x becomes the next one.
  template <class Access, int batch>
  KOKKOS_FORCEINLINE_FUNCTION void load_rows(Word<T, Access::width> (&loaded)[batch], const T*& x, std::int64_t step,
                                             int rows) const {
    PORTOPS_UNROLL
    for (int r = 0; r < batch; ++r) {
      loaded[r] = Word<T, Access::width>(static_cast<T>(f_.fill()));
      if (r < rows) load<Access>(loaded[r], x);
      x = pinned(x + step);
    }
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void load(Word<T, Access::width>& word, const T* from) const {
    Access::load(word, from, rows_.x.column_stride, Access::count(rows_.pack));
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add(A (&sums)[Access::width], const Word<T, Access::width>& word) const {
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) {
      sums[i] = f_.add(sums[i], static_cast<A>(word[i]));
    }
  }

  /// Joins the slots' values and writes the columns' results.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void finish(const Team& team, A* scratch, const DownTile& tile,
                                          A (&values)[Access::width]) const {
    const int count = Access::count(rows_.pack);
    join_slots(team, scratch, values, f_.join());
    A scales[Access::width];
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) scales[i] = A(1);
    if constexpr (F::rescales) {
      bool safe = true;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) safe = safe && (i >= count || f_.is_safe(values[i]));
      if (any_thread(team, scratch, tile.active && !safe)) rescale(team, scratch, tile, count, scales, values);
    }
    if (!tile.active || tiles_.slot(team.team_rank()) != 0) return;
    PORTOPS_UNROLL
    for (int i = 0; i < Access::width; ++i) {
      if (i < count) rows_.write(f_, tile.kept, tile.column + i, tile.part, {scales[i], values[i]});
    }
  }

  /// Takes the sums of columns anew, of those too that are safe: the team's threads stay together.
  template <int width>
  KOKKOS_FUNCTION void rescale(const Team& team, A* scratch, const DownTile& tile, int count, A (&scales)[width],
                               A (&values)[width]) const {
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      if (i >= count) continue;
      const Partial<A> rescaled = rescaled_sum<A>(f_, [&](A start, const auto& join, const auto& term) {
        A value[1] = {start};
        for_each(tile, i, [&](A element) { value[0] = join(value[0], term(element)); });
        join_slots(team, scratch, value, join);
        return value[0];
      });
      if (f_.is_safe(values[i])) continue;
      scales[i] = rescaled.scale;
      values[i] = rescaled.total;
    }
  }

  /// The elements of the thread's i-th column.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(const DownTile& tile, int i, const Visit& visit) const {
    const T* const x = x_of(tile) + i * rows_.x.column_stride;
    PORTOPS_NO_UNROLL
    for (int r = 0; r < tile.runs; ++r) {
      visit(static_cast<A>(x[rows_.axes.run_offset(rows_.x, tile.run + r * tiles_.slots())]));
    }
  }

  template <int width, class Join>
  KOKKOS_FORCEINLINE_FUNCTION void join_slots(const Team& team, A* scratch, A (&values)[width],
                                              const Join& join) const {
    join_over_slots(team, scratch, tiles_.slots(), tiles_.lanes(), values, join);
  }

  /// Whether the condition holds in any thread of the team.
  KOKKOS_FORCEINLINE_FUNCTION bool any_thread(const Team& team, A* scratch, bool condition) const {
    constexpr int warp = 32;
    int* const flag = reinterpret_cast<int*>(scratch + threads * widest_pack);
    if (team.team_rank() == 0) *flag = 0;
    team.team_barrier();
    if (any_lane(condition) && team.team_rank() % warp == 0) Kokkos::atomic_or(flag, 1);
    team.team_barrier();
    return *flag != 0;
  }

  F f_;
  ReduceRows<T> rows_;
  DownTiles tiles_;
};

}  // namespace portops::impl
