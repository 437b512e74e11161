// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise.hpp"
#include "ops/convolution/conv2d/direct/direct.hpp"
#include "ops/convolution/conv2d/few_channels/few_channels.hpp"
#include "ops/convolution/conv2d/images_at_once.hpp"
#include "ops/convolution/conv2d/pointwise.hpp"
#include "ops/convolution/conv2d/window_rows.hpp"
#include "ops/convolution/convolve.hpp"

#include <cstdint>

namespace portops::impl {

/// The ways of conv2d: its own, and those that it shares with deform_conv2d.
enum class WholePath : std::uint8_t { depthwise, products, few_channels, window_rows, direct, shared };

inline WholePath choose_whole_path(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  if (ctx.products() == Products::kokkos_kernels) return WholePath::shared;
  if (suits_depthwise(ctx, windows, t.x, t.weight, t.out)) return WholePath::depthwise;
  if (suits_products(ctx, windows, t)) return WholePath::products;
  if (suits_from_few(ctx, windows, FromFewCall::forward, t.x, t.weight, t.out)) return WholePath::few_channels;
  if (suits_window_rows(ctx, windows, t)) return WholePath::window_rows;
  return suits_direct(ctx, windows, t) ? WholePath::direct : WholePath::shared;
}

/// By the path that suits the call. Needs channels, and an out that has elements.
inline void convolve_whole(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  switch (choose_whole_path(ctx, windows, tensors)) {
    case WholePath::depthwise: return convolve_depthwise(ctx, windows, tensors);
    case WholePath::products: return convolve_by_products(ctx, windows, tensors);
    case WholePath::few_channels: return convolve_from_few(ctx, windows, tensors);
    case WholePath::window_rows: return convolve_by_window_rows(ctx, windows, tensors);
    case WholePath::direct: return convolve_directly(ctx, windows, tensors);
    case WholePath::shared: break;
  }
  convolve<Conv2dConvolution>(ctx, windows, tensors, images_at_once(windows, tensors.x.type()));
}

/// Whether convolve_whole() finishes what it writes.
inline bool finishes_whole(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  return choose_whole_path(ctx, windows, tensors) == WholePath::direct ||
         finishes_convolve<Conv2dConvolution>(ctx, windows, tensors);
}

/// Whether it takes the fused path: which reads x with its channels last, there or in a copy, and packs a weight of any
/// strides.
inline bool fuses_whole(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  return choose_whole_path(ctx, windows, tensors) == WholePath::shared &&
         choose_path<Conv2dConvolution>(ctx, windows, tensors) == ConvolutionPath::fused;
}

/// The workspace that it needs.
inline std::size_t convolve_whole_workspace(const Context& ctx, const Windows& windows,
                                            const ConvolutionTensors& tensors) {
  switch (choose_whole_path(ctx, windows, tensors)) {
    case WholePath::depthwise:
    case WholePath::few_channels: return 0;
    case WholePath::products: return products_workspace(ctx);
    case WholePath::window_rows: return window_rows_workspace(ctx, windows, tensors);
    case WholePath::direct: return direct_workspace(ctx, windows, tensors);
    case WholePath::shared: break;
  }
  return convolve_workspace<Conv2dConvolution>(ctx, windows, tensors, images_at_once(windows, tensors.x.type()));
}

}  // namespace portops::impl
