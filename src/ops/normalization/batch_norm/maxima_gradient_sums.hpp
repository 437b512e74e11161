// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "ops/normalization/batch_norm/window_places.hpp"
#include "ops/normalization/norm_functions.hpp"
#include "ops/normalization/norm_reduce.hpp"

namespace portops::impl {

/// Of a gradient with respect to maxima, Σ g and Σ g · x̂, where g is that of a window, as relu passes it if the maxima
/// went through it, and x̂ its largest pixel, on a GPU: the tiles of a reduction of the windows, in which a thread keeps
/// to a pack of channels, as in NormReduceColumns, and has more of them under way.
template <Backend B, class T, int side>
class MaximaGradientSums {
 public:
  using A = Arithmetic<T>;
  using F = GradientSumsOf<A>;
  using Sides = Normalize<A>;  ///< mean, inv_std, weight, bias
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 2;

  MaximaGradientSums(const NormRows<T, Sides>& rows, const NormPlan& plan, const TensorRef& x,
                     const WindowMaxima& maxima, bool behind_relu, State* partials)
      : x_(x),
        maxima_(maxima),
        windows_(maxima_.values.rows(), maxima_.values.columns(), 1),
        parts_(plan.rows),
        tiles_(plan.rows),
        channels_(plan.rows.columns),
        behind_relu_(behind_relu),
        partials_(partials) {
    for (int k = 0; k < Sides::sides; ++k) side_[k] = rows.side[k];
  }

  static int threads() { return down_threads; }
  std::int64_t teams() const { return tiles_.teams(); }
  std::size_t scratch_bytes() const { return down_threads * width * sizeof(State); }
  std::int64_t first_team = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const DownTile tile = tiles_.locate(parts_, first_team + team.league_rank(), team.team_rank());
    State sums[width];
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) sums[i] = F::start();
    if (tile.active) add_up(tile, sums);
    leave_states<F>(team, tiles_, tile, sums, partials_ + tile.part * channels_ + tile.column, width);
  }

 private:
  static constexpr int width = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int before = side - 2, pixels = side * side;
  static constexpr int batch = side == 3 ? 1 : sizeof(T) == 2 ? 2 : 4;  ///< windows that are on their way together

  KOKKOS_FORCEINLINE_FUNCTION void add_up(const DownTile& tile, State (&sums)[width]) const {
    A sides[Sides::sides][width];
    PORTOPS_UNROLL
    for (int k = 0; k < Sides::sides; ++k) side_[k].load(sides[k], tile.column * side_[k].operand.column_stride, width);
    const int pack = static_cast<int>(tile.column) / width;
    PORTOPS_NO_UNROLL
    for (int first = 0; first < tile.runs; first += batch) {
      Word<T, width> out_grad[batch], pixel[batch][pixels];
      TapPack<width> taps[batch];
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int run = first + b < tile.runs ? first + b : first;
        PackPlace at = windows_.at(tile.run + std::int64_t{run} * tiles_.slots());
        at.pack = pack;
        out_grad[b] = maxima_.values.at(at, at.row, at.column);
        taps[b] = maxima_.taps.at(at, at.row, at.column);
        PORTOPS_UNROLL
        for (int tap = 0; tap < pixels; ++tap) {
          pixel[b][tap] = x_.near(at, 2 * at.row - before + tap / side, 2 * at.column - before + tap % side);
        }
      }
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        if (first + b < tile.runs) add(out_grad[b], pixel[b], taps[b], sides, sums);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void add(const Word<T, width>& out_grad, const Word<T, width> (&pixel)[pixels],
                                       const TapPack<width>& taps, const A (&sides)[Sides::sides][width],
                                       State (&sums)[width]) const {
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      A x = 0;
      PORTOPS_UNROLL
      for (int tap = 0; tap < pixels; ++tap) {
        const A candidate = static_cast<A>(pixel[tap][i]);
        x = taps[i] == tap ? candidate : x;
      }
      const A normal = (x - sides[side_mean][i]) * sides[side_inv_std][i];
      const A given = static_cast<A>(out_grad[i]);
      const A passed = behind_relu_ ? passed_by_relu<A, T>(given, normal, sides[side_weight][i], sides[3][i]) : given;
      sums[i].sum += passed;
      sums[i].product += passed * normal;
    }
  }

  PackedImages<Word<T, width>, width> x_;
  PackedMaxima<T, width> maxima_;
  PackPlaces windows_;
  Side<T> side_[Sides::sides];
  RowParts parts_;
  DownTiles tiles_;
  std::int64_t channels_;
  bool behind_relu_;
  State* partials_;
};

}  // namespace portops::impl
