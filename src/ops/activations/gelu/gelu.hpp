// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <string>

namespace portops {

/// The options of gelu and gelu_grad.
struct GeluParams {
  /// none or tanh.
  std::string approximate = "none";
};

/// The Gaussian error linear unit, element by element:
///
///   out = x · Φ(x)                                      for approximate none
///   out = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))   for approximate tanh
///
/// x      of any extents, with any strides.
/// out    has the extents of x; may be the same tensor as x (in place).
///
/// Φ is the integral of the normal distribution from −∞ to x. For approximate none f64 and f32 are right within 6 units
/// in the last place, in the tail of negative x too. For tanh they are within 4 + 3|z| units, where z = √(8/π) · (x +
/// 0.044715 x³), as the result is x / (1 + e^−z). The 16-bit types are within 0.55 units. x = −Inf gives −0, the limit,
/// where PyTorch has NaN.
///
/// All tensors have one element type: f64, f32, f16 or bf16. The 16-bit types compute in f32 and round once. The result
/// has the same bits on every backend (NaN payloads apart). Tensors without elements are valid, and nothing is enqueued
/// for them.
///
/// Throws portops::Error, before anything is enqueued, when approximate is none of these, `out` has other extents,
/// element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, `out` is
/// read-only, has two elements at one address, or overlaps x other than as said above.
///
/// Semantics: PyTorch's `gelu`; Paddle's, where `approximate` is a boolean.
PORTOPS_EXPORT void gelu(const Context& ctx, const TensorRef& x, const TensorRef& out, const GeluParams& params = {});

/// The gradient of gelu:
///
///   x_grad = out_grad · (Φ(x) + x · φ(x))                  for approximate none
///   x_grad = out_grad · (σ(z) + x · z′ · σ(z) · σ(−z))     for approximate tanh
///
///     φ(x) = e^(−x²/2) / √(2π),   σ(z) = 1 / (1 + e^−z)
///
/// x          as in gelu.
/// out_grad   has the extents of x.
/// x_grad     has the extents of x; may be the same tensor as out_grad; empty, it is not wanted, and costs nothing.
///
/// The factor of out_grad is right within 8 units in the last place of the sum of its terms' magnitudes, for
/// approximate tanh within 6 + 3|z|. It is −0 for x = −Inf, and 1 for Inf.
///
/// Throws portops::Error as gelu does.
///
/// Semantics: Paddle's `gelu_grad`, PyTorch's `gelu_backward`.
PORTOPS_EXPORT void gelu_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad,
                              const TensorRef& x_grad, const GeluParams& params = {});

}  // namespace portops
