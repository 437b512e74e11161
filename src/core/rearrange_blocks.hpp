// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/column_access.hpp"
#include "core/divide.hpp"
#include "core/rearrangement.hpp"
#include "core/spaces.hpp"
#include "core/tile_shape.hpp"

#include <cstdint>

namespace portops::impl {

/// Rearranges on GPUs where neighbours lie along one axis in `from` and along the other one in `to`. A thread takes a
/// square block, reads it in packs, turns it in registers and writes it in packs.
template <Backend B, class From, class To>
class RearrangeBlocks {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 128;
  static constexpr int blocks = 4;
  std::int64_t first_team = 0;

  /// Whether both sides have neighbours, along different axes, both axes are long enough for it, and loads are not too
  /// narrow to keep the memory busy.
  static bool suits(const Rearrangement& what) {
    constexpr int enough = 32, enough_bytes = 8;
    return what.rows >= enough && what.width >= enough &&
           ((what.from.x == 1 && what.to.row == 1) || (what.from.row == 1 && what.to.x == 1)) &&
           widest_pack(what, what.from, sizeof(From), what.from.x == 1) * static_cast<int>(sizeof(From)) >=
               enough_bytes;
  }

  explicit RearrangeBlocks(const Rearrangement& what)
      : what_(what),
        from_(static_cast<const From*>(what.from.data)),
        to_(static_cast<To*>(what.to.data)),
        reads_along_columns_(what.from.x == 1),
        from_pack_(widest_pack(what, what.from, sizeof(From), reads_along_columns_)),
        to_pack_(widest_pack(what, what.to, sizeof(To), !reads_along_columns_)),
        tiles_across_(ceil_div(what.columns(), tile_columns)),
        tiles_down_(ceil_div(what.rows, tile_rows)) {}

  std::int64_t teams() const { return what_.batches * tiles_down_ * tiles_across_; }
  static constexpr std::size_t scratch_bytes() { return 0; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t tile = first_team + team.league_rank();
    const std::int64_t row_of_tiles = quotient(tile, tiles_across_);
    const std::int64_t batch = quotient(row_of_tiles, tiles_down_);
    const int lane = team.team_rank() % 32, warp = team.team_rank() / 32;
    const Block at{
        batch, (row_of_tiles - batch * tiles_down_) * tile_rows + (warp / 2 * warp_rows + lane / warp_columns) * side,
        (tile - row_of_tiles * tiles_across_) * tile_columns + (warp % 2 * warp_columns + lane % warp_columns) * side};
    // Line i of `from` becomes element i of all lines of `to`.
    Word<From, side> in[side];
    for_packs(what_.from, at, reads_along_columns_, from_pack_,
              [&](int line, int first, std::int64_t offset, auto access) {
                constexpr int width = decltype(access)::width;
                Word<From, width> word;
                access.load(word, from_ + offset, 1, width);
                PORTOPS_UNROLL
                for (int i = 0; i < width; ++i) in[line].set(first + i, word[i]);
              });
    for_packs(what_.to, at, !reads_along_columns_, to_pack_,
              [&](int line, int first, std::int64_t offset, auto access) {
                constexpr int width = decltype(access)::width;
                Word<To, width> word;
                PORTOPS_UNROLL
                for (int i = 0; i < width; ++i) word.set(i, static_cast<To>(in[first + i][line]));
                access.store(to_ + offset, word, 1, width);
              });
  }

 private:
  /// Of a block, so that its lines are the widest accesses where both types allow it.
  static constexpr int side = sizeof(From) == 2 && sizeof(To) == 2 ? 8 : 4;
  static constexpr int warp_columns = 8, warp_rows = 4;  // in blocks; a team has two by two warps
  static constexpr std::int64_t tile_columns = std::int64_t{2} * warp_columns * side;
  static constexpr std::int64_t tile_rows = std::int64_t{2} * warp_rows * side;

  struct Block {
    std::int64_t batch, row, column;
  };

  /// The widest pack of neighbours that is aligned wherever it begins.
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

  /// Calls action(line, first, offset, access) for the packs of the block's lines.
  template <class Action>
  KOKKOS_FORCEINLINE_FUNCTION void for_packs(const Rearrangement::Side& of, const Block& at, bool along_columns,
                                             int pack, const Action& action) const {
    const std::int64_t base = at.batch * of.batch;
    with_access<side>(pack, true, [&](auto access) {
      constexpr int width = decltype(access)::width;
      PORTOPS_UNROLL
      for (int line = 0; line < side; ++line) {
        PORTOPS_UNROLL
        for (int first = 0; first < side; first += width) {
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
  std::int64_t tiles_across_, tiles_down_;
};

}  // namespace portops::impl
