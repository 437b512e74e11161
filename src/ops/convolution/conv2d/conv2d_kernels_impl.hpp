// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/columns_to_x.hpp"
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/whole_pixels.hpp"
#include "ops/convolution/conv2d/whole_sample.hpp"
#include "ops/convolution/conv2d/whole_strip.hpp"
#include "ops/convolution/convolution_launches.hpp"
#include "ops/convolution/pixels_weight_grad.hpp"

namespace portops::impl {

template <Backend B, class T>
void Conv2dKernels<B, T>::columns(const Context& ctx, const ImageStep& step) {
  launch_columns<B, T, WholeSampler>(ctx, Conv2dConvolution::labels().columns, step);
}

template <Backend B, class T>
void Conv2dKernels<B, T>::convolve_tiles(const Context& ctx, const ImageStep& step, const void* packed_weight,
                                         const ConvolutionOut& to) {
  if constexpr (B != Backend::cuda) {
    launch_tiles<B, T, WholeSampler, WholeStrip<T>>(ctx, Conv2dConvolution::labels().tiles, step, packed_weight, to);
  }
}

template <Backend B, class T>
void Conv2dKernels<B, T>::convolve_strips(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                                          const ConvolutionOut& to) {
  if constexpr (B != Backend::cuda) {
    launch_strips<B, T, WholeStrip<T>>(ctx, Conv2dConvolution::labels().strips, step, weight, to);
  }
}

template <Backend B, class T>
void Conv2dKernels<B, T>::convolve_pixels(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                                          const ConvolutionOut& to) {
  if constexpr (B == Backend::cuda) {
    launch_pixels<B, T, WholePixels<T>>(ctx, Conv2dConvolution::labels().pixels, step, weight, to);
  }
}

template <Backend B, class T>
void Conv2dKernels<B, T>::pixels_weight_grad(const Context& ctx, const ImageStep& step, const Tensor4& out_grad,
                                             void* sums, const Tensor4& weight_grad) {
  if constexpr (B == Backend::cuda) {
    static const std::string label = "portops::conv2d_grad::weight_grad[pixels]";
    static const std::string join_label = "portops::conv2d_grad::join[pixels]";
    launch_pixels_weight_grad<B, T, WholePixels<T>>(ctx, label, join_label, step, out_grad, sums, weight_grad);
  }
}

template <Backend B, class T>
void Conv2dKernels<B, T>::columns_to_x(const Context& ctx, const Windows& windows, std::int64_t pixel,
                                       const void* columns, const Tensor4& x_grad) {
  if constexpr (B == Backend::cuda) {
    static const std::string label = "portops::conv2d_grad::x_grad[columns]";
    launch_by_items<B>(ctx, label, ColumnsToX<T>(windows, pixel, static_cast<const Arithmetic<T>*>(columns), x_grad));
  }
}

}  // namespace portops::impl
