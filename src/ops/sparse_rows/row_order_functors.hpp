// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "ops/sparse_rows/row_order.hpp"

#include <bit>

// What the ways of ordering rows share.

namespace portops::impl {

/// The places of a call's rows.
struct PlacesOfRows {
  explicit PlacesOfRows(const SparseRows& sparse)
      : given(sparse.places),
        axes(sparse.axes),
        n(sparse.n),
        height(sparse.height),
        padding(sparse.padding),
        outside(sparse.outside),
        count(sparse.count) {}

  const std::int64_t* given;
  RowAxes axes;
  std::int64_t n;
  std::int64_t height;
  std::int64_t padding;
  std::int64_t outside;
  const std::int64_t* count;

  /// Where row i has its place, and where it lies.
  struct At {
    std::int64_t place = 0, row = 0;
  };
  KOKKOS_FORCEINLINE_FUNCTION At locate(std::int64_t i) const {
    At at;
    axes.locate(i, at.place, at.row);
    return at;
  }

  /// The place of row i, the height where that is the padding, or `outside` where the table does not have it.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place_of(std::int64_t i, const At& at) const {
    return i < end() ? counted_as(given[at.place]) : outside;
  }

  /// The rows that are merged, or all.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t end() const {
    return count != nullptr && *count >= 0 && *count < n ? *count : n;
  }
  /// What place_of() makes of a given place.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t counted_as(std::int64_t place) const {
    return place < 0 || place >= height ? outside : place == padding ? height : place;
  }
};

/// places[i] = the place of row i, which it returns; positions[i] = where the row lies, which is i along one axis.
template <class Index>
struct ReadPlaces {
  PlacesOfRows rows;
  Index* places;
  Index* positions;

  KOKKOS_FUNCTION Index operator()(std::int64_t i) const {
    const PlacesOfRows::At at = rows.locate(i);
    const auto place = static_cast<Index>(rows.place_of(i, at));
    places[i] = place;
    if (positions != nullptr) positions[i] = static_cast<Index>(at.row);
    return place;
  }
};

/// Whether sorted row i is the first of its place; a row without a place never is.
template <class Index>
struct IsFirst {
  const Index* places;
  Index height;
  std::int64_t n;

  KOKKOS_FUNCTION Index operator()(std::int64_t i) const {
    if (i >= n) return 0;
    const Index place = places[i];
    return place < height && (i == 0 || places[i - 1] != place) ? Index{1} : Index{0};
  }
};

/// The last step of number_places, for i ≤ n: numbers[i] is how many places occur up to row i, numbers[n] how many at
/// all.
template <class Index>
struct WriteNumbers {
  IsFirst<Index> is_first;
  Index outside;
  const Index* positions;
  Index* numbers;
  NumberedPlaces out;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t n = is_first.n;
    const Index height = is_first.height;
    const Index* const places = is_first.places;
    if (i == n) {
      if (n == 0 || places[n - 1] != outside) *out.count = n == 0 ? 0 : static_cast<std::int64_t>(numbers[n]);
      return;
    }
    const Index place = places[i];
    const auto total = static_cast<std::int64_t>(numbers[n]);
    if (i >= total) out.places[i * out.places_stride] = static_cast<std::int64_t>(height);
    if (place >= height) {
      const bool is_first_outside = place == outside && (i == 0 || places[i - 1] != outside);
      if (is_first_outside) *out.count = -1 - static_cast<std::int64_t>(positions[i]);
      numbers[i] = none_of<Index>;
    } else {
      const Index number = numbers[i] - 1;
      if (is_first(i) != 0) out.places[static_cast<std::int64_t>(number) * out.places_stride] = place;
      numbers[i] = number;
    }
  }
};

/// The bits of places, that of rows without one included.
inline int bits_of_places(const SparseRows& sparse) {
  return std::max(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(sparse.outside))), 1);
}

template <Backend B, class Index>
void read_places(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse, Index* places,
                 Index* positions) {
  launch_items<B, 0>(ctx, labels.places, ReadPlaces<Index>{PlacesOfRows(sparse), places, positions}, sparse.n);
}

template <Backend B, class Index>
void write_numbers(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                   const RowOrder<Index>& order, const NumberedPlaces& out) {
  const IsFirst<Index> is_first{order.places, static_cast<Index>(sparse.height), sparse.n};
  const auto outside = static_cast<Index>(sparse.outside);
  launch_items<B, 0>(ctx, labels.write, WriteNumbers<Index>{is_first, outside, order.position, order.numbers, out},
                     sparse.n + 1);
}

}  // namespace portops::impl
