// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/divide.hpp"
#include "core/lanes.hpp"
#include "core/macros.hpp"
#include "core/map_plan.hpp"
#include "core/pack.hpp"

namespace portops::impl {

/// outputs = f(inputs) over a TilePlan with a walk (down or along): one team a tile, on a GPU.
///
/// A thread walks through the tile in equal steps, a pack of each operand a step: down the rows of its slot, keeping to
/// its columns, or along one row. Every operand has its own stride between steps, so that the loop knows three ways to
/// read (a pack, one element, a number) and two to write (store the pack, add it to sums in registers). What a walk
/// down needs again in every row is staged in team scratch; its stride is 0. Where the walk ends, a tree adds the
/// threads' sums: over the slots, or over the lanes.
template <Backend B, class T, class F>
class MapTiles {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int pack = tile_shape(B, ElementTypeOf<T>::value).pack;
  static constexpr int warp = tile_shape(B, ElementTypeOf<T>::value).most_lanes;
  static constexpr int most_warps = tile_shape(B, ElementTypeOf<T>::value).most_threads / warp;
  static constexpr int inputs = F::inputs;
  static constexpr int outputs = F::outputs;
  static constexpr int operands = inputs + outputs;
  /// Steps whose loads are issued before the first of them is used: as many as registers allow.
  static constexpr int batch = inputs > 2 ? 2 : 4;
  /// Teams that should fit a multiprocessor at once, which limits the registers of a thread.
  static constexpr int blocks = F::sums ? 2 : 3;

  MapTiles(const F& f, const TilePlan& plan, A* partials) : f_(f), partials_(partials) {
    const bool down = plan.walk == Walk::down;
    rows_ = plan.rows;
    columns_ = plan.columns;
    last_row_columns_ = plan.size - (plan.rows - 1) * plan.columns;
    column_blocks_ = plan.column_blocks;
    row_blocks_ = plan.row_blocks;
    tiles_ = plan.tiles();
    outer_rank_ = plan.outer_rank;
    axes_ = plan.outer_rank + plan.row_rank;
    lanes_ = plan.lanes;
    slots_ = plan.slots;
    tile_columns_ = plan.tile_columns;
    tile_rows_ = plan.tile_rows;
    staged_ = plan.staged;
    down_ = down;
    lead_ = -1;
    for (int axis = 0; axis < max_rank; ++axis) extent_[axis] = plan.extent[axis];
    for (int k = 0; k < operands; ++k) {
      const TilePlan::Operand& from = plan.operand[k];
      Operand& to = operand_[k];
      to.data = reinterpret_cast<T*>(from.data);
      for (int axis = 0; axis < max_rank; ++axis) to.stride[axis] = from.stride[axis];
      const bool packs = from.access == Access::packs && from.sum == Sum::elements;
      const std::int64_t row_stride = down && plan.row_rank == 1 ? from.stride[plan.outer_rank] : 0;
      to.step = down ? plan.slots * row_stride : (packs ? plan.lanes * pack : 0);
      to.column_stride = from.column_stride;
      to.period = from.period;
      to.partial_at = from.partial_at;
      to.number = static_cast<A>(from.number);
      to.access = from.access;
      to.sum = from.sum;
      to.direct = from.direct;
      if (packs && lead_ < 0) lead_ = k;
      sums_rows_ = sums_rows_ || (k >= inputs && from.sum == Sum::rows);
    }
  }

  /// Bytes of team scratch: the staged operands, then room to add up sums.
  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    const int sums = !F::sums ? 0 : sums_rows_ ? slots_ * tile_columns_ : most_warps;
    return staged_bytes() + static_cast<std::size_t>(sums) * sizeof(A);
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = static_cast<std::byte*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), 16));
    for (std::int64_t index = team.league_rank(); index < tiles_; index += team.league_size()) {
      map_tile(team, locate(team, index), scratch);
      if (index + team.league_size() < tiles_) team.team_barrier();
    }
  }

 private:
  struct Operand {
    T* data;
    std::int64_t stride[max_rank];  ///< along the outer axes, then the row axes
    std::int64_t step;              ///< from a step of the walk to the next
    std::int64_t column_stride;
    std::int64_t period;  ///< of a folded operand
    std::int64_t partial_at;
    A number;
    Access access;
    Sum sum;
    bool direct;
  };

  /// Where a thread works.
  struct Tile {
    std::int64_t outer;
    std::int64_t row_block;
    std::int64_t column_block;
    std::int64_t row;           ///< the thread's first
    std::int64_t first_column;  ///< the tile's first
    int head;                   ///< of a row's elements, those before its first whole pack
    int packs;                  ///< its whole packs
    int tail;                   ///< those after its last whole pack
    int steps;                  ///< of the thread's walk
    int slot;
    int lane;
  };

  KOKKOS_FORCEINLINE_FUNCTION std::size_t staged_bytes() const {
    return static_cast<std::size_t>(staged_) * tile_columns_ * sizeof(T);
  }

  KOKKOS_FORCEINLINE_FUNCTION Tile locate(const Team& team, std::int64_t index) const {
    Tile tile;
    const std::int64_t rest = quotient(index, column_blocks_);
    tile.column_block = index - rest * column_blocks_;
    tile.outer = quotient(rest, row_blocks_);
    tile.row_block = rest - tile.outer * row_blocks_;
    tile.slot = team.team_rank() / lanes_;
    tile.lane = team.team_rank() % lanes_;
    tile.row = tile.row_block * tile_rows_ + tile.slot;
    tile.first_column = tile.column_block * tile_columns_;
    return tile;
  }

  /// The thread's walk down the rows of its slot.
  KOKKOS_FORCEINLINE_FUNCTION void begin_down(Tile& tile) const {
    const std::int64_t column = tile.first_column + tile.lane * pack;
    // The last row of a folded loop is shorter.
    const std::int64_t rows = column < last_row_columns_ ? rows_ : rows_ - 1;
    const std::int64_t behind = (tile.row_block + 1) * tile_rows_;
    tile.head = tile.packs = tile.tail = 0;
    tile.steps = column < columns_ ? steps_between(tile.row, behind < rows ? behind : rows, slots_) : 0;
  }

  /// The thread's walk along its row, whose first element in the tile is `mismatch` elements behind a pack's begin.
  KOKKOS_FORCEINLINE_FUNCTION void begin_along(Tile& tile, int mismatch) const {
    const std::int64_t columns = tile.row == rows_ - 1 ? last_row_columns_ : columns_;
    const std::int64_t behind = tile.first_column + tile_columns_;
    const std::int64_t length = (behind < columns ? behind : columns) - tile.first_column;
    const int left = tile.row < rows_ && length > 0 ? static_cast<int>(length) : 0;
    const int head = (pack - mismatch) % pack;
    tile.head = head < left ? head : left;
    tile.packs = (left - tile.head) / pack;
    tile.tail = (left - tile.head) % pack;
    tile.steps = steps_between(tile.lane, tile.packs, lanes_);
  }

  KOKKOS_FORCEINLINE_FUNCTION static int steps_between(std::int64_t begin, std::int64_t end, int step) {
    return begin < end ? (static_cast<int>(end - begin) + step - 1) / step : 0;
  }

  KOKKOS_FORCEINLINE_FUNCTION void map_tile(const Team& team, Tile tile, std::byte* scratch) const {
    T* at[operands];
    int mismatch = 0;
    PORTOPS_UNROLL
    for (int k = 0; k < operands; ++k) {
      at[k] = first_of(operand_[k], tile);
      if (k == lead_) mismatch = static_cast<int>(reinterpret_cast<std::uintptr_t>(at[k]) / sizeof(T) % pack);
    }
    down_ ? begin_down(tile) : begin_along(tile, mismatch);
    const int first_pack = tile.head + tile.lane * pack;
    PORTOPS_UNROLL
    for (int k = 0; k < operands; ++k) at[k] += reads_packs(operand_[k]) ? first_pack : 0;
    stage(team, tile, reinterpret_cast<T*>(scratch), at);
    A sums[outputs][pack];
    PORTOPS_UNROLL
    for (int k = 0; k < outputs; ++k) {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) sums[k][i] = A(0);
    }
    int left = tile.steps;
    for (; left >= batch; left -= batch) walk<batch>(at, sums);
    for (; left > 0; --left) walk<1>(at, sums);
    if (tile.head + tile.tail > 0) map_ends(tile, at, sums);
    if constexpr (F::sums) write_sums(team, tile, reinterpret_cast<A*>(scratch + staged_bytes()), sums);
  }

  KOKKOS_FORCEINLINE_FUNCTION static bool reads_packs(const Operand& operand) {
    return operand.access == Access::packs && operand.sum == Sum::elements;
  }

  /// Where an operand has the first element of the thread's row in the tile, or the result that it adds to.
  KOKKOS_FORCEINLINE_FUNCTION T* first_of(const Operand& operand, const Tile& tile) const {
    return operand.data + (offset_of(tile.outer, extent_, operand.stride, 0, outer_rank_) +
                           offset_of(tile.row, extent_, operand.stride, outer_rank_, axes_) +
                           (reads_packs(operand) ? tile.first_column : 0));
  }

  /// Copies what is the same in all rows of the tile, its columns only, and lets the walk read that.
  KOKKOS_FORCEINLINE_FUNCTION void stage(const Team& team, const Tile& tile, T* scratch, T* (&at)[operands]) const {
    if (staged_ == 0) return;
    const std::int64_t left = columns_ - tile.first_column;
    PORTOPS_UNROLL
    for (int k = 0; k < inputs; ++k) {
      const Operand& operand = operand_[k];
      if (operand.access != Access::staged) continue;
      const T* data = operand.data + offset_of(tile.outer, extent_, operand.stride, 0, outer_rank_);
      for (int i = team.team_rank(); i < tile_columns_ && i < left; i += team.team_size()) {
        std::int64_t column = tile.first_column + i;
        if (operand.period != 0) column -= quotient(column, operand.period) * operand.period;
        scratch[i] = data[column * operand.column_stride];
      }
      at[k] = scratch + tile.lane * pack;
      scratch += tile_columns_;
    }
    team.team_barrier();
  }

  /// `count` steps of the walk: loads first, so that they are under way together.
  template <int count>
  KOKKOS_FORCEINLINE_FUNCTION void walk(T* (&at)[operands], A (&sums)[outputs][pack]) const {
    Pack<T, pack> packs[count][inputs];
    T single[count][inputs];
    PORTOPS_UNROLL
    for (int step = 0; step < count; ++step) {
      PORTOPS_UNROLL
      for (int k = 0; k < inputs; ++k) {
        const Operand& operand = operand_[k];
        if (operand.access == Access::none) continue;
        const T* from = at[k] + step * operand.step;
        if (operand.access == Access::row) {
          single[step][k] = *from;
        } else {
          packs[step][k] = read_pack<B, T, pack>(from);
        }
      }
    }
    PORTOPS_UNROLL
    for (int step = 0; step < count; ++step) map_pack(step, packs[step], single[step], at, sums);
    PORTOPS_UNROLL
    for (int k = 0; k < operands; ++k) at[k] += count * operand_[k].step;
  }

  /// Computes a pack of each output and stores or adds it.
  KOKKOS_FORCEINLINE_FUNCTION void map_pack(int step, const Pack<T, pack> (&packs)[inputs], const T (&single)[inputs],
                                            T* const (&at)[operands], A (&sums)[outputs][pack]) const {
    A in[inputs][pack];
    A out[outputs][pack];
    PORTOPS_UNROLL
    for (int k = 0; k < inputs; ++k) {
      const Operand& operand = operand_[k];
      if (operand.access == Access::none || operand.access == Access::row) {
        const A value = operand.access == Access::none ? operand.number : static_cast<A>(single[k]);
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) in[k][i] = value;
      } else {
        convert_pack<B, T, pack>(in[k], packs[k], pack);
      }
    }
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) apply<pack>(f_, in, out, i);
    PORTOPS_UNROLL
    for (int k = 0; k < outputs; ++k) {
      const Operand& operand = operand_[inputs + k];
      if (operand.access == Access::none) continue;
      if (operand.sum == Sum::elements) {
        store_pack<B, T, pack>(at[inputs + k] + step * operand.step, out[k], false);
      } else if constexpr (F::sums) {
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) sums[k][i] += out[k][i];
      }
    }
  }

  /// Maps the elements of a row around its whole packs, after a walk that has left `at` behind the thread's last pack.
  KOKKOS_FORCEINLINE_FUNCTION void map_ends(const Tile& tile, T* const (&at)[operands],
                                            A (&sums)[outputs][pack]) const {
    const int walked = tile.head + (tile.lane + tile.steps * lanes_) * pack;
    const int behind = tile.head + tile.packs * pack;
    for (int end = tile.lane; end < tile.head + tile.tail; end += lanes_) {
      const int shift = (end < tile.head ? end : behind + end - tile.head) - walked;
      A in[inputs][1];
      A out[outputs][1];
      PORTOPS_UNROLL
      for (int k = 0; k < inputs; ++k) {
        const Operand& operand = operand_[k];
        in[k][0] = operand.access == Access::none ? operand.number
                                                  : static_cast<A>(at[k][operand.access == Access::row ? 0 : shift]);
      }
      apply<1>(f_, in, out, 0);
      PORTOPS_UNROLL
      for (int k = 0; k < outputs; ++k) {
        const Operand& operand = operand_[inputs + k];
        if (operand.access == Access::none) continue;
        if (operand.sum == Sum::elements) {
          at[inputs + k][shift] = static_cast<T>(out[k][0]);
        } else {
          sums[k][0] += out[k][0];
        }
      }
    }
  }

  /// Adds up the threads' sums and writes the tile's.
  KOKKOS_FORCEINLINE_FUNCTION void write_sums(const Team& team, const Tile& tile, A* scratch,
                                              const A (&sums)[outputs][pack]) const {
    PORTOPS_UNROLL
    for (int k = 0; k < outputs; ++k) {
      const Operand& operand = operand_[inputs + k];
      if (operand.access == Access::none || operand.sum == Sum::elements) continue;
      if (operand.sum == Sum::rows) {
        write_columns(team, operand, tile, scratch, sums[k]);
        continue;
      }
      const bool both = operand.sum == Sum::both;
      const int group = both ? team.team_size() : lanes_;
      const A sum = sum_over_group(team, group, scratch, sum_of<pack>(sums[k]));
      if (team.team_rank() % group != 0 || tile.row >= rows_) continue;
      T* const to = operand.data + (offset_of(tile.outer, extent_, operand.stride, 0, outer_rank_) +
                                    (both ? 0 : offset_of(tile.row, extent_, operand.stride, outer_rank_, axes_)));
      const std::int64_t i = both ? tile.outer * row_blocks_ + tile.row_block : tile.outer * rows_ + tile.row;
      write(operand, to, i * column_blocks_ + tile.column_block, sum);
    }
  }

  /// The sum over groups of `group` neighbouring threads (a power of two), in the first of each.
  KOKKOS_FORCEINLINE_FUNCTION A sum_over_group(const Team& team, int group, A* scratch, A value) const {
    value = sum_over_lanes(value, group < warp ? group : warp);
    if (group <= warp) return value;
    const int rank = team.team_rank();
    team.team_barrier();
    if (rank % warp == 0) scratch[rank / warp] = value;
    team.team_barrier();
    if (rank % group == 0) {
      for (int other = 1; other < group / warp; ++other) value += scratch[rank / warp + other];
    }
    return value;
  }

  /// Adds the slots' sums over rows, by a tree in team scratch.
  KOKKOS_FORCEINLINE_FUNCTION void write_columns(const Team& team, const Operand& operand, const Tile& tile, A* scratch,
                                                 const A (&own)[pack]) const {
    team.team_barrier();
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) scratch[tile.slot * tile_columns_ + tile.lane * pack + i] = own[i];
    for (int half = slots_ / 2; half > 0; half /= 2) {
      team.team_barrier();
      for (int at = team.team_rank(); at < half * tile_columns_; at += team.team_size()) {
        scratch[at] += scratch[at + half * tile_columns_];
      }
    }
    team.team_barrier();
    T* const to = operand.data + offset_of(tile.outer, extent_, operand.stride, 0, outer_rank_);
    const std::int64_t i = tile.outer * row_blocks_ + tile.row_block;
    const std::int64_t left = columns_ - tile.first_column;
    for (int c = team.team_rank(); c < tile_columns_ && c < left; c += team.team_size()) {
      const std::int64_t column = tile.first_column + c;
      write(operand, to + column * operand.column_stride, i * columns_ + column, scratch[c]);
    }
  }

  /// Writes a result: to the tensor, or to the array of partial sums.
  KOKKOS_FORCEINLINE_FUNCTION void write(const Operand& operand, T* to, std::int64_t partial, A value) const {
    if (operand.direct) {
      *to = static_cast<T>(value);
    } else {
      partials_[operand.partial_at + partial] = value;
    }
  }

  F f_;
  A* partials_;
  std::int64_t rows_, columns_, last_row_columns_, column_blocks_, row_blocks_, tiles_;
  std::int64_t extent_[max_rank];
  Operand operand_[operands];
  int outer_rank_, axes_, lanes_, slots_, tile_columns_, tile_rows_, staged_;
  int lead_;  ///< the operand whose packs the walk along a row goes by
  bool down_;
  bool sums_rows_ = false;
};

}  // namespace portops::impl
