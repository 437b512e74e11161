// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <vector>

namespace portops {

/// The optional inputs and the attributes of deform_conv2d and deform_conv2d_grad.
struct DeformConv2dParams {
  /// Factors of the samples; without it they are 1 (version 1 of the operator; with it, version 2).
  TensorRef mask = {};
  /// Added to each output channel. The gradients do not depend on it: deform_conv2d_grad does not look at it.
  TensorRef bias = {};
  /// Pixels from one window to the next: down and across. Positive.
  std::vector<std::int64_t> stride = {1, 1};
  /// Pixels of value 0 around x, not negative: above and below, left and right (two numbers), or above, left, below and
  /// right (four numbers, the order of ONNX).
  std::vector<std::int64_t> padding = {0, 0};
  /// Pixels from one tap of a window to the next: down and across. Positive.
  std::vector<std::int64_t> dilation = {1, 1};
  /// Groups of channels that are convolved separately; divides the channels of x and of out.
  std::int64_t groups = 1;
  /// Groups of channels of x that have offsets and masks of their own; divides the channels of x.
  std::int64_t deformable_groups = 1;
  /// The most images whose columns (sampled windows) are in memory at once, where they are. Any positive number; it
  /// need not divide the number of images.
  std::int64_t im2col_step = 64;
};

/// Deformable convolution, version 1, or version 2 with a mask:
///
///   out[n, m, i, j] = bias[m] + Σ weight[m, c, k, l] · mask[n, t, i, j] · x(n, g · C/G + c, v, u)
///     v = i · stride[0] − top  + k · dilation[0] + offset[n, 2t,     i, j]
///     u = j · stride[1] − left + l · dilation[1] + offset[n, 2t + 1, i, j]
///     t = (d · K + k) · L + l
///
/// Σ runs over the channels c of the group g that output channel m belongs to, and over the taps (k, l) of the window;
/// d is the deformable group of channel g · C/G + c. x(n, c, v, u) is sampled bilinearly between the four pixels around
/// (v, u), pixels outside of the image being 0: so the sample is 0 where v ≤ −1, v ≥ H, u ≤ −1 or u ≥ W.
///
/// x       [N, C, H, W]
/// offset  [N, 2 · D · K · L, H', W'], for each tap first the one down, then the one across, in pixels
/// weight  [M, C / G, K, L]
/// mask    [N, D · K · L, H', W'], optional
/// bias    [M], optional
/// out     [N, M, H', W'], where H' = (H + top + bottom − dilation[0] · (K − 1) − 1) / stride[0] + 1, rounded down, or
/// 0
///         where the window is larger than the padded image; W' alike
///
/// with G = groups and D = deformable_groups. All have one element type, f64, f32, f16 or bf16, and any strides; x is
/// read fastest where its channels, unless they are few, are neighbours in memory (channels last).
///
/// Positions, samples and sums are computed in f32 (f64 for f64); for the 16-bit types each sample is rounded to the
/// element type before it enters the product, as in all frameworks, and the result is rounded once. With f32 operands,
/// Math::tf32 lets products leave samples and weights 11 significant bits, rounded or cut off. A sample at an offset
/// that is NaN is NaN; one that is infinitely far away is 0. An Inf among the products gives Inf or NaN. Tensors
/// without elements are valid, but the window has at least one tap: without channels, out is the bias.
///
/// The same call gives the same bits on every run and for any number of threads; on a GPU of compute capability other
/// than 9.0 with ctx.deterministic() only. With Products::kokkos_kernels the products have the error of that library,
/// and no such bits: see Products.
///
/// Throws portops::Error, before anything is enqueued, when a tensor has another rank or other extents than said above,
/// an attribute is out of its range, 64 bits cannot hold 2 · D · K · L or count the bytes of all N · C · K · L · H' ·
/// W' samples, element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach it,
/// `out` is read-only, has two elements at one address or overlaps an input, the context's workspace is too small, or
/// the context's products are kokkos_kernels where Products says that they cannot be. Temporaries: copies of x and
/// weight with the channels last, and, where they are in memory, columns of up to im2col_step images, and their product
/// where it cannot be written to out at once; none on hosts for groups of few channels and output channels. From the
/// library's pool or the context's workspace. deform_conv2d_workspace gives their size.
///
/// Sources: Dai et al., Deformable Convolutional Networks, 2017; Zhu et al., Deformable ConvNets v2, 2019. Semantics:
/// torchvision.ops.deform_conv2d, ONNX DeformConv, Paddle's deformable_conv.
PORTOPS_EXPORT void deform_conv2d(const Context& ctx, const TensorRef& x, const TensorRef& offset,
                                  const TensorRef& weight, const TensorRef& out, const DeformConv2dParams& params = {});

/// The gradients of deform_conv2d:
///
///   weight_grad[m, c, k, l]   = Σ out_grad[n, m, i, j] · mask[n, t, i, j] · x(n, g · C/G + c, v, u)   over n, i, j
///   bias_grad[m]              = Σ out_grad[n, m, i, j]                                                over n, i, j
///   mask_grad[n, t, i, j]     = Σ s[c] · x(n, c, v, u)                            over the channels c of d
///   offset_grad[n, 2t, i, j]  = mask[n, t, i, j] · Σ s[c] · ∂x(n, c, v, u)/∂v     over the channels c of d
///   offset_grad[n, 2t+1, i, j] = mask[n, t, i, j] · Σ s[c] · ∂x(n, c, v, u)/∂u    over the channels c of d
///   x_grad[n, c, h, w]        = Σ s[c] · mask[n, t, i, j] · (weight of pixel (h, w) in the sample)  over i, j, k, l
///
///   s[c] = Σ weight[m, c − g · C/G, k, l] · out_grad[n, m, i, j] over the output channels m of the group g of c
///
/// x, offset, weight, mask, the attributes: as in deform_conv2d.
/// out_grad    has the extents of out.
/// The results have the extents of their operands; bias_grad has [M]. Each may be an empty TensorRef, and then costs
/// nothing; mask_grad needs a mask.
///
/// The derivative of a sample is that of the bilinear interpolation between the pixels around floor(v), floor(u), and 0
/// where the sample is 0 for being outside. A sample at an offset that is NaN gives NaN to offset_grad, mask_grad and
/// weight_grad, and nothing to x_grad. Sums are accumulated in f32 (f64 for f64) and rounded once. All but x_grad are
/// summed by trees. An element of x_grad adds up the samples that its pixel is a corner of, one after the other: a few
/// for each tap as a rule; where offsets make n of them meet in one pixel, its error can grow to n · 2^-25 (f64:
/// n · 2^-54) of the magnitudes summed. Tensors without elements are valid; sums over nothing are 0.
///
/// On hosts, and with ctx.deterministic() everywhere, the same call gives the same bits on every run and for any number
/// of threads; else x_grad on a GPU is summed by atomic additions, in any order. With Products::kokkos_kernels there
/// are no such bits anywhere.
///
/// Throws portops::Error as deform_conv2d does, and when mask_grad is given without a mask, or a result overlaps an
/// input or another result. Temporaries: deform_conv2d_grad_workspace gives their size.
PORTOPS_EXPORT void deform_conv2d_grad(const Context& ctx, const TensorRef& x, const TensorRef& offset,
                                       const TensorRef& weight, const TensorRef& out_grad, const TensorRef& x_grad,
                                       const TensorRef& offset_grad, const TensorRef& weight_grad,
                                       const TensorRef& mask_grad, const TensorRef& bias_grad,
                                       const DeformConv2dParams& params = {});

/// The bytes of workspace that the same call of deform_conv2d needs. Tensors of the same extents, strides and alignment
/// need the same.
PORTOPS_EXPORT std::size_t deform_conv2d_workspace(const Context& ctx, const TensorRef& x, const TensorRef& offset,
                                                   const TensorRef& weight, const TensorRef& out,
                                                   const DeformConv2dParams& params = {});

/// The same of deform_conv2d_grad.
PORTOPS_EXPORT std::size_t deform_conv2d_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& offset,
                                                        const TensorRef& weight, const TensorRef& out_grad,
                                                        const TensorRef& x_grad, const TensorRef& offset_grad,
                                                        const TensorRef& weight_grad, const TensorRef& mask_grad,
                                                        const TensorRef& bias_grad,
                                                        const DeformConv2dParams& params = {});

}  // namespace portops
