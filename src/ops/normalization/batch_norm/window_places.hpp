// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/program_call.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/types/tensor_ref.hpp"

#include <cstdint>
#include <type_traits>

// Where a GPU's threads work on images whose maxima a program takes (WindowMaxima): they lie with their channels last,
// in packs that are read at once, and 31 bits count everything.

namespace portops::impl {

/// A pack of the channels of a pixel, a window or a cell of an image.
struct PackPlace {
  int image;
  int row;
  int column;
  int pack;
};

/// So many packs of channels in each of rows × columns places of every image.
class PackPlaces {
 public:
  PackPlaces(int rows, int columns, int packs)
      : rows_(divisor(rows)), columns_(divisor(columns)), packs_(divisor(packs)) {}

  KOKKOS_FORCEINLINE_FUNCTION PackPlace at(std::int64_t item) const {
    const std::uint32_t place = packs_.quotient(static_cast<std::uint32_t>(item)), line = columns_.quotient(place);
    const std::uint32_t image = rows_.quotient(line);
    return {static_cast<int>(image), static_cast<int>(line - image * rows_.value()),
            static_cast<int>(place - line * columns_.value()),
            static_cast<int>(static_cast<std::uint32_t>(item) - place * packs_.value())};
  }

 private:
  static Divisor divisor(int value) { return Divisor(static_cast<std::uint32_t>(value)); }

  Divisor rows_, columns_, packs_;
};

/// Which pixel of its window the maximum of each channel of a pack is, counted row by row.
template <int width>
class TapPack {
 public:
  KOKKOS_FORCEINLINE_FUNCTION int operator[](int i) const { return static_cast<int>(bits_ >> (8 * i) & 0xff); }
  /// Each once.
  KOKKOS_FORCEINLINE_FUNCTION void set(int i, int tap) {
    bits_ |= static_cast<Bits>(static_cast<Bits>(tap) << (8 * i));
  }

 private:
  using Bits = std::conditional_t<width == 8, std::uint64_t, std::uint32_t>;
  static_assert(sizeof(Bits) == width);

  Bits bits_ = 0;
};

/// Images as such packs, of `width` channels.
template <class Pack, int width>
class PackedImages {
 public:
  /// Of the extents of `image`.
  PackedImages(void* data, const TensorRef& image)
      : data_(static_cast<Pack*>(data)),
        rows_(static_cast<int>(image.extent(2))),
        columns_(static_cast<int>(image.extent(3))),
        packs_(static_cast<int>(image.extent(1)) / width),
        all_(image.size() / width) {}
  explicit PackedImages(const TensorRef& image) : PackedImages(image.data(), image) {}

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int packs() const { return packs_; }
  /// Of all images.
  std::int64_t size() const { return all_; }
  PackPlaces places() const { return {rows_, columns_, packs_}; }

  KOKKOS_FORCEINLINE_FUNCTION bool has(int row, int column) const {
    return row >= 0 && row < rows_ && column >= 0 && column < columns_;
  }
  /// The pack of the place's image and channels that is there.
  KOKKOS_FORCEINLINE_FUNCTION Pack& at(const PackPlace& place, int row, int column) const {
    return *in_device_memory(data_ + ((place.image * rows_ + row) * columns_ + column) * packs_ + place.pack);
  }
  /// The same, or one at the edge where there is none: for reads that are not to wait for a branch.
  KOKKOS_FORCEINLINE_FUNCTION const Pack& near(const PackPlace& place, int row, int column) const {
    return at(place, inside(row, rows_), inside(column, columns_));
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static int inside(int index, int extent) {
    return index < 0 ? 0 : index < extent ? index : extent - 1;
  }

  Pack* data_;
  int rows_;
  int columns_;
  int packs_;
  std::int64_t all_;
};

/// What the kernels read and write of WindowMaxima.
template <class T, int width>
struct PackedMaxima {
  explicit PackedMaxima(const WindowMaxima& maxima) : values(maxima.values), taps(maxima.taps, maxima.values) {}

  PackedImages<Word<T, width>, width> values;
  PackedImages<TapPack<width>, width> taps;
};

}  // namespace portops::impl
