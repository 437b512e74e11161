// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>

namespace portops {

/// The options of layer_norm and layer_norm_grad.
struct LayerNormParams {
  /// A factor for each position along the normalised axes; 1 without it.
  TensorRef scale = {};
  /// Added to each position along the normalised axes; 0 without it. Of layer_norm_grad only its element type counts.
  TensorRef bias = {};
  /// Added to the variance. Not negative, finite.
  double epsilon = 1e-5;
  /// The first of the normalised axes, which are it and all behind it; a negative one counts from the last.
  std::int64_t begin_norm_axis = 1;
};

/// Normalises the last axes to mean 0 and variance 1:
///
///   out = (x − mean) · inv_std · scale + bias
///     mean    = Σ x / n                              over the axes from begin_norm_axis on, which have n elements
///     inv_std = 1 / √(Σ (x − mean)² / n + epsilon)
///
/// x         one axis or more, any extents and strides.
/// scale     the extents of the normalised axes (PyTorch's normalized_shape; Paddle's one axis is a view of these).
/// bias      as scale.
/// out       the extents of x; may be the same tensor as x (in place).
/// mean      the extents of the other axes, of f32 (f64 in a call of f64): what the gradient needs.
/// inv_std   as mean.
///
/// x and out have one element type: f64, f32, f16 or bf16; scale and bias have it too, or both are f32 beside 16-bit x.
/// Variances come from the distances to the mean, which keep their digits where the mean is large. The mean is within
/// 2e-7 (f64: 1e-15) of its magnitude and the largest distance from it, and inv_std within 1e-6 (f64: 1e-13). The error
/// of out is within 2e-6 · (|out − bias| + |bias|) + 1.2e-7 · (|mean| · inv_std + 1) · |scale| (f64: 1e-12 and
/// 2.3e-16), and one rounding of the 16-bit types. Squares of distances must not overflow. Sums go by trees of fixed
/// shape: the same bits on every run and for any number of threads, whether the context asks for it or not. Where what
/// is normalised together has a NaN or an Inf, all of it is NaN, and so is its inv_std. Equal elements give bias (NaN
/// where epsilon is 0). Of no elements the mean is 0, and inv_std NaN. Tensors without elements are valid.
///
/// Throws portops::Error, before anything is enqueued, when begin_norm_axis or epsilon is out of range, a tensor has
/// other extents or element types, is empty (not given) or lies where the context's backend cannot reach it, an output
/// is read-only, has two elements at one address, or overlaps anything other than in place. Temporaries: what the parts
/// of rows come to, from the library's pool or the context's workspace; layer_norm_workspace gives their size.
///
/// Semantics: torch.nn.functional.layer_norm, torch.native_layer_norm; Paddle's `layer_norm`, which gives the variance
/// in place of inv_std. (J. L. Ba, J. R. Kiros, G. E. Hinton, Layer Normalization, 2016.)
PORTOPS_EXPORT void layer_norm(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& mean,
                               const TensorRef& inv_std, const LayerNormParams& params = {});

/// The gradients of layer_norm:
///
///   x_grad     = inv_std · (g − Σ g / n − x̂ · Σ g · x̂ / n)   over the normalised axes, g = out_grad · scale
///   scale_grad = Σ out_grad · x̂                               over the other axes, x̂ = (x − mean) · inv_std
///   bias_grad  = Σ out_grad
///
/// mean, inv_std   as layer_norm gave them.
/// out_grad        the extents of x.
/// x_grad          the extents of x; may be the same tensor as out_grad (in place).
/// scale_grad      extents and element type of scale, which must be given.
/// bias_grad       extents and element type of bias, which must be given, but may be TensorRef::without_data.
///
/// Each gradient may be an empty TensorRef, and then costs nothing. The error is within 2e-6 (f64: 1e-12) of the
/// magnitudes summed, and one rounding of the 16-bit types; the same bits on every run and for any number of threads.
///
/// Throws portops::Error, and takes temporaries, as layer_norm does; layer_norm_grad_workspace gives their size.
///
/// Semantics: autograd's of torch.nn.functional.layer_norm; Paddle's `layer_norm_grad`.
PORTOPS_EXPORT void layer_norm_grad(const Context& ctx, const TensorRef& x, const TensorRef& mean,
                                    const TensorRef& inv_std, const TensorRef& out_grad, const TensorRef& x_grad,
                                    const TensorRef& scale_grad, const TensorRef& bias_grad,
                                    const LayerNormParams& params = {});

/// The bytes of workspace that the same call needs. Tensors of the same extents, strides and alignment need the same.
PORTOPS_EXPORT std::size_t layer_norm_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out,
                                                const TensorRef& mean, const TensorRef& inv_std,
                                                const LayerNormParams& params = {});
PORTOPS_EXPORT std::size_t layer_norm_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& mean,
                                                     const TensorRef& inv_std, const TensorRef& out_grad,
                                                     const TensorRef& x_grad, const TensorRef& scale_grad,
                                                     const TensorRef& bias_grad, const LayerNormParams& params = {});

}  // namespace portops
