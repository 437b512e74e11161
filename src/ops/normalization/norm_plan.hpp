// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/reduce_plan.hpp"

#include <span>

// How a normalisation is cut into work: reductions of what is normalised together, whose results may lie beside tensors
// of another element type, and maps over all elements.

namespace portops::impl {

/// Elements of each input that a GPU's thread takes in together: 64 bytes of what they are computed in.
PORTOPS_FUNCTION constexpr int norm_values(int element_bytes) { return element_bytes == 8 ? 8 : 16; }
/// Packs that it takes in one after the other at most, before the group is joined; and so for the parts of hosts.
inline constexpr int norm_chain = 32, norm_host_chain = 64;
/// Of rows at equal distances that it walks down, a part has a multiple of so many.
inline constexpr int norm_down_rows = 8;
/// The most threads of a team that share a row.
inline constexpr int norm_most_threads = 256;

/// A tensor as one with the axes of x: its own begin at axis `first`, all others have extent 1.
TensorRef with_axes_of(const TensorRef& tensor, int first, int rank);

/// The loop over x, which is its operand 0, and `others`, which broadcast to it, may be empty, and may have element
/// types of their own.
Loop make_norm_loop(const TensorRef& x, std::span<const TensorRef> others, const AxisSet& reduced);

/// x, or, if it has no elements, a stand-in that has one wherever axes are reduced: it has as many results.
TensorRef without_reduced(const TensorRef& x, const AxisSet& reduced);

/// Packs of each input that a GPU's thread has under way in a reduction along: 128 bytes of all together.
PORTOPS_FUNCTION constexpr int norm_batch(int pack_bytes, int inputs) {
  return (pack_bytes > 4 ? 128 / pack_bytes : 16) / inputs;
}

/// A reduction of the axes that `reduced` names. Where the last one is reduced, the packs of a position along the kept
/// axes are counted through its runs: a part is `part_terms` of them. On a GPU short planes of many images, in which
/// packs would be narrow, are walked down instead: all planes of an image are one row of columns, each of which leaves
/// partial states of its own.
struct NormPlan {
  ReducePlan rows;
  ReducePlan planes;           ///< where planes are walked down: these as columns
  std::int64_t plane = 1;      ///< columns of `planes` that a result has; 1 where they are not walked down
  std::int64_t row_packs = 1;  ///< of a run
  std::int64_t terms = 1;      ///< of a result
  std::int64_t part_terms = 1;
  std::int64_t parts = 1;
  int threads = norm_most_threads;  ///< of a GPU's team

  bool along() const { return rows.direction == Direction::along && plane == 1; }
  /// What a kernel walks over.
  const ReducePlan& walked() const { return plane == 1 ? rows : planes; }
};

/// None of the loop's axes may be without elements. `inputs`: x, and as many operands behind it that are read with it.
NormPlan make_norm_plan(const Loop& loop, int inputs, Backend backend);

/// The same on a GPU, of windows instead of their pixels: rows at equal distances that are reduced, of whole packs of
/// the widest access. A thread has the pixels of several under way, so that half as many teams do; in no more parts
/// than those of the pixels.
NormPlan make_window_norm_plan(const Loop& windows, const Loop& pixels);

/// Whether operands [first, first + count) are the same for all terms of a result.
bool are_steady(const ReducePlan& plan, int first, int count);

/// Whether rows at equal distances are reduced whose columns are kept, in the widest packs of such walks.
bool has_even_rows(const ReducePlan& rows, ElementType type);

/// A map: all axes but the last one are runs of one position.
ReducePlan make_norm_map(const TensorRef& x, std::span<const TensorRef> others);

/// Bytes of the states that the parts of a reduction leave, of so many numbers each.
std::size_t norm_partials(const NormPlan& plan, ElementType type, int numbers);
inline constexpr int numbers_of_moments = 4, numbers_of_gradient = 2;

/// Whether packs of columns of an operand of this element size can be read at once, or the widest accesses in them.
bool has_side_packs(const ReducePlan& plan, int operand, std::size_t element_bytes);

}  // namespace portops::impl
