// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace portops {

/// The optional inputs and the attributes of conv2d and conv2d_grad.
struct Conv2dParams {
  /// Added to each output channel. The gradients do not depend on it: conv2d_grad does not look at it.
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
};

/// Convolution of images:
///
///   out[n, m, i, j] = bias[m] + Σ weight[m, c, k, l] · x[n, g · C/G + c, v, u]
///     v = i · stride[0] − top  + k · dilation[0]
///     u = j · stride[1] − left + l · dilation[1]
///
/// Σ runs over the channels c of the group g that output channel m belongs to, and over the taps (k, l) of the window;
/// pixels outside of the image are 0.
///
/// x       [N, C, H, W]
/// weight  [M, C / G, K, L]
/// bias    [M], optional
/// out     [N, M, H', W'], where H' = (H + top + bottom − dilation[0] · (K − 1) − 1) / stride[0] + 1, rounded down, and
///         0 where the window is larger than the padded image; W' alike
///
/// with G = groups. All have one element type, f64, f32, f16 or bf16, and any strides; on GPUs x is read fastest where
/// its channels, unless they are few, are neighbours in memory (channels last).
///
/// Sums are accumulated in f32 (f64 for f64) and rounded once; docs/reference/conv2d.md has the bounds of their errors.
/// With f32 operands, Math::tf32 lets products leave pixels and weights 11 significant bits, rounded or cut off. An Inf
/// among the products gives Inf or NaN. Tensors without elements are valid, but the window has at least one tap:
/// without channels, out is the bias.
///
/// On hosts, and with ctx.deterministic() everywhere, the same call gives the same bits on every run and for any number
/// of threads. With Products::kokkos_kernels the products have the error of that library, and no such bits: see
/// Products.
///
/// Throws portops::Error, before anything is enqueued, when a tensor has another rank or other extents than said above,
/// an attribute is out of its range, 64 bits cannot count the bytes of all N · C · K · L · H' · W' elements of windows,
/// element types differ, a tensor is empty (not given) or lies where the context's backend cannot reach it, `out` is
/// read-only, has two elements at one address or overlaps an input, the context's workspace is too small, or the
/// context's products are kokkos_kernels where Products says that they cannot be. Temporaries: copies of x and weight
/// with the channels last, and, where they are in memory, the windows of some images, and their product where it cannot
/// be written to out at once; none for groups of few channels and output channels; on hosts mostly a copy of the weight
/// alone. From the library's pool or the context's workspace. conv2d_workspace gives their size.
///
/// Semantics: torch.nn.functional.conv2d, ONNX Conv, Paddle's conv2d.
PORTOPS_EXPORT void conv2d(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out,
                           const Conv2dParams& params = {});

/// The gradients of conv2d:
///
///   x_grad[n, g · C/G + c, v, u] = Σ weight[m, c, k, l] · out_grad[n, m, i, j]    over m of the group g, and all
///                                                                                 (i, j, k, l) with that (v, u)
///   weight_grad[m, c, k, l]      = Σ out_grad[n, m, i, j] · x[n, g · C/G + c, v, u]    over n, i, j
///   bias_grad[m]                 = Σ out_grad[n, m, i, j]                              over n, i, j
///
/// x, weight, the attributes: as in conv2d.
/// out_grad    has the extents of out.
/// The results have the extents of their operands; bias_grad has [M]. Each may be an empty TensorRef, and then costs
/// nothing.
///
/// Sums are accumulated in f32 (f64 for f64) and rounded once; those over pixels by trees. Tensors without elements are
/// valid; sums over nothing are 0. The bits are those of conv2d's promise.
///
/// Throws portops::Error as conv2d does, and when a result overlaps an input or another result. Temporaries:
/// conv2d_grad_workspace gives their size.
PORTOPS_EXPORT void conv2d_grad(const Context& ctx, const TensorRef& x, const TensorRef& weight,
                                const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& weight_grad,
                                const TensorRef& bias_grad, const Conv2dParams& params = {});

/// The bytes of workspace that the same call of conv2d needs. Tensors of the same extents, strides and alignment need
/// the same.
PORTOPS_EXPORT std::size_t conv2d_workspace(const Context& ctx, const TensorRef& x, const TensorRef& weight,
                                            const TensorRef& out, const Conv2dParams& params = {});

/// The same of conv2d_grad.
PORTOPS_EXPORT std::size_t conv2d_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& weight,
                                                 const TensorRef& out_grad, const TensorRef& x_grad,
                                                 const TensorRef& weight_grad, const TensorRef& bias_grad,
                                                 const Conv2dParams& params = {});

}  // namespace portops
