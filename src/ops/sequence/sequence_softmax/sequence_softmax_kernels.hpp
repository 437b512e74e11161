// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/memory_layout.hpp"
#include "ops/sequence/pieces.hpp"
#include "ops/sequence/step_layout.hpp"

namespace portops::impl {

/// One output from one or two inputs of the same rows.
struct StepSoftmax {
  const PiecePlan& plan;
  const StepColumns& columns;
  StepStrides in[2];
  StepStrides out;
};

/// The temporary memory: what the pieces of long sequences add up to, and then these sequences.
struct SoftmaxMemory {
  std::size_t joined_at = 0;  ///< bytes
  std::size_t bytes = 0;
};

/// `state` is the bytes of what the column of a piece adds up to: two numbers, or one in the gradient.
inline SoftmaxMemory softmax_memory(const StepSoftmax& softmax, std::size_t state) {
  MemoryLayout layout;
  layout.add_bytes(static_cast<std::size_t>(softmax.plan.partials * softmax.columns.columns) * state);
  const std::size_t joined_at =
      layout.add_bytes(static_cast<std::size_t>(softmax.plan.joins.size() * softmax.columns.columns) * state);
  return {joined_at, layout.bytes()};
}

/// The launches of sequence_softmax on one backend for one element type.
template <Backend B, class T>
struct SequenceSoftmaxKernels {
  /// in: x.
  static void softmax(const Context& ctx, const StepSoftmax& softmax);
  /// in: out, out_grad.
  static void softmax_grad(const Context& ctx, const StepSoftmax& softmax);
};

}  // namespace portops::impl
