// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/maximum.hpp"
#include "ops/normalization/batch_norm/window_places.hpp"
#include "ops/normalization/norm_functions.hpp"
#include "ops/normalization/norm_rows.hpp"

namespace portops::impl {

/// The maximum of what the pixels of a window are normalised to, rounded to T before they are compared, and which one
/// it was, on a GPU: a thread takes a pack of channels of a window. From the end on: what the statistics have read last
/// is still in a cache.
template <class T, int side>
class NormalizeMaxima {
 public:
  using A = Arithmetic<T>;
  using Map = Normalize<A>;
  static constexpr int width = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int blocks = 2;

  /// `with_relu`: what relu makes of the maxima.
  NormalizeMaxima(const NormRows<T, Map>& rows, const TensorRef& x, const WindowMaxima& maxima, bool with_relu)
      : x_(x),
        maxima_(maxima),
        windows_(maxima_.values.places()),
        items_(maxima_.values.size()),
        writes_taps_(maxima.taps != nullptr),
        lowest_(with_relu ? A(0) : no_maximum<A>) {
    for (int k = 0; k < Map::sides; ++k) side_[k] = rows.side[k];
  }

  std::int64_t items() const { return items_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const PackPlace window = windows_.at(items_ - 1 - item);
    const int row = 2 * window.row - before, column = 2 * window.column - before;
    Word<T, width> pixel[side * side];
    PORTOPS_UNROLL
    for (int tap = 0; tap < side * side; ++tap) {
      const int its_row = row + tap / side, its_column = column + tap % side;
      if (x_.has(its_row, its_column)) pixel[tap] = x_.at(window, its_row, its_column);
    }
    A sides[Map::sides][width];
    PORTOPS_UNROLL
    for (int k = 0; k < Map::sides; ++k) {
      side_[k].load(sides[k], window.pack * width * side_[k].operand.column_stride, width);
    }
    // Where nothing is larger than −∞, the first pixel in the image.
    const int first = (row < 0 ? side : 0) + (column < 0 ? 1 : 0);
    Word<T, width> maxima;
    TapPack<width> taps;
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      A maximum = no_maximum<A>;
      int its = first;
      PORTOPS_UNROLL
      for (int tap = 0; tap < side * side; ++tap) {
        const A value[] = {static_cast<A>(pixel[tap][i])};
        const A side_of[] = {sides[0][i], sides[1][i], sides[2][i], sides[3][i]};
        const A normal = static_cast<A>(static_cast<T>(Map()(value, side_of)));
        if (x_.has(row + tap / side, column + tap % side) && is_larger(normal, maximum)) maximum = normal, its = tap;
      }
      maxima.set(i, static_cast<T>(maximum < lowest_ ? lowest_ : maximum));
      taps.set(i, its);
    }
    maxima_.values.at(window, window.row, window.column) = maxima;
    if (writes_taps_) maxima_.taps.at(window, window.row, window.column) = taps;
  }

 private:
  static constexpr int before = side - 2;

  PackedImages<Word<T, width>, width> x_;
  PackedMaxima<T, width> maxima_;
  PackPlaces windows_;
  std::int64_t items_;
  bool writes_taps_;
  A lowest_;
  Side<T> side_[Map::sides];  ///< mean, inv_std, weight, bias
};

}  // namespace portops::impl
