// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/tensor_ref.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

// The elements of one tensor, in their order, as those of another one of other extents: what a copy between both moves,
// brought into a canonical form. Nothing here knows Kokkos.

namespace portops::impl {

/// Axes of elements or of words, the last one the fastest. Strides are in the same units.
struct StridedAxes {
  int rank = 0;
  std::array<std::int64_t, max_rank> extent{};
  std::array<std::int64_t, max_rank> stride{};

  void add(std::int64_t axis_extent, std::int64_t axis_stride);
};

/// The tensor's axes without those of extent 1, neighbours merged wherever its strides allow.
StridedAxes merged_axes(const TensorRef& tensor);

/// The axes of a tensor of extents `extents` that has the elements of `axes` in their order; false where strides cannot
/// say so. Both have as many elements, one or more.
bool split_axes(const StridedAxes& axes, const Extents& extents, Extents& strides);

/// to = from, word by word. Words are as wide as both sides allow, up to 16 bytes.
struct CopyPlan {
  struct Side {
    std::byte* data = nullptr;
    StridedAxes axes;
  };

  Side from, to;
  std::int64_t size = 0;   ///< words
  int word_bytes = 0;      ///< 2, 4, 8 or 16
  bool same_axes = false;  ///< both sides have the same extents

  /// Whether no word, nor what follows along any axis, is 2^31 or more from the first one of its side, in either
  /// direction, nor their number as large.
  bool is_small() const;
};

/// A copy between tensors of as many elements, one or more.
CopyPlan make_copy_plan(const TensorRef& from, const TensorRef& to);

/// Whether both tensors, of as many elements, have the same ones at the same addresses in the same order.
bool coincide_in_order(const TensorRef& a, const TensorRef& b);

}  // namespace portops::impl
