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
  static constexpr int batch = 4;
  static constexpr int blocks = 4;
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

  KOKKOS_FUNCTION std::int64_t teams() const { return kept_ * parts_.parts * column_blocks_; }
  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    return F::counts ? (static_cast<std::size_t>(pack) << (lane_bits_ + slot_bits_)) * sizeof(float) : 0;
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    [[maybe_unused]] auto* const scratch =
        static_cast<float*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), 16));
    for (std::int64_t index = team.league_rank(); index < teams(); index += team.league_size()) {
      const Tile tile = locate(team, index);
      Row rows[pack];
      read_rows(tile, rows);
      if constexpr (F::counts) {
        if (!share_out(team, scratch, tile, rows)) continue;
      }
      write(tile, rows);
    }
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
  KOKKOS_FORCEINLINE_FUNCTION bool share_out(const Team& team, float* scratch, const Tile& tile,
                                             Row (&rows)[pack]) const {
    const std::int64_t first = tile.kept * parts_.columns + tile.column;
    float counts[pack];
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) counts[i] = 0.0f;
    if (counts_.mode == Ties::given) {
      PORTOPS_UNROLL
      for (int i = 0; i < pack; ++i) {
        double sum = 0.0;
        for (std::int64_t p = 0; i < tile.count && p < parts_.parts; ++p) sum += counts_.of(p, first + i);
        counts[i] = static_cast<float>(sum);
      }
    } else {
      for_each_batch(tile, [&](const T (&loaded)[batch][pack], int some, std::int64_t) {
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          PORTOPS_UNROLL
          for (int i = 0; i < pack; ++i) {
            if (b < some && i < tile.count) counts[i] += f_.is_tie(static_cast<A>(loaded[b][i]), rows[i]) ? 1.0f : 0.0f;
          }
        }
      });
      join_over_slots(team, scratch, slots(), lanes(), counts, Plus());
    }
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) {
      if (i >= tile.count) continue;
      if (counts_.mode == Ties::counted) {
        if (team.team_rank() < lanes()) counts_.of(tile.part, first + i) = counts[i];
      } else {
        rows[i] = f_.shared(rows[i], static_cast<A>(counts[i]));
      }
    }
    return counts_.mode != Ties::counted;
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(const Tile& tile, const Row (&rows)[pack]) const {
    T* const y = y_.data + axes_.kept_offset(y_, tile.kept) + tile.column * y_.column_stride;
    const bool one_axis = has_one_axis();
    const std::int64_t step = one_axis ? slots() * run_stride(y_) : 0;
    for_each_batch(tile, [&](const T (&loaded)[batch][pack], int some, std::int64_t run) {
      T* const to = y + (one_axis ? run * run_stride(y_) : axes_.run_offset(y_, run));
      with_access<T, pack>(tile.count == pack ? access_bytes_ : 0, [&]<int bytes>() {
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          if (b >= some) continue;
          T results[pack];
          PORTOPS_UNROLL
          for (int i = 0; i < pack; ++i) results[i] = static_cast<T>(f_(static_cast<A>(loaded[b][i]), rows[i]));
          if constexpr (bytes != 0) {
            store_words<bytes>(to + b * step, results);
          } else {
            PORTOPS_UNROLL
            for (int i = 0; i < pack; ++i) {
              if (i < tile.count) to[b * step + i * y_.column_stride] = results[i];
            }
          }
        }
      });
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION bool has_one_axis() const { return axes_.rank - axes_.kept_rank <= 1; }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t run_stride(const RowOperand<T>& operand) const {
    return axes_.rank > axes_.kept_rank ? operand.stride[axes_.kept_rank] : 0;
  }

  /// Calls visit(loaded, count, first run) for the rows of the thread's slot, a batch or, where their places must be
  /// worked out one by one, one at a time.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_batch(const Tile& tile, const Visit& visit) const {
    const T* const x = x_.data + axes_.kept_offset(x_, tile.kept) + tile.column * x_.column_stride;
    const bool one_axis = has_one_axis();
    const std::int64_t step = one_axis ? slots() * run_stride(x_) : 0;
    const int stride = one_axis ? batch : 1;
    std::int64_t run = tile.run;
    for (int left = tile.runs; left > 0; left -= stride, run += stride * slots()) {
      const T* const from = x + (one_axis ? run * run_stride(x_) : axes_.run_offset(x_, run));
      const int some = left < stride ? left : stride;
      T loaded[batch][pack];
      with_access<T, pack>(tile.count == pack ? access_bytes_ : 0, [&]<int bytes>() {
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          if (b >= some) continue;
          if constexpr (bytes != 0) {
            load_words<bytes>(loaded[b], from + b * step);
          } else {
            PORTOPS_UNROLL
            for (int i = 0; i < pack; ++i) {
              if (i < tile.count) loaded[b][i] = from[b * step + i * x_.column_stride];
            }
          }
        }
      });
      visit(loaded, some, run);
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
