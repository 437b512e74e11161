// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <span>

namespace portops {

struct UpdateLossScaleParams {
  /// What the scale is multiplied by after so many steps without an Inf or a NaN, and after one with some.
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;
  /// What the scale grows to at most; it never becomes less than 2^-24.
  double largest = 32768.0;
};

/// How the scale that a loss is multiplied by follows what came of the gradients, beside the step that they are for:
///
///   skip       = Σ nonfinite[i]
///   grad_scale = scale
///   scale_out, good_steps_out = max(scale · backoff_factor, 2^-24), 0    where skip ≠ 0
///                             = min(scale · growth_factor, largest), 0   where good_steps + 1 ≥ growth_interval
///                             = scale, good_steps + 1                    else
///
/// scale            a tensor of f64, f32, f16 or bf16 and of extents []: the scale that the gradients have.
/// good_steps       of i64 and extents []: the steps since the scale was changed.
/// nonfinite        one to eight tensors of i64 and extents []: what count_nonfinite gave, such as of a list for each
///                  element type.
/// scale_out        like scale; may be the same tensor as scale (in place).
/// good_steps_out   like good_steps; may be the same tensor as good_steps (in place).
/// grad_scale       like scale; skip like good_steps: what the steps of optimizers take. Empty, they are not wanted.
///
/// All is read when the kernel runs. 2^-24 is the least positive number of f16.
///
/// Throws portops::Error, before anything is enqueued, when an attribute is out of its range (growth_factor at least 1,
/// backoff_factor above 0 and below 1, growth_interval at least 1, largest above 0; all of them finite, largest in the
/// element type of scale), extents or element types are others, there are more than eight tensors, a tensor is empty
/// (not given) or lies where the context's backend cannot reach it, an output is read-only, or overlaps another tensor
/// other than as said above.
///
/// Semantics: PyTorch's gradient scaler, but for the bounds.
PORTOPS_EXPORT void update_loss_scale(const Context& ctx, const TensorRef& scale, const TensorRef& good_steps,
                                      std::span<const TensorRef> nonfinite, const TensorRef& scale_out,
                                      const TensorRef& good_steps_out, const TensorRef& grad_scale,
                                      const TensorRef& skip, const UpdateLossScaleParams& params = {});

}  // namespace portops
