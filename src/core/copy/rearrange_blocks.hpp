// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/rearrangement.hpp"
#include "core/exec/cuda/kernel_order.hpp"
#include "core/exec/spaces.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// Rearranges on GPUs where neighbours lie along one axis in `from` and along the other one in `to`. A thread takes a
/// block of `from_side` neighbours in `from` by `to_side` in `to`, reads it in packs, turns it in registers and writes
/// it in packs. Where `from` allows only narrow packs, a narrow block makes threads enough to keep the memory busy.
template <Backend B, class From, class To, int from_side, int to_side>
class RearrangeBlocks {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 128;
  static constexpr int blocks = 4;
  std::int64_t first_team = 0;

  /// Whether both sides have neighbours, along different axes, both axes are long enough for it, loads are as wide as
  /// the block, or wide enough to keep the memory busy, and stores are no single elements, which lie a block apart.
  static bool suits(const Rearrangement& what) {
    constexpr int enough = 32, size = sizeof(From), enough_bytes = std::min(8, from_side * size);
    return what.rows >= enough && what.width >= enough &&
           ((what.from.x == 1 && what.to.row == 1) || (what.from.row == 1 && what.to.x == 1)) &&
           widest_pack<from_side>(what, what.from, sizeof(From), what.from.x == 1) * size >= enough_bytes &&
           widest_pack<to_side>(what, what.to, sizeof(To), what.to.x == 1) > 1;
  }

  explicit RearrangeBlocks(const Rearrangement& what)
      : what_(what),
        from_(static_cast<const From*>(what.from.data)),
        to_(static_cast<To*>(what.to.data)),
        reads_along_columns_(what.from.x == 1),
        from_pack_(widest_pack<from_side>(what, what.from, sizeof(From), reads_along_columns_)),
        to_pack_(widest_pack<to_side>(what, what.to, sizeof(To), !reads_along_columns_)),
        block_rows_(reads_along_columns_ ? to_side : from_side),
        block_columns_(reads_along_columns_ ? from_side : to_side),
        tiles_across_(ceil_div(what.columns(), 2 * warp_columns * block_columns_)),
        tiles_down_(ceil_div(what.rows, 2 * warp_rows * block_rows_)) {}

  std::int64_t teams() const { return what_.batches * tiles_down_ * tiles_across_; }
  static constexpr std::size_t scratch_bytes() { return 0; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    let_next_kernel_start();
    const std::int64_t tile = first_team + team.league_rank();
    const std::int64_t row_of_tiles = quotient(tile, tiles_across_);
    const std::int64_t batch = quotient(row_of_tiles, tiles_down_);
    const int lane = team.team_rank() % 32, warp = team.team_rank() / 32;
    const std::int64_t down = row_of_tiles - batch * tiles_down_, across = tile - row_of_tiles * tiles_across_;
    const Block at{batch, (2 * down * warp_rows + warp / 2 * warp_rows + lane / warp_columns) * block_rows_,
                   (2 * across * warp_columns + warp % 2 * warp_columns + lane % warp_columns) * block_columns_};
    // Line i of `from` becomes element i of all lines of `to`.
    Word<From, from_side> in[to_side];
    for_packs<to_side, from_side>(what_.from, at, reads_along_columns_, from_pack_,
                                  [&](int line, int first, std::int64_t offset, auto access) {
                                    constexpr int width = decltype(access)::width;
                                    Word<From, width> word;
                                    access.load(word, from_ + offset, 1, width);
                                    PORTOPS_UNROLL
                                    for (int i = 0; i < width; ++i) in[line].set(first + i, word[i]);
                                  });
    for_packs<from_side, to_side>(what_.to, at, !reads_along_columns_, to_pack_,
                                  [&](int line, int first, std::int64_t offset, auto access) {
                                    constexpr int width = decltype(access)::width;
                                    Word<To, width> word;
                                    PORTOPS_UNROLL
                                    for (int i = 0; i < width; ++i) word.set(i, static_cast<To>(in[first + i][line]));
                                    access.store(to_ + offset, word, 1, width);
                                  });
  }

 private:
  static constexpr int warp_columns = 8, warp_rows = 4;  ///< in blocks; a team has two by two warps

  struct Block {
    std::int64_t batch, row, column;
  };

  /// The widest pack of neighbours, of no more than `side`, that is aligned wherever it begins.
  template <int side>
  static int widest_pack(const Rearrangement& what, const Rearrangement::Side& from, std::size_t element,
                         bool along_columns) {
    int pack = side;
    const auto divides = [&](std::int64_t extent, std::int64_t stride) { return extent <= 1 || stride % pack == 0; };
    while (pack > 1) {
      const bool lines = along_columns ? what.width % pack == 0 && divides(what.rows, from.row)
                                       : what.rows % pack == 0 && divides(what.width, from.x);
      if (lines && divides(what.height, from.y) && divides(what.batches, from.batch) &&
          reinterpret_cast<std::uintptr_t>(from.data) % (pack * element) == 0) {
        break;
      }
      pack /= 2;
    }
    return pack;
  }

  /// Calls action(line, first, offset, access) for the packs of the block's lines of `extent` neighbours.
  template <int lines, int extent, class Action>
  KOKKOS_FORCEINLINE_FUNCTION void for_packs(const Rearrangement::Side& of, const Block& at, bool along_columns,
                                             int pack, const Action& action) const {
    const std::int64_t base = at.batch * of.batch;
    with_access<extent>(pack, true, [&](auto access) {
      constexpr int width = decltype(access)::width;
      PORTOPS_UNROLL
      for (int line = 0; line < lines; ++line) {
        PORTOPS_UNROLL
        for (int first = 0; first < extent; first += width) {
          const std::int64_t row = at.row + (along_columns ? line : first);
          const std::int64_t column = at.column + (along_columns ? first : line);
          if (row >= what_.rows || column >= what_.columns()) continue;
          action(line, first, base + row * of.row + what_.along_columns(of, column), access);
        }
      }
    });
  }

  Rearrangement what_;
  const From* from_;
  To* to_;
  bool reads_along_columns_;
  int from_pack_, to_pack_;
  int block_rows_, block_columns_;
  std::int64_t tiles_across_, tiles_down_;
};

}  // namespace portops::impl
