// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/host_caches.hpp"
#include "core/loop/axes.hpp"
#include "core/types/tensor_ref.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

// The index space of an element-wise operator over broadcast operands, brought into a canonical form, so that few
// kernels serve all shapes. Nothing here knows Kokkos.

namespace portops::impl {

/// The most operands, inputs and outputs together, of one loop.
inline constexpr int max_operands = 8;

/// An operand of a loop: a tensor spread over the loop's axes (stride 0 along those where it is broadcast or, for an
/// output, summed), a number, or an output that is not wanted.
struct LoopOperand {
  std::byte* data = nullptr;  ///< null for a number and for an output that is not wanted
  double number = 0.0;
  std::array<std::int64_t, max_rank> stride{};  ///< in elements
};

/// for each index: outputs = f(inputs), an output's elements being summed along the axes where its stride is 0.
struct Loop {
  ElementType type{};
  int rank = 0;
  std::array<std::int64_t, max_rank> extent{};
  AxisSet reduced{};  ///< axes that a reduction reduces: they are not merged with others
  int inputs = 0;     ///< operands [0, inputs)
  int outputs = 0;    ///< operands [inputs, inputs + outputs)
  std::array<LoopOperand, max_operands> operand{};

  int operands() const { return inputs + outputs; }
  std::int64_t size() const;
  /// Whether the output is wanted and summed along an axis.
  bool sums(int output) const;
};

/// Whether each output is too large for a host's caches to keep it until it is read again.
inline bool writes_much(const Loop& loop) {
  return exceeds_host_caches(loop.size() * static_cast<std::int64_t>(size_of(loop.type)));
}

/// The loop over `extents`, to which all operands broadcast, in canonical form: no axes of extent 1, outputs' strides
/// not negative, axes in the order of the strides (the first output's count first), last axis fastest, neighbours
/// merged into one axis wherever all operands allow it. An output that is given as an empty reference is not wanted.
/// Summed outputs are those with an extent of 1 (or a missing axis) where `extents` has more. Where a reduction's
/// results are spread over what was reduced, `reduced` says which axes that is.
Loop make_loop(ElementType type, const Extents& extents, std::span<const TensorOrNumber* const> inputs,
               std::span<const TensorRef* const> outputs, const AxisSet& reduced = {});

/// The loop over the elements of x, which a reduction joins into those of `out`: this has an extent of 1 (or no axis)
/// where x is reduced, and else the extents of x. In canonical form too, but x comes before `out` wherever strides
/// count, because x is what is walked through.
Loop make_reduction(const TensorRef& x, const TensorRef& out, const AxisSet& reduced);
/// The operands of a reduction, by their places in its loop.
inline constexpr int reduction_x = 0, reduction_out = 1;

}  // namespace portops::impl
