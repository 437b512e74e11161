// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "common/npy.hpp"
#include "common/output_file.hpp"

#include <portops/core/context.hpp>
#include <portops/core/element_type.hpp>
#include <portops/core/tensor.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

// Gradients are clipped by their global norm: where the norm of all of them together is larger than max_norm, every
// element is multiplied by max_norm / norm. Three calls do it, enqueued one behind the other: the norm stays on the
// device, and the host never waits for it.
//
//   p_norm(gradients) -> norm                              of order porder
//   p_norm([norm, max_norm]) -> bound                      of order inf: the larger of the two
//   p_norm_grad(gradients, bound, max_norm) -> gradients   of order 2 with epsilon 0, in place
//
// The gradients lie in one flat buffer, so that the first call is one pass over all of them, and so is the last. A
// p_norm_grad of order 2 gives x_grad = x / out · out_grad, whatever `out` and `out_grad` hold: with the bound and
// max_norm in their places it scales by max_norm / bound.
//
// Gradients whose norm is at most max_norm are scaled by max_norm / max_norm. What is computed is
// x · (1 / max_norm) · max_norm, in f64 for f64 and in f32 for all others, and each step rounds: in f64 and f32 an
// element may change by up to two units in the last place. It stays what it was where max_norm is a power of two, such
// as 1, and in f16 and bf16, where the one rounding at the end gives x again. (Elements so small that x / max_norm is
// no normal number may lose more.)
//
// The norm, max_norm and the bound have the gradients' element type and are rounded to it: what is clipped has a norm
// of max_norm within the precision of that type. A norm too large for it is Inf. Finite gradients become 0 then, and an
// Inf among them becomes NaN; a NaN among them makes them all NaN.

namespace portops::apps {

/// Gradients that lie one behind the other in one buffer, as data-parallel training keeps them in buckets.
struct Gradients {
  struct Part {
    std::string name;
    Extents extents;
    std::int64_t start = 0;  ///< where in `flat` its elements begin
  };

  std::vector<Part> parts;
  Tensor flat;  ///< the elements of all parts, of rank 1

  /// A part where it lies, its last axis fastest.
  TensorRef ref(const Part& part) const;
};

/// Reads the elements of the files, each rounded to `type` once, into host memory.
Gradients read_gradients(std::vector<NpyFile>& files, ElementType type);

/// Writes one file a part. The gradients lie in host memory.
void write_gradients(const Gradients& gradients, std::deque<OutputFile>& files);

/// Random gradients, always the same ones, of the weights of a small transformer, in host memory. Those of one weight
/// are ten times as large as the others.
Gradients example_gradients(ElementType type);

struct ClipOptions {
  double max_norm = 1.0;  ///< positive and finite, in the gradients' element type too
  double porder = 2.0;
  int repeats = 100;
};

struct ClipResult {
  std::vector<double> norms_before;  ///< of each part and, the last one, of all together
  std::vector<double> norms_after;
  double factor = 1.0;
  double seconds_per_call = 0.0;
  std::int64_t bytes_per_call = 0;  ///< of the gradients: read for the norm, read and written for the scaling
};

/// Clips the gradients, which lie where the context's backend has its tensors, in place. The time is that of `repeats`
/// calls on a copy, enqueued one after the other once everything is warmed up; a call is all three of the above.
ClipResult clip_gradients(const Context& ctx, const Gradients& gradients, const ClipOptions& options);

}  // namespace portops::apps
