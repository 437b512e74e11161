// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/pack.hpp"
#include "core/map/map_operand.hpp"

#include <algorithm>

namespace portops::impl {

/// outputs = f(inputs) over any TilePlan, on a host: an item a tile.
///
/// A thread walks down the rows of its tile, and along each row by packs. What it keeps from row to row (inputs that
/// are the same in all rows, sums over rows) is a number a column, on the stack. Inputs are read where they are if they
/// need no conversion. F::sums says whether outputs may be sums at all.
template <Backend B, class T, class F>
class MapHostTiles {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  MapHostTiles(const F& f, const TilePlan& plan, A* partials) : f_(f), plan_(plan), partials_(partials) {
    take_operands(operand_, plan.operand);
  }

  std::int64_t items() const { return plan_.tiles(); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const { KOKKOS_IF_ON_HOST((map_tile(item);)) }

 private:
  using Operand = MapTileOperand<T>;
  static constexpr int pack = tile_shape(B, ElementTypeOf<T>::value).pack;
  static constexpr int inputs = F::inputs;
  static constexpr int outputs = F::outputs;
  static constexpr int operands = inputs + outputs;

  struct Tile {
    std::int64_t outer;
    std::int64_t row_block;
    std::int64_t row;      ///< the first
    std::int64_t end_row;  ///< behind the last
    std::int64_t column_block;
    std::int64_t column;  ///< the first
    int columns;
    int columns_of_last_row;  ///< of the last row of all, which is shorter in a folded loop
  };

  /// What is kept from row to row.
  struct Kept {
    alignas(64) A numbers[host_kept_bytes / sizeof(A)];
    A* column[operands] = {};  ///< the operand's share of these: one a column
    A total[outputs] = {};     ///< of sums over all columns and rows
  };

  void map_tile(std::int64_t index) const {
    const Tile tile = locate(index);
    T* outer[operands];
    find_outer(outer, tile);
    Kept kept;
    prepare(kept, tile, outer);
    T* at[operands];
    seek(at, outer, tile, tile.row);
    for (std::int64_t row = tile.row; row < tile.end_row; ++row) {
      if (plan_.row_rank > 1 && row > tile.row) seek(at, outer, tile, row);
      map_row(tile, row, at, kept);
      if (plan_.row_rank != 1) continue;
      for (int k = 0; k < operands; ++k) at[k] += operand_[k].stride[plan_.outer_rank];
    }
    if (plan_.streaming) host::end_of_streaming();
    if constexpr (F::sums) write_sums(tile, outer, kept);
  }

  Tile locate(std::int64_t index) const {
    Tile tile;
    tile.column_block = index % plan_.column_blocks;
    const std::int64_t rest = index / plan_.column_blocks;
    tile.row_block = rest % plan_.row_blocks;
    tile.outer = rest / plan_.row_blocks;
    tile.row = tile.row_block * plan_.tile_rows;
    tile.end_row = std::min(tile.row + plan_.tile_rows, plan_.rows);
    tile.column = tile.column_block * plan_.tile_columns;
    tile.columns = columns_from(tile.column, plan_.columns);
    tile.columns_of_last_row = columns_from(tile.column, plan_.size - (plan_.rows - 1) * plan_.columns);
    return tile;
  }

  /// The tile's columns from `column` on, of a row of `length`.
  int columns_from(std::int64_t column, std::int64_t length) const {
    return static_cast<int>(std::clamp<std::int64_t>(length - column, 0, plan_.tile_columns));
  }

  /// Where each operand has the outer index's first row.
  void find_outer(T* (&outer)[operands], const Tile& tile) const {
    std::int64_t offset[operands] = {};
    add_offsets(offset, operand_, tile.outer, plan_.extent.data(), 0, plan_.outer_rank);
    for (int k = 0; k < operands; ++k) outer[k] = operand_[k].data + offset[k];
  }

  /// Where each operand has the tile's first column of a row.
  void seek(T* (&at)[operands], T* const (&outer)[operands], const Tile& tile, std::int64_t row) const {
    std::int64_t offset[operands];
    for (int k = 0; k < operands; ++k) offset[k] = tile.column * operand_[k].column_stride;
    add_offsets(offset, operand_, row, plan_.extent.data(), plan_.outer_rank, plan_.outer_rank + plan_.row_rank);
    for (int k = 0; k < operands; ++k) at[k] = outer[k] + offset[k];
  }

  /// Reads what all rows share and starts the sums.
  void prepare(Kept& kept, const Tile& tile, T* const (&outer)[operands]) const {
    A* next = kept.numbers;
    for (int k = 0; k < operands; ++k) {
      if (operand_[k].access != Access::staged && operand_[k].sum != TileSum::rows) continue;
      kept.column[k] = next;
      next += plan_.tile_columns;
      if (k < inputs) {
        stage(operand_[k], tile, outer[k], kept.column[k]);
      } else {
        std::fill_n(kept.column[k], tile.columns, A(0));
      }
    }
  }

  static void stage(const Operand& operand, const Tile& tile, const T* data, A* numbers) {
    std::int64_t column = operand.period != 0 ? tile.column % operand.period : tile.column;
    for (int i = 0; i < tile.columns; ++i) {
      numbers[i] = static_cast<A>(data[column * operand.column_stride]);
      if (++column == operand.period) column = 0;
    }
  }

  void map_row(const Tile& tile, std::int64_t row, T* const (&at)[operands], Kept& kept) const {
    const int columns = row == plan_.rows - 1 ? tile.columns_of_last_row : tile.columns;
    alignas(64) A in[inputs][pack];
    for (int k = 0; k < inputs; ++k) fill(operand_[k], at[k], in[k]);
    A row_sum[outputs] = {};
    for (int column = 0; column < columns; column += pack) {
      const int count = std::min(pack, columns - column);
      const A* from[inputs];
      for (int k = 0; k < inputs; ++k) from[k] = read(operand_[k], at[k], column, count, in[k], kept.column[k]);
      alignas(64) A out[outputs][pack];
      compute(from, out, count);
      for (int k = 0; k < outputs; ++k) {
        const Operand& operand = operand_[inputs + k];
        if (operand.access == Access::none) continue;
        if (operand.sum == TileSum::elements) {
          store(operand, at[inputs + k], column, count, out[k]);
        } else if constexpr (F::sums) {
          add(k, tile, row, at[inputs + k], column, count, out[k], kept, row_sum[k]);
        }
      }
    }
    if constexpr (F::sums) {
      for (int k = 0; k < outputs; ++k) add_row(k, tile, row, at[inputs + k], row_sum[k], kept.total[k]);
    }
  }

  /// Fills a pack for the whole row where the operand has one number for it.
  static void fill(const Operand& operand, const T* at, A (&values)[pack]) {
    if (operand.access == Access::none) std::fill_n(values, pack, operand.number);
    if (operand.access == Access::row) std::fill_n(values, pack, static_cast<A>(*at));
  }

  /// Where the numbers of a pack are: in `values` unless they are somewhere already.
  static const A* read(const Operand& operand, const T* at, int column, int count, A (&values)[pack], const A* kept) {
    if (operand.access == Access::staged) return kept + column;
    if (operand.access == Access::packs) {
      if constexpr (std::is_same_v<T, A>) return at + column;
      host::convert<T, pack>(values, at + column, count);
    } else if (operand.access == Access::elements) {
      const T* const from = at + column * operand.column_stride;
      for (int i = 0; i < count; ++i) values[i] = static_cast<A>(from[i * operand.column_stride]);
    }
    return values;
  }

  void compute(const A* const (&from)[inputs], A (&out)[outputs][pack], int count) const {
    for (int i = 0; i < count; ++i) {
      A x[inputs];
      A y[outputs];
      for (int k = 0; k < inputs; ++k) x[k] = from[k][i];
      f_(x, y);
      for (int k = 0; k < outputs; ++k) out[k][i] = y[k];
    }
  }

  void store(const Operand& operand, T* at, int column, int count, const A (&out)[pack]) const {
    if (operand.access == Access::packs && count == pack) {
      host::store<T, pack>(at + column, out, plan_.streaming);
    } else {
      store_elements<B, T, pack>(at + column * operand.column_stride, out, operand.column_stride, count);
    }
  }

  /// Takes a pack of an output's terms.
  void add(int k, const Tile& tile, std::int64_t row, T* at, int column, int count, const A (&out)[pack], Kept& kept,
           A& row_sum) const {
    const Operand& operand = operand_[inputs + k];
    if (operand.sum == TileSum::rows) {
      A* const sums = kept.column[inputs + k] + column;
      for (int i = 0; i < count; ++i) sums[i] += out[i];
    } else if (operand.sum == TileSum::none) {
      for (int i = 0; i < count; ++i) {
        write(operand, at + (column + i) * operand.column_stride, tile.outer * plan_.rows + row, plan_.columns,
              tile.column + column + i, out[i]);
      }
    } else if (count == pack) {
      row_sum += sum_of<pack>(out);
    } else {
      for (int i = 0; i < count; ++i) row_sum += out[i];
    }
  }

  /// Takes the sum over the tile's columns of a row.
  void add_row(int k, const Tile& tile, std::int64_t row, T* to, A row_sum, A& total) const {
    const Operand& operand = operand_[inputs + k];
    if (operand.sum == TileSum::both) {
      total += row_sum;
    } else if (operand.sum == TileSum::columns) {
      write(operand, to, tile.outer * plan_.rows + row, plan_.column_blocks, tile.column_block, row_sum);
    }
  }

  /// Writes result [i][j] (of width `width`): to the tensor, or to the array of partial sums.
  void write(const Operand& operand, T* to, std::int64_t i, std::int64_t width, std::int64_t j, A value) const {
    if (operand.direct) {
      *to = static_cast<T>(value);
    } else {
      partials_[operand.partial_at + i * width + j] = value;
    }
  }

  /// Writes the tile's sums over rows.
  void write_sums(const Tile& tile, T* const (&outer)[operands], const Kept& kept) const {
    const std::int64_t i = tile.outer * plan_.row_blocks + tile.row_block;
    for (int k = inputs; k < operands; ++k) {
      const Operand& operand = operand_[k];
      if (operand.access == Access::none) continue;
      if (operand.sum == TileSum::both) {
        write(operand, outer[k], i, plan_.column_blocks, tile.column_block, kept.total[k - inputs]);
      } else if (operand.sum == TileSum::rows) {
        for (int c = 0; c < tile.columns; ++c) {
          const std::int64_t column = tile.column + c;
          write(operand, outer[k] + column * operand.column_stride, i, plan_.columns, column, kept.column[k][c]);
        }
      }
    }
  }

  F f_;
  TilePlan plan_;
  Operand operand_[operands];
  A* partials_;
};

}  // namespace portops::impl
