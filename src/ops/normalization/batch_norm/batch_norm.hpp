// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <string>

namespace portops {

/// The options of batch_norm and batch_norm_grad.
struct BatchNormParams {
  /// A factor for each channel; 1 without it.
  TensorRef scale = {};
  /// Added to each channel; 0 without it. Of batch_norm_grad only its element type counts.
  TensorRef bias = {};
  /// The share of the running statistics that stays: 1 − PyTorch's. Finite.
  double momentum = 0.9;
  /// Added to the variance. Not negative, finite.
  double epsilon = 1e-5;
  /// NCHW: channels are axis 1; NHWC: the last axis; of any rank.
  std::string data_layout = "NCHW";
  /// Whether x is normalised by the running statistics, which then stay as they are.
  bool is_test = false;
};

/// Normalises each channel:
///
///   out           = (x − saved_mean) · saved_inv_std · scale + bias
///   saved_mean    = Σ x / n                                     over the n elements of a channel
///   saved_inv_std = 1 / √(Σ (x − saved_mean)² / n + epsilon)
///   mean_out      = momentum · mean + (1 − momentum) · saved_mean
///   variance_out  = momentum · variance + (1 − momentum) · Σ (x − saved_mean)² / (n − 1)
///
/// and with is_test saved_mean = mean, saved_inv_std = 1 / √(variance + epsilon).
///
/// x               two axes or more, C channels; any extents and strides, channels last too.
/// mean            [C], the running mean; of f32 (f64 in a call of f64), as all statistics.
/// variance        [C], the running variance.
/// scale, bias     [C].
/// out             the extents of x; may be the same tensor as x (in place).
/// saved_mean      [C]: what the gradient needs.
/// saved_inv_std   [C].
/// mean_out        [C]; may be the same tensor as mean. Without is_test alone, and empty where it is not wanted.
/// variance_out    [C]; as mean_out.
///
/// x and out have one element type: f64, f32, f16 or bf16; scale and bias have it too, or both are f32 beside 16-bit x.
/// The errors, the order of sums, NaN and Inf are as in layer_norm, of what a channel has; variance_out is within 2e-6
/// (f64: 1e-12) of its magnitude, mean_out within (1 − momentum) times the error of saved_mean and four roundings of
/// |momentum · mean| + |(1 − momentum) · saved_mean|. With is_test the mean is exact, and out within 2e-6 · (|out −
/// bias| + |bias|) (f64: 1e-12) and one rounding of the 16-bit types; NaN and Inf in x stay in their elements, those of
/// the running statistics in their channel. A channel without elements leaves the running statistics as they are.
/// Tensors without elements are valid.
///
/// Throws portops::Error, before anything is enqueued, when x has one value per channel and is_test is false, an
/// attribute is not as said above, a tensor has other extents or element types, is empty (not given) or lies where the
/// context's backend cannot reach it, an output is read-only, has two elements at one address, or overlaps anything
/// other than in place. Temporaries: what the parts of channels come to, from the library's pool or the context's
/// workspace; batch_norm_workspace gives their size.
///
/// Semantics: torch.nn.functional.batch_norm, but for momentum, which is 1 − PyTorch's; Paddle's `batch_norm`, but for
/// variance_out, in which Paddle divides by n. (S. Ioffe, C. Szegedy, Batch Normalization, ICML 2015.)
PORTOPS_EXPORT void batch_norm(const Context& ctx, const TensorRef& x, const TensorRef& mean, const TensorRef& variance,
                               const TensorRef& out, const TensorRef& saved_mean, const TensorRef& saved_inv_std,
                               const TensorRef& mean_out, const TensorRef& variance_out,
                               const BatchNormParams& params = {});

/// The gradients of batch_norm, of each channel with x̂ = (x − saved_mean) · saved_inv_std:
///
///   x_grad     = saved_inv_std · scale · (out_grad − Σ out_grad / n − x̂ · Σ out_grad · x̂ / n)
///   x_grad     = saved_inv_std · scale · out_grad         with is_test
///   scale_grad = Σ out_grad · x̂
///   bias_grad  = Σ out_grad
///
/// saved_mean, saved_inv_std   as batch_norm gave them.
/// out_grad                    the extents of x.
/// x_grad                      the extents of x; may be the same tensor as out_grad (in place).
/// scale_grad                  extents and element type of scale, which must be given.
/// bias_grad                   as bias, which must be given, but may be TensorRef::without_data.
///
/// Each gradient may be an empty TensorRef. The error is within 2e-6 (f64: 1e-12) of the magnitudes summed, and one
/// rounding of the 16-bit types; the same bits on every run and for any number of threads.
///
/// Throws portops::Error, and takes temporaries, as batch_norm does; batch_norm_grad_workspace gives their size.
///
/// Semantics: autograd's of torch.nn.functional.batch_norm; Paddle's `batch_norm_grad`.
PORTOPS_EXPORT void batch_norm_grad(const Context& ctx, const TensorRef& x, const TensorRef& saved_mean,
                                    const TensorRef& saved_inv_std, const TensorRef& out_grad, const TensorRef& x_grad,
                                    const TensorRef& scale_grad, const TensorRef& bias_grad,
                                    const BatchNormParams& params = {});

/// The bytes of workspace that the same call needs. Tensors of the same extents, strides and alignment need the same.
PORTOPS_EXPORT std::size_t batch_norm_workspace(const Context& ctx, const TensorRef& x, const TensorRef& mean,
                                                const TensorRef& variance, const TensorRef& out,
                                                const TensorRef& saved_mean, const TensorRef& saved_inv_std,
                                                const TensorRef& mean_out, const TensorRef& variance_out,
                                                const BatchNormParams& params = {});
PORTOPS_EXPORT std::size_t batch_norm_grad_workspace(const Context& ctx, const TensorRef& x,
                                                     const TensorRef& saved_mean, const TensorRef& saved_inv_std,
                                                     const TensorRef& out_grad, const TensorRef& x_grad,
                                                     const TensorRef& scale_grad, const TensorRef& bias_grad,
                                                     const BatchNormParams& params = {});

}  // namespace portops
