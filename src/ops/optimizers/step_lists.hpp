// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/tensor_ref.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

// The lists of an optimizer's step, item by item. Nothing here knows Kokkos.

namespace portops::impl {

/// The most tensors of an item: Adam with master parameters reads four, and writes four.
inline constexpr int max_step_operands = 8;

/// The tensors in one place of the lists. They have the same extents.
struct StepItem {
  int rank = 0;
  std::array<std::int64_t, max_rank> extent{};
  std::array<void*, max_step_operands> data{};
  std::array<std::array<std::int64_t, max_rank>, max_step_operands> stride{};  ///< in elements

  std::int64_t elements() const;
};

/// The items of a step that have elements.
struct StepLists {
  int operands = 0;
  /// Those whose tensors lie alike and without gaps, in whatever order of the axes: an entry for each, the addresses
  /// and the number of elements.
  std::vector<std::int64_t> dense;
  std::vector<StepItem> strided;  ///< all others

  int entry_words() const { return operands + 1; }
  std::int64_t dense_items() const { return static_cast<std::int64_t>(dense.size()) / entry_words(); }
};

/// Of lists of the same lengths and extents, as the schema's checks leave them.
StepLists make_step_lists(std::initializer_list<std::span<const TensorRef>> operands);

}  // namespace portops::impl
