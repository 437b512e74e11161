// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/pack.hpp"
#include "core/map/input_set.hpp"
#include "core/map/map_operand.hpp"
#include "core/types/macros.hpp"

#include <bit>

namespace portops::impl {

/// outputs = f(inputs) over a TilePlan with a walk, on a GPU: one team a tile.
///
/// A thread walks through the tile in equal steps, a pack of each operand a step: down the rows of its slot, keeping to
/// its columns, or along one row. Every operand has its own stride between steps, so that the loop knows two ways to
/// read (a pack, or down the rows one element for all columns) and two to write (store the pack, add it to sums in
/// registers). What is the same in all steps is read once, into registers. Where the walk ends, a tree adds the
/// threads' sums: over the slots, or over the lanes. A walk down may sum over the columns too, which takes a tree over
/// the lanes in every row.
///
/// Interleaved, element i of the pack of lane l is column i · lanes + l of the tile: neighbouring threads read and
/// write neighbouring elements, one by one, wherever rows start and end.
///
/// `in_packs` tells, bit by bit, which inputs are read by packs; unknown_inputs leaves that to the plan.
template <Backend B, class T, class F, Walk walk, unsigned in_packs>
class MapTiles {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr bool interleaved = walk == Walk::interleaved;
  static constexpr bool down = walk == Walk::down || interleaved;
  static constexpr TileShape shape = tile_shape(B, ElementTypeOf<T>::value);
  static constexpr int pack = shape.pack;
  static constexpr int warp = shape.most_lanes;
  static constexpr int inputs = F::inputs;
  static constexpr int outputs = F::outputs;
  static constexpr int operands = inputs + outputs;
  /// Steps whose loads are issued before the first of them is used: as many as registers allow, of which the numbers in
  /// a pack of a 16-bit type take most, and those of a walk down stay.
  static constexpr int packs_a_step = in_packs == unknown_inputs ? inputs : std::popcount(in_packs);
  static constexpr int batch = packs_a_step > 2 || (down && operands * pack > 48) ? 2 : 4;
  /// Teams that should fit a multiprocessor at once, which limits the registers of a thread.
  static constexpr int blocks = F::sums ? 2 : 3;

  MapTiles(const F& f, const TilePlan& plan, A* partials)
      : f_(f),
        partials_(partials),
        rows_(plan.rows),
        columns_(plan.columns),
        last_row_columns_(plan.size - (plan.rows - 1) * plan.columns),
        column_blocks_(static_cast<std::uint32_t>(plan.column_blocks)),
        row_blocks_(static_cast<std::uint32_t>(plan.row_blocks)),
        outer_rank_(plan.outer_rank),
        axes_(plan.outer_rank + plan.row_rank),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))),
        slot_bits_(std::countr_zero(static_cast<unsigned>(plan.slots))),
        tile_columns_(plan.tile_columns),
        tile_rows_(plan.tile_rows),
        sums_rows_(plan.sums_rows) {
    for (int axis = 0; axis < max_rank; ++axis) extent_[axis] = plan.extent[axis];
    take_operands(operand_, plan.operand);
  }

  /// Bytes of team scratch: room to add up sums.
  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    const int sums = !F::sums ? 0 : down && sums_rows_ ? slots() * tile_columns_ : shape.most_threads / warp;
    return static_cast<std::size_t>(sums) * sizeof(A);
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const Tile tile = locate(team);
    T* at[operands];
    seek(at, tile);
    const Range range = down ? range_down(tile) : range_along(tile, at);
    A in[inputs][pack];
    if (range.steps > 0 || range.head + range.tail > 0) read_steady(tile, range, at, in);
    const int first_pack = interleaved ? tile.lane : range.head + tile.lane * pack;
    PORTOPS_UNROLL
    for (int k = 0; k < operands; ++k) at[k] += moves_by_packs(k) ? first_pack : 0;
    A sums[outputs][pack];
    PORTOPS_UNROLL
    for (int k = 0; k < outputs; ++k) {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) sums[k][i] = A(0);
    }
    int step = 0;
    for (; step + batch <= range.steps; step += batch) map_steps<batch>(tile, range, step, at, in, sums);
    for (; step < range.steps; ++step) map_steps<1>(tile, range, step, at, in, sums);
    if constexpr (!down) map_ends(tile, range, at, in, sums);
    if constexpr (F::sums) write_sums(team, tile, scratch_of<A>(team), at, sums);
  }

 private:
  using Operand = MapTileOperand<T>;

  /// Where a thread works.
  struct Tile {
    int outer;
    int row_block;
    int column_block;
    int slot;
    int lane;
  };

  /// What a thread works on. A row along which it walks may have elements before its first whole pack and behind its
  /// last; one of an interleaved walk may end within a pack, that of `last_step` earlier.
  struct Range {
    int head = 0;
    int packs = 0;
    int tail = 0;
    int steps = 0;
    int last_step = -1;
    int columns = pack;       ///< of a pack
    int last_columns = pack;  ///< of that of the last step

    KOKKOS_FORCEINLINE_FUNCTION int count(int step) const {
      return !interleaved ? pack : step == last_step ? last_columns : columns;
    }
  };

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }
  KOKKOS_FORCEINLINE_FUNCTION int slots() const { return 1 << slot_bits_; }

  KOKKOS_FORCEINLINE_FUNCTION Tile locate(const Team& team) const {
    Tile tile;
    const auto index = static_cast<std::uint32_t>(team.league_rank());
    const std::uint32_t rest = column_blocks_.quotient(index);
    const std::uint32_t outer = row_blocks_.quotient(rest);
    tile.outer = static_cast<int>(outer);
    tile.row_block = static_cast<int>(rest - outer * row_blocks_.value());
    tile.column_block = static_cast<int>(index - rest * column_blocks_.value());
    tile.slot = team.team_rank() >> lane_bits_;
    tile.lane = team.team_rank() & (lanes() - 1);
    return tile;
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_row(const Tile& tile) const {
    return static_cast<std::int64_t>(tile.row_block) * tile_rows_ + tile.slot;
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_column(const Tile& tile) const {
    return static_cast<std::int64_t>(tile.column_block) * tile_columns_;
  }

  /// The steps of 2^bits from `begin` on that are less than `end`.
  KOKKOS_FORCEINLINE_FUNCTION static int steps_between(int begin, int end, int bits) {
    return begin < end ? ((end - begin - 1) >> bits) + 1 : 0;
  }

  /// Down the rows of the thread's slot. (A folded loop's last row is shorter.)
  KOKKOS_FORCEINLINE_FUNCTION Range range_down(const Tile& tile) const {
    Range range;
    std::int64_t rows = rows_;
    if constexpr (interleaved) {
      // All lanes walk as far, since they add up rows together.
      range.columns = own_columns(tile, columns_);
      range.last_columns = own_columns(tile, last_row_columns_);
    } else {
      const std::int64_t column = first_column(tile) + tile.lane * pack;
      if (column >= columns_) return range;
      if (column >= last_row_columns_) --rows;
    }
    const std::int64_t left = rows - static_cast<std::int64_t>(tile.row_block) * tile_rows_;
    range.steps = steps_between(tile.slot, left < tile_rows_ ? static_cast<int>(left) : tile_rows_, slot_bits_);
    if (left <= tile_rows_) {
      const int behind = static_cast<int>(left) - 1 - tile.slot;
      if ((behind & (slots() - 1)) == 0) range.last_step = behind >> slot_bits_;
    }
    return range;
  }

  /// The columns of a row of `length` among those of the thread in an interleaved tile.
  KOKKOS_FORCEINLINE_FUNCTION int own_columns(const Tile& tile, std::int64_t length) const {
    const std::int64_t left = length - first_column(tile) - tile.lane;
    return left <= 0 ? 0 : left > (pack - 1) * warp ? pack : static_cast<int>((left - 1) / warp) + 1;
  }

  /// Along the thread's row, where `at` is.
  KOKKOS_FORCEINLINE_FUNCTION Range range_along(const Tile& tile, T* const (&at)[operands]) const {
    int mismatch = 0;
    PORTOPS_UNROLL
    for (int k = 0; k < operands; ++k) {  // any of those that are read by packs: they are aligned alike
      if (moves_by_packs(k)) {
        mismatch = static_cast<int>(reinterpret_cast<std::uintptr_t>(at[k]) / sizeof(T) % pack);
      }
    }
    const std::int64_t row = first_row(tile);
    Range range;
    if (row >= rows_) return range;
    const std::int64_t left = (row == rows_ - 1 ? last_row_columns_ : columns_) - first_column(tile);
    const int columns = left >= tile_columns_ ? tile_columns_ : left > 0 ? static_cast<int>(left) : 0;
    const int to_pack = (pack - mismatch) % pack;
    const int head = to_pack < columns ? to_pack : columns;
    range.head = head;
    range.packs = (columns - head) / pack;
    range.tail = (columns - head) % pack;
    range.steps = steps_between(tile.lane, range.packs, lane_bits_);
    return range;
  }

  /// How an input is read in each step; neither is what is the same in all of them.
  KOKKOS_FORCEINLINE_FUNCTION bool reads_packs(int k) const {
    return in_packs == unknown_inputs ? operand_[k].access == Access::packs : (in_packs >> k & 1) != 0;
  }
  KOKKOS_FORCEINLINE_FUNCTION bool reads_elements(int k) const {
    return down && in_packs != 0 && !reads_packs(k) && operand_[k].access == Access::row;
  }

  /// Whether an operand is read or written by packs.
  KOKKOS_FORCEINLINE_FUNCTION bool moves_by_packs(int k) const {
    if (k < inputs) return reads_packs(k);
    return operand_[k].access == Access::packs && operand_[k].sum == TileSum::elements;
  }

  /// Where each operand has the first element of the thread's row in the tile, or the result that it adds to.
  KOKKOS_FORCEINLINE_FUNCTION void seek(T* (&at)[operands], const Tile& tile) const {
    std::int64_t offset[operands];
    PORTOPS_UNROLL
    for (int k = 0; k < operands; ++k) offset[k] = moves_by_packs(k) ? first_column(tile) : 0;
    add_offsets(offset, operand_, first_row(tile), extent_, outer_rank_, axes_);
    add_offsets(offset, operand_, tile.outer, extent_, 0, outer_rank_);
    PORTOPS_UNROLL
    for (int k = 0; k < operands; ++k) at[k] = operand_[k].data + offset[k];
  }

  /// Reads what is the same in all steps of the walk.
  KOKKOS_FORCEINLINE_FUNCTION void read_steady(const Tile& tile, const Range& range, T* const (&at)[operands],
                                               A (&in)[inputs][pack]) const {
    PORTOPS_UNROLL
    for (int k = 0; k < inputs; ++k) {
      const Operand& operand = operand_[k];
      if (reads_packs(k) || reads_elements(k)) continue;
      if (operand.access == Access::staged) {
        std::int64_t column = first_column(tile) + tile.lane * (interleaved ? 1 : pack);
        if (operand.period != 0) column -= quotient(column, operand.period) * operand.period;
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) {
          in[k][i] = i < range.columns ? static_cast<A>(at[k][column * operand.column_stride]) : A(0);
          column += interleaved ? warp : 1;
          while (operand.period != 0 && column >= operand.period) column -= operand.period;
        }
      } else {
        const A value = operand.access == Access::none ? operand.number : static_cast<A>(*at[k]);
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) in[k][i] = value;
      }
    }
  }

  /// So many steps further. (32 bits times 32 bits plus 64 bits is one instruction.)
  KOKKOS_FORCEINLINE_FUNCTION static T* behind(T* at, int steps, const Operand& operand) {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(at) +
                                std::uint64_t{static_cast<unsigned>(steps)} * operand.step_bytes);
  }

  /// `count` steps of the walk from `first` on: loads first, so that they are under way together.
  template <int count>
  KOKKOS_FORCEINLINE_FUNCTION void map_steps(const Tile& tile, const Range& range, int first, T* (&at)[operands],
                                             A (&in)[inputs][pack], A (&sums)[outputs][pack]) const {
    Pack<T, pack> loaded[count][inputs];
    PORTOPS_UNROLL
    for (int step = 0; step < count; ++step) {
      PORTOPS_UNROLL
      for (int k = 0; k < inputs; ++k) {
        const T* from = behind(at[k], step, operand_[k]);
        if (reads_packs(k)) {
          loaded[step][k] = read(from, range.count(first + step));
        } else if (reads_elements(k)) {
          loaded[step][k].element[0] = *from;
        }
      }
    }
    PORTOPS_UNROLL
    for (int step = 0; step < count; ++step) {
      map_pack(tile, first, step, range.count(first + step), loaded[step], at, in, sums);
    }
    PORTOPS_UNROLL
    for (int k = 0; k < operands; ++k) at[k] = behind(at[k], count, operand_[k]);
  }

  /// Reads the first `count` columns of a pack.
  KOKKOS_FORCEINLINE_FUNCTION static Pack<T, pack> read(const T* from, [[maybe_unused]] int count) {
    if constexpr (interleaved) {
      Pack<T, pack> result;
      read_elements<B, T, pack>(result, from, warp, count);
      return result;
    } else {
      return read_pack<B, T, pack>(from);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static void store(T* to, const A (&values)[pack], [[maybe_unused]] int count) {
    if constexpr (interleaved) {
      store_elements<B, T, pack>(to, values, warp, count);
    } else {
      store_pack<B, T, pack>(to, values, false);
    }
  }

  /// Computes a pack of each output, of which it has `count` columns, `step` steps from where `at` and the step `first`
  /// are, and stores or adds it.
  KOKKOS_FORCEINLINE_FUNCTION void map_pack(const Tile& tile, int first, int step, int count,
                                            const Pack<T, pack> (&loaded)[inputs], T* const (&at)[operands],
                                            A (&in)[inputs][pack], A (&sums)[outputs][pack]) const {
    PORTOPS_UNROLL
    for (int k = 0; k < inputs; ++k) {
      if (reads_packs(k)) {
        convert_pack<B, T, pack>(in[k], loaded[k], pack);
      } else if (reads_elements(k)) {
        const A value = static_cast<A>(loaded[k].element[0]);
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) in[k][i] = value;
      }
    }
    A out[outputs][pack];
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) apply<pack>(f_, in, out, i);
    if constexpr (F::sums && interleaved) {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        PORTOPS_UNROLL
        for (int k = 0; k < outputs; ++k) out[k][i] = i < count ? out[k][i] : A(0);
      }
    }
    PORTOPS_UNROLL
    for (int k = 0; k < outputs; ++k) {
      const Operand& operand = operand_[inputs + k];
      if (operand.access == Access::none) continue;
      T* const to = behind(at[inputs + k], step, operand);
      if (operand.sum == TileSum::elements) {
        store(to, out[k], count);
      } else if constexpr (F::sums) {
        if (down && operand.sum == TileSum::columns) {
          write_row(operand, tile, first_row(tile) + ((first + step) << slot_bits_), to, sum_of<pack>(out[k]));
        } else {
          PORTOPS_UNROLL
          for (int i = 0; i < pack; ++i) sums[k][i] += out[k][i];
        }
      }
    }
  }

  /// Adds what the lanes have of a row, and writes it. (They are a warp, and all of them are there.)
  KOKKOS_FORCEINLINE_FUNCTION void write_row(const Operand& operand, const Tile& tile, std::int64_t row, T* to,
                                             A sum) const {
    sum = sum_over_lanes(sum, warp);
    if (tile.lane != 0) return;
    write(operand, to, (tile.outer * rows_ + row) * column_blocks_.value() + tile.column_block, sum);
  }

  /// Maps the elements of a row around its whole packs, after a walk that has left `at` behind the thread's last pack.
  KOKKOS_FORCEINLINE_FUNCTION void map_ends(const Tile& tile, const Range& range, T* const (&at)[operands],
                                            const A (&steady)[inputs][pack], A (&sums)[outputs][pack]) const {
    const int walked = range.head + (tile.lane + range.steps * lanes()) * pack;
    for (int end = tile.lane; end < range.head + range.tail; end += lanes()) {
      const int shift = (end < range.head ? end : end + range.packs * pack) - walked;
      A in[inputs][1];
      A out[outputs][1];
      PORTOPS_UNROLL
      for (int k = 0; k < inputs; ++k) {
        in[k][0] = reads_packs(k) ? static_cast<A>(at[k][shift]) : steady[k][0];
      }
      apply<1>(f_, in, out, 0);
      PORTOPS_UNROLL
      for (int k = 0; k < outputs; ++k) {
        const Operand& operand = operand_[inputs + k];
        if (operand.access == Access::none) continue;
        if (operand.sum == TileSum::elements) {
          at[inputs + k][shift] = static_cast<T>(out[k][0]);
        } else if constexpr (F::sums) {
          sums[k][0] += out[k][0];
        }
      }
    }
  }

  /// Adds up the threads' sums and writes the tile's.
  KOKKOS_FORCEINLINE_FUNCTION void write_sums(const Team& team, const Tile& tile, A* scratch, T* const (&at)[operands],
                                              const A (&sums)[outputs][pack]) const {
    PORTOPS_UNROLL
    for (int k = 0; k < outputs; ++k) {
      const Operand& operand = operand_[inputs + k];
      if (operand.access == Access::none || operand.sum == TileSum::elements) continue;
      if (down && operand.sum == TileSum::columns) continue;  // written, row by row
      if (down && operand.sum == TileSum::rows) {
        write_columns(team, operand, tile, at[inputs + k], scratch, sums[k]);
        continue;
      }
      const bool both = operand.sum == TileSum::both;
      const int group = both ? team.team_size() : lanes();
      const A sum = sum_over_group(team, group, scratch, sum_of<pack>(sums[k]));
      const std::int64_t row = first_row(tile);
      if ((team.team_rank() & (group - 1)) != 0 || row >= rows_) continue;
      const std::int64_t i = both ? static_cast<std::int64_t>(tile.outer) * row_blocks_.value() + tile.row_block
                                  : tile.outer * rows_ + row;
      write(operand, at[inputs + k], i * column_blocks_.value() + tile.column_block, sum);
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
    if ((rank & (group - 1)) == 0) {
      PORTOPS_NO_UNROLL
      for (int other = 1; other * warp < group; ++other) value += scratch[rank / warp + other];
    }
    return value;
  }

  /// Adds the slots' sums over rows, by a tree in team scratch, where a slot has element i of every lane's pack side by
  /// side: so threads write to different banks.
  KOKKOS_FORCEINLINE_FUNCTION void write_columns(const Team& team, const Operand& operand, const Tile& tile, T* to,
                                                 A* scratch, const A (&own)[pack]) const {
    team.team_barrier();
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) scratch[tile.slot * tile_columns_ + (i << lane_bits_) + tile.lane] = own[i];
    add_rows_of_scratch(team, scratch, slots(), tile_columns_);
    const std::int64_t i = static_cast<std::int64_t>(tile.outer) * row_blocks_.value() + tile.row_block;
    const std::int64_t first = first_column(tile);
    for (int c = team.team_rank(); c < tile_columns_ && first + c < columns_; c += team.team_size()) {
      const A sum = scratch[interleaved ? c : (c % pack << lane_bits_) + c / pack];
      write(operand, to + (first + c) * operand.column_stride, i * columns_ + first + c, sum);
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
  std::int64_t rows_, columns_, last_row_columns_;
  std::int64_t extent_[max_rank];
  Operand operand_[operands];
  Divisor column_blocks_, row_blocks_;
  int outer_rank_, axes_, lane_bits_, slot_bits_, tile_columns_, tile_rows_;
  bool sums_rows_;
};

}  // namespace portops::impl
