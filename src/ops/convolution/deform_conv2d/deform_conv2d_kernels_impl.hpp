// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/convolution_launches.hpp"
#include "ops/convolution/deform_conv2d/bilinear.hpp"
#include "ops/convolution/deform_conv2d/convolve_small.hpp"
#include "ops/convolution/deform_conv2d/convolve_taps.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_convolution.hpp"
#include "ops/convolution/deform_conv2d/pixel_samples.hpp"
#include "ops/convolution/deform_conv2d/strip_samples.hpp"

#include <string>

namespace portops::impl {

template <Backend B, class T>
void DeformConv2dKernels<B, T>::columns(const Context& ctx, const ImageStep& step) {
  launch_columns<B, T, SamplerOf<T>>(ctx, DeformConv2dConvolution::labels().columns, step);
}

template <Backend B, class T>
void DeformConv2dKernels<B, T>::convolve_tiles(const Context& ctx, const ImageStep& step, const void* packed_weight,
                                               const ConvolutionOut& to) {
  if constexpr (B != Backend::cuda) {
    launch_tiles<B, T, SamplerOf<T>, StripSamples<T>>(ctx, DeformConv2dConvolution::labels().tiles, step, packed_weight,
                                                      to);
  }
}

template <Backend B, class T>
void DeformConv2dKernels<B, T>::convolve_strips(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                                                const ConvolutionOut& to) {
  if constexpr (B != Backend::cuda) {
    launch_strips<B, T, StripSamples<T>>(ctx, DeformConv2dConvolution::labels().strips, step, weight, to);
  }
}

template <Backend B, class T>
void DeformConv2dKernels<B, T>::convolve_pixels(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                                                const ConvolutionOut& to) {
  if constexpr (B == Backend::cuda) {
    launch_pixels<B, T, PixelSamples<T>>(ctx, DeformConv2dConvolution::labels().pixels, step, weight, to);
  }
}

template <Backend B, class T>
void DeformConv2dKernels<B, T>::convolve_small(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                                               const ConvolutionOut& to) {
  if constexpr (B == Backend::cuda && sizeof(T) <= 4) {
    static const std::string label = "portops::deform_conv2d[small]";
    const SmallForm form = SmallForm::of(step.windows);
    with_small_form<T>(step.windows, weight, form, [&]<int own_pixels, int width>() {
      launch_by_teams<B>(ctx, label, ConvolveSmall<B, T, own_pixels, width>(step, weight, to, form));
    });
  }
}

template <Backend B, class T>
void DeformConv2dKernels<B, T>::convolve_taps(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                                              const ConvolutionOut& to) {
  if constexpr (B == Backend::cuda && sizeof(T) <= 4) {
    static const std::string label = "portops::deform_conv2d[taps]";
    with_taps_form<T>(step.windows, [&]<int N, int own_outs, int pack_lanes>() {
      launch_by_teams<B>(ctx, label, ConvolveTaps<B, T, N, own_outs, pack_lanes>(step, weight, to));
    });
  }
}

}  // namespace portops::impl
