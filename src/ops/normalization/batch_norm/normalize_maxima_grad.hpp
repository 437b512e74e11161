// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/normalization/batch_norm/window_places.hpp"
#include "ops/normalization/norm_functions.hpp"
#include "ops/normalization/norm_rows.hpp"

namespace portops::impl {

/// x_grad of a gradient with respect to maxima, on a GPU: a thread takes a pack of channels of a cell of two by two
/// pixels, which lie in the window of the same place and, where a window has three by three, in those behind. From the
/// end on: what the sums have read last is still in a cache.
template <class T, int side>
class NormalizeMaximaGrad {
 public:
  using A = Arithmetic<T>;
  using Map = ReluNormalizeGrad<A, T>;
  static constexpr int width = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int blocks = 2;

  NormalizeMaximaGrad(const NormRows<T, Map>& rows, const TensorRef& x, const WindowMaxima& maxima, bool behind_relu,
                      const TensorRef& x_grad)
      : x_(x),
        x_grad_(x_grad),
        maxima_(maxima),
        cells_(cell_rows(), cell_columns(), x_.packs()),
        items_(x.extent(0) * cell_rows() * cell_columns() * x_.packs()),
        behind_relu_(behind_relu) {
    for (int k = 0; k < Map::sides; ++k) side_[k] = rows.side[k];
  }

  std::int64_t items() const { return items_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const PackPlace cell = cells_.at(items_ - 1 - item);
    Word<T, width> out_grad[windows][windows], pixel[2][2];
    TapPack<width> taps[windows][windows];
    PORTOPS_UNROLL
    for (int i = 0; i < windows * windows; ++i) {
      const int row = cell.row + i / windows, column = cell.column + i % windows;
      if (!maxima_.values.has(row, column)) continue;
      out_grad[i / windows][i % windows] = maxima_.values.at(cell, row, column);
      taps[i / windows][i % windows] = maxima_.taps.at(cell, row, column);
    }
    PORTOPS_UNROLL
    for (int p = 0; p < 4; ++p) {
      const int row = 2 * cell.row + p / 2, column = 2 * cell.column + p % 2;
      if (x_.has(row, column)) pixel[p / 2][p % 2] = x_.at(cell, row, column);
    }
    A sides[Map::sides][width];
    PORTOPS_UNROLL
    for (int k = 0; k < Map::sides; ++k) {
      side_[k].load(sides[k], cell.pack * width * side_[k].operand.column_stride, width);
    }
    PORTOPS_UNROLL
    for (int p = 0; p < 4; ++p) {
      const int r = p / 2, c = p % 2, row = 2 * cell.row + r, column = 2 * cell.column + c;
      if (!x_.has(row, column)) continue;
      Word<T, width> results;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        // A word that was not read is 0.
        A total = 0;
        PORTOPS_UNROLL
        for (int w = r / 2; w <= (r + before) / 2; ++w) {
          PORTOPS_UNROLL
          for (int v = c / 2; v <= (c + before) / 2; ++v) {
            const int tap = (r + before - 2 * w) * side + c + before - 2 * v;
            total += taps[w][v][i] == tap ? static_cast<A>(out_grad[w][v][i]) : A(0);
          }
        }
        const A x = static_cast<A>(pixel[r][c][i]);
        results.set(i, static_cast<T>(gradient(x, total, sides, i)));
      }
      x_grad_.at(cell, row, column) = results;
    }
  }

 private:
  static constexpr int before = side - 2;
  static constexpr int windows = side - 1;  ///< that a cell has pixels of, down and across

  int cell_rows() const { return (x_.rows() + 1) / 2; }
  int cell_columns() const { return (x_.columns() + 1) / 2; }

  KOKKOS_FORCEINLINE_FUNCTION A gradient(A x, A out_grad, const A (&sides)[Map::sides][width], int i) const {
    const A side_of[] = {sides[0][i], sides[1][i], sides[2][i], sides[3][i], sides[4][i], sides[5][i]};
    const A normal = (x - side_of[side_mean]) * side_of[side_inv_std];
    const A passed = behind_relu_ ? passed_by_relu<A, T>(out_grad, normal, side_of[side_weight], side_of[3]) : out_grad;
    return Map::of_passed(passed, normal, side_of);
  }

  PackedImages<Word<T, width>, width> x_, x_grad_;
  PackedMaxima<T, width> maxima_;
  PackPlaces cells_;
  std::int64_t items_;
  bool behind_relu_;
  Side<T> side_[Map::sides];  ///< mean, inv_std, weight, bias, and the means
};

}  // namespace portops::impl
