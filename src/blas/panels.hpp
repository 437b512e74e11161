// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/cascade.hpp"
#include "core/lanes/pack.hpp"
#include "core/lanes/turn_words.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

// The tile product of hosts. Blocks of the operands are converted to what they are computed in and packed in the order
// in which the innermost loop reads them, so that all element types and layouts share that loop.

namespace portops::blas {

/// The sizes of the blocks. An inner product is added up in chains of at most `chain`, alike in a slice of `depth`, and
/// the slices' sums by a tree (TileSums): the sizes of tiles and panels, and so the number of threads, change nothing
/// in it.
template <class A>
struct Blocks {
#if defined(__AVX512F__)
  static constexpr int vector_bytes = 64;
  static constexpr int panel_rows = 12;
#elif defined(__AVX__)
  static constexpr int vector_bytes = 32;
  static constexpr int panel_rows = 6;
#else
  static constexpr int vector_bytes = 16;
  static constexpr int panel_rows = 6;
#endif
  // What a panel of rows times a panel of columns gives fills most vector registers of the processor.
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(A));
  static constexpr int vectors = 2;
  static constexpr int panel_columns = vectors * lanes;
  // The same of a panel of vectors times single numbers (multiply_points).
#if defined(__AVX512F__)
  static constexpr int point_vectors = 4;
#else
  static constexpr int point_vectors = 2;
#endif
  static constexpr int points = 6;
  // What a tile needs stays in a core's second-level cache, and is packed seldom compared with how often it is used.
  static constexpr int tile_rows = 96;
  static constexpr int tile_columns = 128;
  static constexpr int depth = 256;
  /// Longer chains of additions would drift; shorter ones would not leave registers alone for long enough. Windows of 3
  /// by 3 have 99 elements in 11 channels.
  static constexpr int chain = 99;
  static_assert(tile_rows % panel_rows == 0 && tile_columns % panel_columns == 0);

  typedef A Vector __attribute__((vector_size(vector_bytes)));  // NOLINT: an alias cannot take the attribute
};

/// The sums of a tile over the slices of an inner axis, in memory of the caller's. Each level has `size` numbers, of
/// which `used` are more than padding.
template <class A>
class TileSums {
 public:
  static std::int64_t elements(std::int64_t size, std::int64_t slices) { return size * impl::Cascade::levels(slices); }

  TileSums(A* memory, std::int64_t size, std::int64_t used) : memory_(memory), size_(size), used_(used) {}

  /// Calls multiply(sums, first) for the next slice, whose products are added to the sums or, the first ones, become
  /// them.
  template <class Multiply>
  void add_slice(const Multiply& multiply) {
    multiply(memory_, impl::Cascade::begins(slices_));
    impl::Cascade::carry(++slices_, Add{*this});
  }

  /// The sums over all slices, one at least.
  A* finish() { return memory_ + impl::Cascade::finish(slices_, Add{*this}) * size_; }

 private:
  struct Add {
    const TileSums& tile;
    void operator()(int level, int to, bool first) const {
      const A* const from = tile.memory_ + level * tile.size_;
      A* const sums = tile.memory_ + to * tile.size_;
      for (std::int64_t i = 0; i < tile.used_; ++i) sums[i] = first ? from[i] : sums[i] + from[i];
    }
  };

  A* memory_;
  std::int64_t size_;
  std::int64_t used_;
  std::int64_t slices_ = 0;
};

/// Converts `count` neighbours, from the type of the elements to the one that they are computed in or back.
template <class To, class From>
void convert_run(To* to, const From* from, int count) {
  int i = 0;
  if constexpr (std::is_same_v<To, f16> || std::is_same_v<From, f16>) {
    constexpr int width = impl::host::f16_conversion_width;
    for (; i + width <= count; i += width) impl::host::convert(to + i, from + i);
  }
  for (; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

/// Packs `lines` rows of op(a), or columns of op(b), into panels of `width` lines each: panel[depth][width], the last
/// one filled up with zeros. Either the elements of a line are neighbours in memory, the lines `stride` apart, or the
/// other way round.
template <int width, class T>
void pack_panels(impl::Arithmetic<T>* panels, const T* from, std::int64_t stride, bool line_is_run, int lines,
                 int depth) {
  using A = impl::Arithmetic<T>;
  using Sizes = Blocks<A>;
  A run[std::max({Sizes::tile_rows, Sizes::tile_columns, Sizes::depth})];
  const int padded_lines = (lines + width - 1) / width * width;
  if (line_is_run) {
    const auto place = [&](int line) { return panels + (line / width * depth) * width + line % width; };
    int line = 0;
    if constexpr (std::is_same_v<T, A> && width % impl::host::turned_side<A> == 0) {
      constexpr int side = impl::host::turned_side<A>;
      for (; depth >= side && line + side <= lines; line += side) {
        for (int k = 0; k < depth; k += side) {
          const int at = std::min(k, depth - side);
          impl::host::turn(place(line) + at * width, width, from + line * stride + at, stride);
        }
      }
    }
    for (; line < padded_lines; ++line) {
      if (line < lines) {
        convert_run(run, from + line * stride, depth);
      } else {
        std::fill(run, run + depth, A(0));
      }
      A* const to = place(line);
      for (int k = 0; k < depth; ++k) to[k * width] = run[k];
    }
  } else {
    for (int k = 0; k < depth; ++k) {
      convert_run(run, from + k * stride, lines);
      std::fill(run + lines, run + padded_lines, A(0));
      for (int line = 0; line < padded_lines; line += width) {
        std::memcpy(panels + (line * depth + k * width), run + line, width * sizeof(A));
      }
    }
  }
}

/// sums = or += the product of the first `rows` rows of a panel, or of some more, and a panel of columns; `sums` has
/// rows of tile_columns. A is float or double. Multiplying and adding is one operation where the processor has one.
template <class A>
void multiply_panels(A* sums, const A* a, int rows, const A* b, int depth, bool first);

/// A matrix whose rows lie anywhere: row k begins at data + place[k].
template <class A>
struct PlacedRows {
  const A* data;
  const std::int32_t* place;
};

/// The same with the first `rows` rows of a panel, and the first `columns` columns of rows that lie anywhere; of both
/// it may read and write a whole panel. `sums` has rows of `stride`.
template <class A>
void multiply_placed(A* sums, std::int64_t stride, const A* a, int rows, const PlacedRows<A>& b, int columns, int depth,
                     bool first);

/// So many vectors whose elements lie anywhere, and their places in a product: element k of vector p lies at
/// data + point[p] + place[k], and is multiplied by row[k] of a panel; the products are added to row sum[p] of sums.
template <class A>
struct Points {
  const A* data;
  const std::int32_t* point;
  const std::int32_t* sum;
  int count;
  const std::int32_t* place;
  const std::int32_t* row;
};

/// A panel whose rows are so many vectors of Blocks::lanes, at most Blocks::point_vectors.
template <class A>
struct VectorPanel {
  const A* data;
  int vectors;
  const A* next = nullptr;  ///< the panel that is multiplied after this one, if it is known
};

/// sums[sum[p]][j] = or += Σ points[p][k] · panel[row[k]][j] over k < depth, for all points. `sums` has rows of
/// `stride`.
template <class A>
void multiply_points(A* sums, std::int64_t stride, const Points<A>& points, const VectorPanel<A>& panel, int depth,
                     bool first);

/// What multiply_lanes() takes at most.
template <class A>
inline constexpr int most_lanes = 4 * Blocks<A>::lanes;

/// Rows whose first `lanes` elements are multiplied one by one, so far apart, and vectors at places, of which the p-th
/// set lies p · step elements behind the first one.
template <class A>
struct LaneRows {
  const A* data;
  std::int64_t stride;
};
template <class A>
struct LanePoints {
  PlacedRows<A> first;
  std::int64_t step;
  int count;
};

/// sums[p · sums_stride + i] += Σ rows[k][i] · points[p][k][i] over k < depth, for i < lanes, or up to the next
/// multiple of Blocks::lanes, and all points. With a `start` it becomes start[i] and that sum instead.
template <class A>
void multiply_lanes(A* sums, std::int64_t sums_stride, const LaneRows<A>& rows, const LanePoints<A>& points, int lanes,
                    int depth, const A* start = nullptr);

}  // namespace portops::blas
