// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/pack.hpp"
#include "core/map/map_operand.hpp"
#include "core/types/macros.hpp"

namespace portops::impl {

/// outputs = f(inputs) over any TilePlan on a GPU: one team a tile. Most plans have a faster kernel, MapTiles.
///
/// A thread keeps to its columns (packs p of lane l start at column (p · lanes + l) · pack of the tile) and walks down
/// the rows of its slot. So what depends on columns alone is staged in team scratch once, sums over rows grow in
/// registers, and sums over columns are one tree a row. F::sums says whether outputs may be sums at all.
template <Backend B, class T, class F>
class MapAnyTiles {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr TileShape shape = tile_shape(B, ElementTypeOf<T>::value);
  static constexpr int pack = shape.pack;
  static constexpr int packs = shape.packs;
  static constexpr int inputs = F::inputs;
  static constexpr int outputs = F::outputs;
  static constexpr int operands = inputs + outputs;
  /// Teams that should fit a multiprocessor of a GPU at once.
  static constexpr int blocks = 2;

  MapAnyTiles(const F& f, const TilePlan& plan, A* partials) : f_(f), partials_(partials) {
    columns_ = plan.columns;
    rows_ = plan.rows;
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
    sums_rows_ = plan.sums_rows;
    for (int axis = 0; axis < max_rank; ++axis) extent_[axis] = plan.extent[axis];
    take_operands(operand_, plan.operand);
    for (int k = 0; k < operands; ++k) {
      slot_stride_[k] = plan.row_rank == 1 ? plan.slots * operand_[k].stride[plan.outer_rank] : 0;
    }
  }

  /// Bytes of team scratch: the staged operands, then the slots' sums of one output.
  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    const std::size_t sums = F::sums && sums_rows_ && slots_ > 1 ? std::size_t(slots_) * tile_columns_ : 0;
    return (static_cast<std::size_t>(staged_) * tile_columns_ + sums) * sizeof(A);
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    A* const scratch = static_cast<A*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), 16));
    for (std::int64_t index = team.league_rank(); index < tiles_; index += team.league_size()) {
      map_tile(team, locate(team, index), scratch);
      if (index + team.league_size() < tiles_) team.team_barrier();
    }
  }

 private:
  using Operand = MapTileOperand<T>;

  /// Where a thread works.
  struct Tile {
    std::int64_t outer;
    std::int64_t row_block;
    std::int64_t row;      ///< the tile's first
    std::int64_t end_row;  ///< behind its last
    std::int64_t column_block;
    std::int64_t column;   ///< the tile's first
    int left;              ///< columns of the tile
    int left_in_last_row;  ///< of the last row of all, which is shorter in a folded loop
    int slot;
    int lane;
  };

  /// What a thread has summed so far: for each of its columns, or over its columns.
  struct Sums {
    A column[outputs][packs][pack];
    A total[outputs];
  };

  KOKKOS_FORCEINLINE_FUNCTION void map_tile(const Team& team, const Tile& tile, A* scratch) const {
    T* outer[operands];
    find_outer(outer, tile);
    stage(team, tile, outer, scratch);
    [[maybe_unused]] Sums sums;
    if constexpr (F::sums) clear(sums);
    T* at[operands];
    seek(at, outer, tile, tile.row + tile.slot);
    const bool one_row_axis = axes_ - outer_rank_ == 1;
    // All threads make the same number of turns, so that they can add over lanes together.
    for (std::int64_t row = tile.row; row < tile.end_row; row += slots_) {
      if (!one_row_axis && row > tile.row) seek(at, outer, tile, row + tile.slot);
      map_row(tile, row + tile.slot, at, scratch, sums);
      PORTOPS_UNROLL
      for (int k = 0; k < operands; ++k) at[k] += slot_stride_[k];
    }
    if constexpr (F::sums) write_sums(team, tile, outer, scratch + staged_ * tile_columns_, sums);
  }

  KOKKOS_FORCEINLINE_FUNCTION Tile locate(const Team& team, std::int64_t index) const {
    Tile tile;
    tile.column_block = index % column_blocks_;
    const std::int64_t rest = index / column_blocks_;
    tile.row_block = rest % row_blocks_;
    tile.outer = rest / row_blocks_;
    tile.row = tile.row_block * tile_rows_;
    tile.end_row = tile.row + tile_rows_ < rows_ ? tile.row + tile_rows_ : rows_;
    tile.column = tile.column_block * tile_columns_;
    tile.left = columns_from(tile.column, columns_);
    tile.left_in_last_row = columns_from(tile.column, last_row_columns_);
    tile.slot = team.team_rank() / lanes_;
    tile.lane = team.team_rank() % lanes_;
    return tile;
  }

  /// The tile's columns from `column` on, of a row of `length`.
  KOKKOS_FORCEINLINE_FUNCTION int columns_from(std::int64_t column, std::int64_t length) const {
    const std::int64_t left = length - column;
    return left >= tile_columns_ ? tile_columns_ : (left > 0 ? static_cast<int>(left) : 0);
  }

  /// Where each operand has the outer index's first row.
  KOKKOS_FORCEINLINE_FUNCTION void find_outer(T* (&outer)[operands], const Tile& tile) const {
    std::int64_t offset[operands] = {};
    add_offsets(offset, operand_, tile.outer, extent_, 0, outer_rank_);
    PORTOPS_UNROLL
    for (int k = 0; k < operands; ++k) outer[k] = operand_[k].data + offset[k];
  }

  /// Where each operand has the thread's first column of a row.
  KOKKOS_FORCEINLINE_FUNCTION void seek(T* (&at)[operands], T* const (&outer)[operands], const Tile& tile,
                                        std::int64_t row) const {
    const std::int64_t column = tile.column + tile_column(tile, 0);
    std::int64_t offset[operands];
    PORTOPS_UNROLL
    for (int k = 0; k < operands; ++k) offset[k] = column * operand_[k].column_stride;
    add_offsets(offset, operand_, row, extent_, outer_rank_, axes_);
    PORTOPS_UNROLL
    for (int k = 0; k < operands; ++k) at[k] = outer[k] + offset[k];
  }

  KOKKOS_FORCEINLINE_FUNCTION int tile_column(const Tile& tile, int p) const { return (p * lanes_ + tile.lane) * pack; }

  KOKKOS_FORCEINLINE_FUNCTION void stage(const Team& team, const Tile& tile, T* const (&outer)[operands],
                                         A* scratch) const {
    if (staged_ == 0) return;
    PORTOPS_UNROLL
    for (int k = 0; k < inputs; ++k) {
      const Operand& operand = operand_[k];
      if (operand.access != Access::staged) continue;
      const T* data = outer[k];
      for (int i = team.team_rank(); i < tile_columns_; i += team.team_size()) {
        std::int64_t column = tile.column + i;
        if (i < tile.left && operand.period != 0) column %= operand.period;
        scratch[i] = i < tile.left ? static_cast<A>(data[column * operand.column_stride]) : A(0);
      }
      scratch += tile_columns_;
    }
    team.team_barrier();
  }

  KOKKOS_FORCEINLINE_FUNCTION void clear(Sums& sums) const {
    PORTOPS_UNROLL
    for (int k = 0; k < outputs; ++k) {
      sums.total[k] = A(0);
      PORTOPS_UNROLL
      for (int p = 0; p < packs; ++p) {
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) sums.column[k][p][i] = A(0);
      }
    }
  }

  /// Maps a row of the thread's slot.
  KOKKOS_FORCEINLINE_FUNCTION void map_row(const Tile& tile, std::int64_t row, T* (&at)[operands], const A* scratch,
                                           Sums& sums) const {
    const bool active = row < tile.end_row;
    const int left = !active ? 0 : (row == rows_ - 1 ? tile.left_in_last_row : tile.left);
    [[maybe_unused]] A row_sum[outputs];
    PORTOPS_UNROLL
    for (int k = 0; k < outputs; ++k) row_sum[k] = A(0);
    // All loads are issued before the first pack is used.
    Pack<T, pack> loaded[packs][inputs];
    PORTOPS_UNROLL
    for (int p = 0; p < packs; ++p) load(at, p, left - tile_column(tile, p), loaded[p]);
    PORTOPS_UNROLL
    for (int p = 0; p < packs; ++p) {
      const int count = left - tile_column(tile, p);
      if (count <= 0) continue;
      map_pack(tile, row, at, p, count > pack ? pack : count, loaded[p], scratch, sums, row_sum);
    }
    if constexpr (F::sums) {
      PORTOPS_UNROLL
      for (int k = 0; k < outputs; ++k) add_row(k, tile, row, active, at[inputs + k], row_sum[k], sums.total[k]);
    }
  }

  /// Where operand k has pack p of the row under way.
  KOKKOS_FORCEINLINE_FUNCTION T* address(T* const (&at)[operands], int k, int p) const {
    return at[k] + static_cast<std::int64_t>(p * lanes_ * pack) * operand_[k].column_stride;
  }

  /// Issues the loads of a pack of each input; `count` columns are left.
  KOKKOS_FORCEINLINE_FUNCTION void load(T* const (&at)[operands], int p, int count,
                                        Pack<T, pack> (&loaded)[inputs]) const {
    PORTOPS_UNROLL
    for (int k = 0; k < inputs; ++k) {
      const Operand& operand = operand_[k];
      if (count <= 0 || operand.access == Access::none || operand.access == Access::staged) continue;
      const T* from = address(at, k, p);
      if (operand.access == Access::row) {
        loaded[k].element[0] = *from;
      } else if (operand.access == Access::packs && count >= pack) {
        loaded[k] = read_pack<B, T, pack>(from);
      } else {
        read_elements<B, T, pack>(loaded[k], from, operand.column_stride, count);
      }
    }
  }

  /// Computes a pack of each output and stores or adds it.
  KOKKOS_FORCEINLINE_FUNCTION void map_pack(const Tile& tile, std::int64_t row, T* const (&at)[operands], int p,
                                            int count, const Pack<T, pack> (&loaded)[inputs], const A* scratch,
                                            Sums& sums, A (&row_sum)[outputs]) const {
    A in[inputs][pack];
    A out[outputs][pack];
    PORTOPS_UNROLL
    for (int k = 0; k < inputs; ++k) {
      const Operand& operand = operand_[k];
      if (operand.access == Access::staged) {
        copy_pack<B, A, pack>(in[k], scratch + tile_column(tile, p));
        scratch += tile_columns_;
      } else if (operand.access == Access::none || operand.access == Access::row) {
        const A value = operand.access == Access::none ? operand.number : static_cast<A>(loaded[k].element[0]);
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) in[k][i] = value;
      } else {
        convert_pack<B, T, pack>(in[k], loaded[k], pack);
      }
    }
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) apply<pack>(f_, in, out, i);
    PORTOPS_UNROLL
    for (int k = 0; k < outputs; ++k) {
      const Operand& operand = operand_[inputs + k];
      if (operand.access == Access::none) continue;
      if (operand.sum == TileSum::elements) {
        store(operand, address(at, inputs + k, p), count, out[k]);
      } else if constexpr (F::sums) {
        add(k, tile, row, at, p, count, out[k], sums.column[k][p], row_sum[k]);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void store(const Operand& operand, T* to, int count, const A (&out)[pack]) const {
    if (operand.access == Access::packs && count == pack) {
      store_pack<B, T, pack>(to, out, false);
    } else {
      store_elements<B, T, pack>(to, out, operand.column_stride, count);
    }
  }

  /// Takes a pack of an output's terms.
  KOKKOS_FORCEINLINE_FUNCTION void add(int k, const Tile& tile, std::int64_t row, T* const (&at)[operands], int p,
                                       int count, A (&out)[pack], A (&column_sum)[pack], A& row_sum) const {
    const Operand& operand = operand_[inputs + k];
    if (count < pack) {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        if (i >= count) out[i] = A(0);
      }
    }
    if (operand.sum == TileSum::rows) {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) column_sum[i] += out[i];
    } else if (operand.sum == TileSum::none) {
      T* const to = address(at, inputs + k, p);
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        if (i >= count) break;
        write(operand, to + i * operand.column_stride, tile.outer * rows_ + row, columns_,
              tile.column + tile_column(tile, p) + i, out[i]);
      }
    } else {
      row_sum += sum_of<pack>(out);
    }
  }

  /// Takes what one thread has summed over its columns of a row.
  KOKKOS_FORCEINLINE_FUNCTION void add_row(int k, const Tile& tile, std::int64_t row, bool active, T* to, A row_sum,
                                           A& total) const {
    const Operand& operand = operand_[inputs + k];
    if (operand.sum == TileSum::both) {
      total += row_sum;
    } else if (operand.sum == TileSum::columns) {
      row_sum = sum_over_lanes(row_sum, lanes_);
      if (active && tile.lane == 0) {
        write(operand, to, tile.outer * rows_ + row, column_blocks_, tile.column_block, row_sum);
      }
    }
  }

  /// Writes result [i][j] (of width `width`): to the tensor, or to the array of partial sums.
  KOKKOS_FORCEINLINE_FUNCTION void write(const Operand& operand, T* to, std::int64_t i, std::int64_t width,
                                         std::int64_t j, A value) const {
    if (operand.direct) {
      *to = static_cast<T>(value);
    } else {
      partials_[operand.partial_at + i * width + j] = value;
    }
  }

  /// Adds the slots' sums over rows, by a tree in team scratch, and writes the tile's.
  KOKKOS_FORCEINLINE_FUNCTION void write_sums(const Team& team, const Tile& tile, T* const (&outer)[operands],
                                              A* scratch, const Sums& sums) const {
    if (!sums_rows_) return;
    PORTOPS_UNROLL
    for (int k = 0; k < outputs; ++k) {
      const Operand& operand = operand_[inputs + k];
      if (operand.access == Access::none || (operand.sum != TileSum::both && operand.sum != TileSum::rows)) continue;
      T* const to = outer[inputs + k];
      const std::int64_t i = tile.outer * row_blocks_ + tile.row_block;
      if (operand.sum == TileSum::both) {
        const A total = add_slots(team, tile, scratch, sum_over_lanes(sums.total[k], lanes_));
        if (team.team_rank() == 0) write(operand, to, i, column_blocks_, tile.column_block, total);
      } else {
        write_columns(team, operand, tile, to, i, scratch, sums.column[k]);
      }
      team.team_barrier();
    }
  }

  /// The sum over slots of what each slot's first lane has, in the team's first thread.
  KOKKOS_FORCEINLINE_FUNCTION A add_slots(const Team& team, const Tile& tile, A* scratch, A value) const {
    if (slots_ == 1) return value;
    if (tile.lane == 0) scratch[tile.slot] = value;
    add_rows_of_scratch(team, scratch, slots_, 1);
    return scratch[0];
  }

  KOKKOS_FORCEINLINE_FUNCTION void write_columns(const Team& team, const Operand& operand, const Tile& tile, T* to,
                                                 std::int64_t i, A* scratch, const A (&own)[packs][pack]) const {
    if (slots_ > 1) {
      PORTOPS_UNROLL
      for (int p = 0; p < packs; ++p) {
        PORTOPS_UNROLL
        for (int e = 0; e < pack; ++e) scratch[tile.slot * tile_columns_ + tile_column(tile, p) + e] = own[p][e];
      }
      add_rows_of_scratch(team, scratch, slots_, tile_columns_);
      for (int c = team.team_rank(); c < tile.left; c += team.team_size()) {
        write(operand, to + (tile.column + c) * operand.column_stride, i, columns_, tile.column + c, scratch[c]);
      }
      return;
    }
    PORTOPS_UNROLL
    for (int p = 0; p < packs; ++p) {
      PORTOPS_UNROLL
      for (int e = 0; e < pack; ++e) {
        const int c = tile_column(tile, p) + e;
        if (c >= tile.left) break;
        write(operand, to + (tile.column + c) * operand.column_stride, i, columns_, tile.column + c, own[p][e]);
      }
    }
  }

  F f_;
  A* partials_;
  std::int64_t columns_, rows_, last_row_columns_, column_blocks_, row_blocks_, tiles_;
  std::int64_t extent_[max_rank];
  Operand operand_[operands];
  std::int64_t slot_stride_[operands];  ///< from a row of a slot to its next, where the rows are one axis
  int outer_rank_, axes_, lanes_, slots_, tile_columns_, tile_rows_, staged_;
  bool sums_rows_;
};

}  // namespace portops::impl
