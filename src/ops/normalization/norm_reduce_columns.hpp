// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/reduce/down_tiles.hpp"
#include "ops/normalization/norm_reduce.hpp"

namespace portops::impl {

/// The same as NormReduceDown for rows at equal distances that packs can be read of, all of which are reduced, and
/// sides that have a number for each column, as images have them that lie with their channels last, or for each plane
/// of columns. It knows nothing else: teams are short, and with little code they begin sooner.
template <Backend B, class T, class F>
class NormReduceColumns {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 4;

  static bool suits(const NormPlan& plan) {
    const ReducePlan& rows = plan.walked();
    for (int k = 0; k < F::inputs; ++k) {
      if (!rows.operand[static_cast<std::size_t>(k)].packs) return false;
    }
    return has_even_rows(rows, ElementTypeOf<T>::value) && are_steady(plan.rows, F::inputs, F::sides);
  }

  NormReduceColumns(const NormRows<T, F>& rows, const NormPlan& plan, State* partials)
      : parts_(plan.walked()),
        tiles_(plan.walked()),
        columns_(plan.walked().columns),
        has_planes_(plan.plane > 1),
        by_plane_(plan.plane),
        partials_(partials) {
    for (std::size_t k = 0; k < F::inputs; ++k) {
      const ReducePlan::Operand& operand = plan.walked().operand[k];
      in_[k] = reinterpret_cast<const T*>(operand.data);
      stride_[k] = operand.stride[0];
    }
    for (int k = 0; k < F::sides; ++k) side_[k] = rows.side[k];
  }

  static int threads() { return down_threads; }
  std::int64_t teams() const { return tiles_.teams(); }
  std::size_t scratch_bytes() const { return down_threads * width * sizeof(State); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const DownTile tile = tiles_.locate(parts_, first_team + team.league_rank(), team.team_rank());
    typename F::Sums sums[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) sums[i] = F::start();
    if (tile.active) add_up(tile, sums);
    leave_states<F>(team, tiles_, tile, sums, partials_ + tile.part * columns_ + tile.column, width);
  }

 private:
  static constexpr int width = reduce_down_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = 8 / F::inputs;  ///< rows that are on their way together
  static constexpr int most_sides = F::sides > 0 ? F::sides : 1;
  static_assert(norm_down_rows % batch == 0);

  KOKKOS_FORCEINLINE_FUNCTION void add_up(const DownTile& tile, typename F::Sums (&sums)[width]) const {
    A sides[most_sides][width] = {};
    const T* at[F::inputs];
    std::int64_t step[F::inputs];
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      at[k] = in_device_memory(in_[k]) + tile.run * stride_[k] + tile.column;
      step[k] = tiles_.slots() * stride_[k];
    }
    if (has_planes_) {
      PORTOPS_UNROLL
      for (int i = 0; i < width && F::sides > 0; ++i) {
        const std::int64_t plane = by_plane_.quotient(tile.column + i);
        PORTOPS_UNROLL
        for (int k = 0; k < F::sides; ++k) sides[k][i] = side_[k].get(plane * side_[k].operand.stride[0]);
      }
    } else {
      PORTOPS_UNROLL
      for (int k = 0; k < F::sides; ++k) {
        side_[k].load(sides[k], tile.column * side_[k].operand.column_stride, width);
      }
    }
    int left = tile.runs;
    PORTOPS_NO_UNROLL
    for (; left >= batch; left -= batch) add_rows<batch>(sums, sides, at, step);
    PORTOPS_NO_UNROLL
    for (; left > 0; --left) add_rows<1>(sums, sides, at, step);
  }

  template <int rows>
  KOKKOS_FORCEINLINE_FUNCTION static void add_rows(typename F::Sums (&sums)[width], const A (&sides)[most_sides][width],
                                                   const T* (&at)[F::inputs], const std::int64_t (&step)[F::inputs]) {
    Word<T, width> loaded[rows][F::inputs];
    PORTOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) {
        loaded[r][k] = *reinterpret_cast<const Word<T, width>*>(in_device_memory(at[k]));
        at[k] += step[k];
      }
    }
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      A values[F::inputs][rows], side[most_sides][rows];
      PORTOPS_UNROLL
      for (int r = 0; r < rows; ++r) {
        PORTOPS_UNROLL
        for (int k = 0; k < F::inputs; ++k) values[k][r] = static_cast<A>(loaded[r][k][i]);
        PORTOPS_UNROLL
        for (int k = 0; k < most_sides; ++k) side[k][r] = sides[k][i];
      }
      F().add(sums[i], values, side, rows);
    }
  }

  const T* in_[F::inputs];
  std::int64_t stride_[F::inputs];  ///< from row to row
  Side<T> side_[most_sides];
  RowParts parts_;
  DownTiles tiles_;
  std::int64_t columns_;
  bool has_planes_;
  IndexDivisor by_plane_;
  State* partials_;
};

}  // namespace portops::impl
