// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes.hpp"
#include "core/rows.hpp"
#include "core/spaces.hpp"

#include <bit>

namespace portops::impl {

/// Spreads a value a column down columns, on a GPU: a thread keeps its columns' values in registers and walks down the
/// rows of its slot, as in ReduceDown.
template <Backend B, class T, class F>
class SpreadDown {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int pack = reduce_down_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = 4;  ///< rows that are loaded together
  static constexpr int blocks = sizeof(T) == 2 ? 3 : 4;
  static constexpr int threads = reduce_down_threads;

  SpreadDown(const F& f, const ReducePlan& plan, const SpreadOperands& operands, const TieCounts& counts)
      : f_(f),
        axes_(plan),
        parts_(plan),
        out_(plan.operand[operands.out]),
        out_grad_(plan.operand[operands.out_grad]),
        x_(plan.operand[operands.x]),
        y_(plan.operand[operands.y]),
        counts_(counts),
        kept_(plan.kept),
        column_blocks_(plan.column_blocks),
        access_bytes_(x_.access_bytes < y_.access_bytes ? x_.access_bytes : y_.access_bytes),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))),
        slot_bits_(std::countr_zero(static_cast<unsigned>(plan.slots))) {}

  std::int64_t teams() const { return kept_ * parts_.parts * column_blocks_; }
  std::int64_t first_team = 0;
  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    return F::counts ? (static_cast<std::size_t>(pack) << (lane_bits_ + slot_bits_)) * sizeof(std::int64_t) : 0;
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    [[maybe_unused]] auto* const scratch =
        static_cast<std::int64_t*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), 16));
    const Tile tile = locate(team, first_team + team.league_rank());
    // The last thread of a row may have fewer columns than a pack.
    const int access = tile.count == pack ? access_bytes_ : 0;
    if (!F::counts && axes_.has_one_run_axis()) {
      with_access<T, pack>(access, [&]<int bytes>() { write<bytes>(tile); });
      return;
    }
    Row rows[pack];
    read_rows(tile, rows);
    if constexpr (F::counts) {
      if (!share_out(team, scratch, tile, rows)) return;
    }
    for_each_run(tile, [&](std::int64_t run) {
      T loaded[1][pack];
      load<0>(x_of(tile) + axes_.run_offset(x_, run), 0, 1, tile.count, loaded);
      store<0>(y_of(tile) + axes_.run_offset(y_, run), 0, 1, tile.count, rows, loaded);
    });
  }

 private:
  struct Tile {
    std::int64_t kept;
    std::int64_t part;
    std::int64_t column;  ///< the thread's first
    int count;            ///< of its columns; may be negative
    std::int64_t run;     ///< the thread's first
    int runs;             ///< of its slot
  };

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }
  KOKKOS_FORCEINLINE_FUNCTION int slots() const { return 1 << slot_bits_; }

  KOKKOS_FORCEINLINE_FUNCTION Tile locate(const Team& team, std::int64_t index) const {
    Tile tile;
    const int slot = team.team_rank() >> lane_bits_;
    const int lane = team.team_rank() & (lanes() - 1);
    const std::int64_t rest = column_blocks_ == 1 ? index : quotient(index, column_blocks_);
    tile.column = ((index - rest * column_blocks_) * lanes() + lane) * pack;
    const std::int64_t left = parts_.columns - tile.column;
    tile.count = static_cast<int>(left < pack ? left : pack);
    tile.kept = parts_.parts == 1 ? rest : quotient(rest, parts_.parts);
    tile.part = rest - tile.kept * parts_.parts;
    const PartRange range = parts_.range(tile.part);
    tile.run = range.first_run + slot;
    tile.runs = tile.count > 0 && range.runs > slot ? static_cast<int>((range.runs - slot - 1) >> slot_bits_) + 1 : 0;
    return tile;
  }

  KOKKOS_FORCEINLINE_FUNCTION void read_rows(const Tile& tile, Row (&rows)[pack]) const {
    const T* const out = out_.data + axes_.kept_offset(out_, tile.kept);
    const T* const out_grad = out_grad_.data + axes_.kept_offset(out_grad_, tile.kept);
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) {
      if (i >= tile.count) continue;
      rows[i] = f_.row(static_cast<A>(out[(tile.column + i) * out_.column_stride]),
                       static_cast<A>(out_grad[(tile.column + i) * out_grad_.column_stride]));
    }
  }

  /// Shares each column's gradient out between its ties. False where these were only counted.
  KOKKOS_FORCEINLINE_FUNCTION bool share_out(const Team& team, std::int64_t* scratch, const Tile& tile,
                                             Row (&rows)[pack]) const {
    const std::int64_t first = tile.kept * parts_.columns + tile.column;
    std::int64_t counts[pack];
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) counts[i] = 0;
    if (counts_.mode == Ties::given) {
      // The slots share the parts.
      for (std::int64_t p = team.team_rank() >> lane_bits_; tile.count > 0 && p < parts_.parts; p += slots()) {
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) {
          if (i < tile.count) counts[i] += counts_.of(p, first + i);
        }
      }
    } else {
      for_each_run(tile, [&](std::int64_t run) {
        T loaded[1][pack];
        load<0>(x_of(tile) + axes_.run_offset(x_, run), 0, 1, tile.count, loaded);
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) {
          if (i < tile.count) counts[i] += f_.is_tie(static_cast<A>(loaded[0][i]), rows[i]) ? 1 : 0;
        }
      });
    }
    join_over_slots(team, scratch, slots(), lanes(), counts, Plus());
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) {
      if (i >= tile.count) continue;
      if (counts_.mode == Ties::counted) {
        if (team.team_rank() < lanes()) counts_.of(tile.part, first + i) = static_cast<int>(counts[i]);
      } else {
        rows[i] = f_.shared(rows[i], static_cast<A>(counts[i]));
      }
    }
    return counts_.mode != Ties::counted;
  }

  KOKKOS_FORCEINLINE_FUNCTION const T* x_of(const Tile& tile) const {
    return x_.data + axes_.kept_offset(x_, tile.kept) + tile.column * x_.column_stride;
  }
  KOKKOS_FORCEINLINE_FUNCTION T* y_of(const Tile& tile) const {
    return y_.data + axes_.kept_offset(y_, tile.kept) + tile.column * y_.column_stride;
  }

  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_run(const Tile& tile, const Visit& visit) const {
    for (int r = 0; r < tile.runs; ++r) visit(tile.run + static_cast<std::int64_t>(r) * slots());
  }

  /// The rows of the thread's slot: a batch is loaded while the one before it is computed and written, and the first
  /// one while the columns' values are read.
  template <int bytes>
  KOKKOS_FORCEINLINE_FUNCTION void write(const Tile& tile) const {
    const T* x = x_of(tile) + tile.run * axes_.run_stride(x_);
    T* y = y_of(tile) + tile.run * axes_.run_stride(y_);
    const std::int64_t x_step = slots() * axes_.run_stride(x_);
    const std::int64_t y_step = slots() * axes_.run_stride(y_);
    int left = tile.runs;
    T loaded[batch][pack];
    load<bytes>(x, x_step, left, tile.count, loaded);
    Row rows[pack];
    read_rows(tile, rows);
    PORTOPS_NO_UNROLL
    while (left > 0) {
      T next[batch][pack];
      x += batch * x_step;
      load<bytes>(x, x_step, left - batch, tile.count, next);
      store<bytes>(y, y_step, left, tile.count, rows, loaded);
      y += batch * y_step;
      left -= batch;
      PORTOPS_UNROLL
      for (int r = 0; r < batch; ++r) {
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) loaded[r][i] = next[r][i];
      }
    }
  }

  /// Loads `rows` rows or, if that is less, `left`.
  template <int bytes, int rows>
  KOKKOS_FORCEINLINE_FUNCTION void load(const T* x, std::int64_t step, int left, int count,
                                        T (&loaded)[rows][pack]) const {
    PORTOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      if (r >= left) continue;
      if constexpr (bytes != 0) {
        load_words<bytes>(loaded[r], x + r * step);
      } else {
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) {
          if (i < count) loaded[r][i] = x[r * step + i * x_.column_stride];
        }
      }
    }
  }

  template <int bytes, int rows>
  KOKKOS_FORCEINLINE_FUNCTION void store(T* y, std::int64_t step, int left, int count, const Row (&of_columns)[pack],
                                         const T (&loaded)[rows][pack]) const {
    PORTOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      if (r >= left) continue;
      T results[pack];
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) results[i] = static_cast<T>(f_(static_cast<A>(loaded[r][i]), of_columns[i]));
      if constexpr (bytes != 0) {
        store_words<bytes>(y + r * step, results);
      } else {
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) {
          if (i < count) y[r * step + i * y_.column_stride] = results[i];
        }
      }
    }
  }

  F f_;
  RowAxes axes_;
  RowParts parts_;
  RowOperand<T> out_;
  RowOperand<T> out_grad_;
  RowOperand<T> x_;
  RowOperand<T> y_;
  TieCounts counts_;
  std::int64_t kept_;
  std::int64_t column_blocks_;
  int access_bytes_;
  int lane_bits_;
  int slot_bits_;
};

}  // namespace portops::impl
