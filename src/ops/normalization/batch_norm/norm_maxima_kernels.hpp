// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/program_call.hpp"
#include "ops/normalization/norm_kernels.hpp"

namespace portops::impl {

/// The steps of batch_norm and its gradient where a program takes maxima of the result, as NormKernels has those of the
/// result itself: in place of all of it, a number a window is written and read. Of f32, f16 and bf16 on GPUs alone.
/// Defined in norm_maxima_kernels_impl.hpp and compiled once for each pair.
template <Backend B, class T>
struct NormMaximaKernels {
  /// The maxima of (x − mean) · inv_std · weight + bias, or what relu makes of them, and their taps.
  static void normalize(const Context& ctx, const NormLabels& labels, const TensorRef& x, const TensorRef& mean,
                        const TensorRef& inv_std, const TensorRef& weight, const TensorRef& bias,
                        const WindowMaxima& maxima, bool with_relu);
  /// As NormKernels::gradient_sums of a weight that is kept. The sums are taken window by window.
  static void gradient_sums(const Context& ctx, const NormLabels& labels, const TensorRef& x, const AxisSet& reduced,
                            const TensorRef& mean, const TensorRef& inv_std, const TensorRef& weight,
                            const TensorRef& bias, const WindowMaxima& maxima, bool behind_relu,
                            const GradientResults& results, void* memory);
  /// As NormKernels::normalize_grad; `means` are those of sums, with those of products behind them.
  static void normalize_grad(const Context& ctx, const NormLabels& labels, const TensorRef& x, const TensorRef& mean,
                             const TensorRef& inv_std, const TensorRef& weight, const TensorRef& bias,
                             const TensorRef& means, const WindowMaxima& maxima, bool behind_relu,
                             const TensorRef& x_grad);
};

}  // namespace portops::impl
