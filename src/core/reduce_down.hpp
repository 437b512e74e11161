// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes.hpp"
#include "core/rows.hpp"
#include "core/spaces.hpp"

#include <bit>

namespace portops::impl {

/// Reduces columns on a GPU: lanes side by side keep to a pack of columns each, the team's slots share their rows.
template <Backend B, class T, class F>
class ReduceDown {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int pack = reduce_down_pack_bytes / static_cast<int>(sizeof(T));
  /// Rows that are loaded together.
  static constexpr int batch = 4;
  static constexpr int blocks = sizeof(T) == 2 ? 4 : 5;
  static constexpr int threads = reduce_down_threads;

  ReduceDown(const F& f, const ReducePlan& plan, int x, int out, Partial<A>* partials)
      : f_(f),
        axes_(plan),
        parts_(plan),
        x_(plan.operand[x]),
        out_(plan.operand[out]),
        partials_(partials),
        kept_(plan.kept),
        column_blocks_(plan.column_blocks),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))),
        slot_bits_(std::countr_zero(static_cast<unsigned>(plan.slots))) {}

  std::int64_t teams() const { return kept_ * parts_.parts * column_blocks_; }
  std::int64_t first_team = 0;
  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    return (static_cast<std::size_t>(pack) << (lane_bits_ + slot_bits_)) * sizeof(A) + alignof(A) + sizeof(int);
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = static_cast<A*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), 16));
    std::int64_t index = first_team + team.league_rank();
    A values[pack];
    add_up(locate(team, index), values);
    // Where the tile is, is worked out again: it would cost the loop above its registers.
    PORTOPS_FORGET(index);
    finish(team, scratch, locate(team, index), values);
  }

 private:
  struct Tile {
    std::int64_t kept;
    std::int64_t part;
    std::int64_t column;  ///< the thread's first
    int count;            ///< of its columns; may be negative
    int slot;
    int lane;
    PartRange range;
  };

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }
  KOKKOS_FORCEINLINE_FUNCTION int slots() const { return 1 << slot_bits_; }

  KOKKOS_FORCEINLINE_FUNCTION Tile locate(const Team& team, std::int64_t index) const {
    Tile tile;
    tile.slot = team.team_rank() >> lane_bits_;
    tile.lane = team.team_rank() & (lanes() - 1);
    const std::int64_t rest = column_blocks_ == 1 ? index : quotient(index, column_blocks_);
    tile.column = ((index - rest * column_blocks_) * lanes() + tile.lane) * pack;
    const std::int64_t left = parts_.columns - tile.column;
    tile.count = static_cast<int>(left < pack ? left : pack);
    tile.kept = parts_.parts == 1 ? rest : quotient(rest, parts_.parts);
    tile.part = rest - tile.kept * parts_.parts;
    tile.range = parts_.range(tile.part);
    return tile;
  }

  KOKKOS_FORCEINLINE_FUNCTION const T* x_of(const Tile& tile) const {
    return x_.data + axes_.kept_offset(x_, tile.kept) + tile.column * x_.column_stride;
  }

  /// Joins the slots' values and writes the columns' results.
  KOKKOS_FORCEINLINE_FUNCTION void finish(const Team& team, A* scratch, const Tile& tile, A (&values)[pack]) const {
    join_slots(team, scratch, values, f_.join());
    A scales[pack];
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) scales[i] = A(1);
    if constexpr (F::rescales) {
      bool safe = true;
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) safe = safe && (i >= tile.count || f_.is_safe(values[i]));
      if (any_thread(team, scratch, !safe)) rescale(team, scratch, x_of(tile), tile, scales, values);
    }
    if (tile.slot != 0) return;
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) {
      if (i < tile.count) write(tile, tile.column + i, {scales[i], values[i]});
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(const Tile& tile, std::int64_t column, const Partial<A>& value) const {
    if (parts_.parts == 1) {
      out_.data[axes_.kept_offset(out_, tile.kept) + column * out_.column_stride] = static_cast<T>(f_.finish(value));
    } else {
      partials_[(tile.kept * parts_.columns + column) * parts_.parts + tile.part] = value;
    }
  }

  /// What the rows of the thread's slot add up to.
  KOKKOS_FORCEINLINE_FUNCTION void add_up(const Tile& tile, A (&sums)[pack]) const {
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) sums[i] = f_.identity();
    if (tile.count <= 0 || tile.slot >= tile.range.runs) return;
    const int left = static_cast<int>((tile.range.runs - tile.slot - 1) >> slot_bits_) + 1;
    const std::int64_t run = tile.range.first_run + tile.slot;
    const T* const x = x_of(tile);
    if (!axes_.has_one_run_axis()) {
      PORTOPS_NO_UNROLL
      for (int r = 0; r < left; ++r) {
        T loaded[1][pack];
        load_rows<0, 1>(x + axes_.run_offset(x_, run + r * slots()), 0, 1, tile.count, loaded);
        add_rows(loaded, sums);
      }
      return;
    }
    const std::int64_t stride = axes_.run_stride(x_);
    // The last thread of a row may have fewer columns than a pack.
    with_access<T, pack>(tile.count == pack ? x_.access_bytes : 0, [&]<int bytes>() {
      add_all_rows<bytes>(x + run * stride, slots() * stride, left, tile.count, sums);
    });
  }

  /// A batch is loaded while the one before it is added.
  template <int bytes>
  KOKKOS_FORCEINLINE_FUNCTION void add_all_rows(const T* x, std::int64_t step, int left, int count,
                                                A (&sums)[pack]) const {
    T loaded[batch][pack];
    T next[batch][pack];
    load_rows<bytes, batch>(x, step, left, count, loaded);
    PORTOPS_NO_UNROLL
    for (left -= batch; left > 0; left -= batch) {
      x += batch * step;
      load_rows<bytes, batch>(x, step, left, count, next);
      add_rows(loaded, sums);
      PORTOPS_UNROLL
      for (int r = 0; r < batch; ++r) {
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) loaded[r][i] = next[r][i];
      }
    }
    add_rows(loaded, sums);
  }

  /// Loads `rows` rows or, if that is less, `left`; elements without effect stand for what is missing.
  template <int bytes, int rows>
  KOKKOS_FORCEINLINE_FUNCTION void load_rows(const T* x, std::int64_t step, int left, int count,
                                             T (&loaded)[rows][pack]) const {
    PORTOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      if (bytes != 0 && r < left) {
        load_words<bytes == 0 ? static_cast<int>(sizeof(T)) : bytes>(loaded[r], x + r * step);
        continue;
      }
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        loaded[r][i] =
            bytes == 0 && r < left && i < count ? x[r * step + i * x_.column_stride] : static_cast<T>(f_.fill());
      }
    }
  }

  template <int rows>
  KOKKOS_FORCEINLINE_FUNCTION void add_rows(const T (&loaded)[rows][pack], A (&sums)[pack]) const {
    PORTOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) sums[i] = f_.add(sums[i], static_cast<A>(loaded[r][i]));
    }
  }

  /// Takes the results of columns anew, relative to the element that dominates each.
  KOKKOS_FUNCTION void rescale(const Team& team, A* scratch, const T* x, const Tile& tile, A (&scales)[pack],
                               A (&values)[pack]) const {
    A scale[pack];
    A total[pack];
    for (int i = 0; i < pack; ++i) {
      scale[i] = f_.least_dominant();
      for_each(x, tile, i, [&](A element) { scale[i] = f_.dominant()(scale[i], Kokkos::abs(element)); });
    }
    join_slots(team, scratch, scale, f_.dominant());
    for (int i = 0; i < pack; ++i) {
      total[i] = A(0);
      for_each(x, tile, i, [&](A element) { total[i] += f_.raise(Kokkos::abs(element) / scale[i]); });
    }
    join_slots(team, scratch, total, f_.join());
    for (int i = 0; i < pack; ++i) {
      if (f_.is_safe(values[i])) continue;
      const Partial<A> rescaled = f_.rescaled(scale[i], total[i]);
      scales[i] = rescaled.scale;
      values[i] = rescaled.total;
    }
  }

  /// The elements of the thread's i-th column.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(const T* x, const Tile& tile, int i, const Visit& visit) const {
    if (i >= tile.count) return;
    PORTOPS_NO_UNROLL
    for (std::int64_t run = tile.slot; run < tile.range.runs; run += slots()) {
      visit(static_cast<A>(x[axes_.run_offset(x_, tile.range.first_run + run) + i * x_.column_stride]));
    }
  }

  template <class Join>
  KOKKOS_FORCEINLINE_FUNCTION void join_slots(const Team& team, A* scratch, A (&values)[pack], const Join& join) const {
    join_over_slots(team, scratch, slots(), lanes(), values, join);
  }

  /// Whether the condition, which depends on the lane alone, holds in any thread of the team.
  KOKKOS_FORCEINLINE_FUNCTION bool any_thread(const Team& team, A* scratch, bool condition) const {
    constexpr int warp = 32;
    const bool any_of_warp = any_lane(condition);
    if (lanes() <= warp) return any_of_warp;  // every warp has all lanes
    int* const flag =
        reinterpret_cast<int*>(scratch + (static_cast<std::ptrdiff_t>(pack) << (lane_bits_ + slot_bits_)));
    if (team.team_rank() == 0) *flag = 0;
    team.team_barrier();
    if (any_of_warp && team.team_rank() % warp == 0) Kokkos::atomic_or(flag, 1);
    team.team_barrier();
    return *flag != 0;
  }

  F f_;
  RowAxes axes_;
  RowParts parts_;
  RowOperand<T> x_;
  RowOperand<T> out_;
  Partial<A>* partials_;
  std::int64_t kept_;
  std::int64_t column_blocks_;
  int lane_bits_;
  int slot_bits_;
};

}  // namespace portops::impl
