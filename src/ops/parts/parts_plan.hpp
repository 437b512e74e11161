// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// A tensor and the parts that it consists of along one of its axes, brought into a canonical form: what concat and
// split, and their gradients, move. Nothing here knows Kokkos.

namespace portops::impl {

enum class PartsDirection : std::uint8_t { to_whole, to_parts };

/// The axes are in the order of the strides of what is written: the outer ones, the axis along which the parts follow
/// each other, the inner ones; neighbours merged wherever all tensors allow it. Where `contiguous`, a part's elements
/// at one position along the outer axes lie side by side, in the whole as in the part: there are no inner axes, and
/// lengths count words, which are as wide as all addresses, lengths and strides allow.
struct PartsPlan {
  PartsDirection direction = PartsDirection::to_whole;
  bool contiguous = false;
  int word = 0;  ///< bytes that are moved at once: those of an element, or of several
  int outer_axes = 0;
  int inner_axes = 0;
  std::array<std::int64_t, max_rank> extent{};  ///< of the outer axes, then of the inner ones
  std::byte* whole = nullptr;
  std::array<std::int64_t, max_rank> stride{};  ///< of the whole, in words: outer axes, inner axes, the axis itself
  /// An entry for each part that has elements: its address (0: a part that is not wanted), its length along the axis,
  /// its strides in the same order; without that of the axis, which is 1, where `contiguous`.
  std::vector<std::int64_t> entries;

  int strides() const { return outer_axes + (contiguous ? 0 : inner_axes + 1); }
  int entry_words() const { return 2 + strides(); }
  std::int64_t parts() const { return static_cast<std::int64_t>(entries.size()) / entry_words(); }
  const std::int64_t* entry(std::int64_t part) const { return entries.data() + part * entry_words(); }
  std::int64_t rows() const;   ///< positions along the outer axes
  std::int64_t inner() const;  ///< positions along the inner axes
  std::int64_t axis_stride() const { return contiguous ? 1 : stride[static_cast<std::size_t>(strides() - 1)]; }
};

/// `lengths` are those of the parts along the axis; a part that is not wanted is empty. The whole has elements.
PartsPlan make_parts_plan(const TensorRef& whole, std::span<const TensorRef> parts,
                          std::span<const std::int64_t> lengths, int axis, PartsDirection direction, Backend backend);

}  // namespace portops::impl
