// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/whole_pixels.hpp"
#include "ops/convolution/conv2d/whole_sample.hpp"
#include "ops/convolution/conv2d/whole_strip.hpp"
#include "ops/convolution/convolution_launches.hpp"

namespace portops::impl {

/// Turns the weight, an item an element of the result.
template <class T>
struct TurnWeight {
  Windows windows;
  Tensor4 weight;
  T* turned;
  static constexpr int blocks = 0;

  std::int64_t items() const { return windows.channels * windows.taps() * windows.group_out_channels(); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t of_all = quotient(index, windows.group_out_channels());
    const std::int64_t out_channel = index - of_all * windows.group_out_channels();
    const std::int64_t channel = quotient(of_all, windows.taps());
    const std::int64_t tap = windows.taps() - 1 - (of_all - channel * windows.taps());
    const std::int64_t group = quotient(channel, windows.group_channels());
    const std::int64_t k = quotient(tap, windows.kernel_width);
    turned[index] = static_cast<const T*>(
        weight.data)[weight.offset(group * windows.group_out_channels() + out_channel,
                                   channel - group * windows.group_channels(), k, tap - k * windows.kernel_width)];
  }
};

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
void Conv2dKernels<B, T>::turn_weight(const Context& ctx, const Windows& windows, const Tensor4& weight, void* turned) {
  static const std::string label = "portops::conv2d_grad::weight[turned]";
  launch_by_items<B>(ctx, label, TurnWeight<T>{windows, weight, static_cast<T*>(turned)});
}

}  // namespace portops::impl
