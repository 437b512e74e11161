// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise.hpp"
#include "ops/convolution/conv2d/direct/direct.hpp"
#include "ops/convolution/conv2d/images_at_once.hpp"
#include "ops/convolution/conv2d/pointwise.hpp"
#include "ops/convolution/conv2d/window_rows.hpp"
#include "ops/convolution/convolve.hpp"

namespace portops::impl {

/// By the path that suits the call. Needs channels, and an out that has elements.
inline void convolve_whole(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  if (ctx.products() != Products::kokkos_kernels) {
    if (suits_depthwise(ctx, windows, tensors.x, tensors.weight, tensors.out)) {
      return convolve_depthwise(ctx, windows, tensors);
    }
    if (suits_products(ctx, windows, tensors)) return convolve_by_products(ctx, windows, tensors);
    if (suits_window_rows(ctx, windows, tensors)) return convolve_by_window_rows(ctx, windows, tensors);
    if (suits_direct(ctx, windows, tensors)) return convolve_directly(ctx, windows, tensors);
  }
  convolve<Conv2dConvolution>(ctx, windows, tensors, images_at_once(windows, tensors.x.type()));
}

/// Whether convolve_whole() finishes what it writes.
inline bool finishes_whole(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  if (ctx.products() != Products::kokkos_kernels && suits_direct(ctx, windows, tensors)) return true;
  return finishes_convolve<Conv2dConvolution>(ctx, windows, tensors);
}

/// Whether it takes the fused path: which reads x with its channels last, there or in a copy, and packs a weight of any
/// strides.
inline bool fuses_whole(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  return ctx.products() != Products::kokkos_kernels &&
         !suits_depthwise(ctx, windows, tensors.x, tensors.weight, tensors.out) &&
         !suits_products(ctx, windows, tensors) && !suits_window_rows(ctx, windows, tensors) &&
         choose_path<Conv2dConvolution>(ctx, windows, tensors) == ConvolutionPath::fused;
}

/// Whether it takes matrix products of the weight as it lies.
inline bool multiplies_whole(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  return ctx.products() != Products::kokkos_kernels && suits_products(ctx, windows, tensors);
}

/// The workspace that it needs.
inline std::size_t convolve_whole_workspace(const Context& ctx, const Windows& windows,
                                            const ConvolutionTensors& tensors) {
  if (ctx.products() != Products::kokkos_kernels) {
    if (suits_depthwise(ctx, windows, tensors.x, tensors.weight, tensors.out)) return 0;
    if (suits_products(ctx, windows, tensors)) return products_workspace(ctx);
    if (suits_window_rows(ctx, windows, tensors)) return window_rows_workspace(ctx, windows, tensors);
    if (suits_direct(ctx, windows, tensors)) return direct_workspace(ctx, windows, tensors);
  }
  return convolve_workspace<Conv2dConvolution>(ctx, windows, tensors, images_at_once(windows, tensors.x.type()));
}

}  // namespace portops::impl
