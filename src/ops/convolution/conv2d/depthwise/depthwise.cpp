// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/depthwise/depthwise.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_kernels.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_tiles.hpp"
#include "ops/convolution/layouts.hpp"
#include "ops/convolution/pixels.hpp"
#include "ops/convolution/weight_grad.hpp"

#include <cstdint>
#include <string>

namespace portops::impl {
namespace {

/// x_grad as a convolution of out_grad. Without strides it is one with the weight turned, whose taps are read
/// backwards.
DepthwiseCall x_grad_call(const Windows& windows, const TensorRef& weight, const TensorRef& out_grad,
                          const TensorRef& x_grad) {
  DepthwiseCall call{
      .windows = exchanged(windows), .from = tensor4(out_grad), .weight = tensor4(weight), .to = tensor4(x_grad)};
  call.turned = windows.stride_y > 1 || windows.stride_x > 1;
  if (call.turned) return call;
  const std::int64_t down = windows.kernel_height - 1, across = windows.kernel_width - 1;
  call.windows.top = down * windows.dilation_y - windows.top;
  call.windows.left = across * windows.dilation_x - windows.left;
  call.weight = tensor4(moved(weight, down * weight.stride(2) + across * weight.stride(3), weight.extents(),
                              {weight.stride(0), weight.stride(1), -weight.stride(2), -weight.stride(3)}));
  return call;
}

DepthwiseCall weight_grad_call(const Windows& windows, const TensorRef& x, const TensorRef& out_grad) {
  return {.windows = windows, .from = tensor4(x), .weight = {}, .to = tensor4(out_grad)};
}

}  // namespace

bool suits_depthwise(const Context& ctx, const Windows& w, const TensorRef& x, const TensorRef& weight,
                     const TensorRef& out) {
  // Positions, and distances to them, have numbers of 32 bits.
  const auto is_narrow = [](std::int64_t extent, std::int64_t before, std::int64_t reach, std::int64_t stride) {
    return before >= -INT32_MAX && extent + before + reach <= INT32_MAX && stride <= INT32_MAX;
  };
  return ctx.backend() == Backend::cuda && ctx.products() != Products::kokkos_kernels && w.groups == w.channels &&
         w.groups == w.out_channels && has_depthwise_window(w) && fits_pixels(w, {&x, &weight, &out}) &&
         is_narrow(w.height, w.top, (w.kernel_height - 1) * w.dilation_y, w.stride_y) &&
         is_narrow(w.width, w.left, (w.kernel_width - 1) * w.dilation_x, w.stride_x);
}

void convolve_depthwise(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  static const std::string label = "portops::conv2d[depthwise]";
  DepthwiseCall call{.windows = windows, .from = tensor4(t.x), .weight = tensor4(t.weight), .to = tensor4(t.out)};
  if (t.bias) {
    call.bias = t.bias.data();
    call.bias_stride = t.bias.stride(0);
  }
  dispatch(ctx.backend(), t.x.type(),
           [&]<Backend B, class T>() { DepthwiseKernels<B, T>::convolve(ctx, label, call); });
}

void depthwise_x_grad(const Context& ctx, const Windows& windows, const TensorRef& weight, const TensorRef& out_grad,
                      const TensorRef& x_grad) {
  static const std::string label = "portops::conv2d_grad::x_grad[depthwise]";
  const DepthwiseCall call = x_grad_call(windows, weight, out_grad, x_grad);
  dispatch(ctx.backend(), x_grad.type(),
           [&]<Backend B, class T>() { DepthwiseKernels<B, T>::convolve(ctx, label, call); });
}

bool depthwise_gives_bias_grad(const Windows& windows, const TensorRef& x, const TensorRef& out_grad) {
  return weight_grad_call(windows, x, out_grad).sums_in_tiles();
}

void depthwise_weight_grad(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                           const TensorRef& weight_grad, const TensorRef& bias_grad) {
  static const std::string label = "portops::conv2d_grad::weight_grad[depthwise]";
  static const std::string join_label = "portops::conv2d_grad::join[depthwise]";
  const DepthwiseCall call = weight_grad_call(windows, x, out_grad);
  Tensor4 bias;
  if (bias_grad) bias = {.data = bias_grad.data(), .stride = {0, bias_grad.stride(0), 0, 0}};
  const Temporary sums(ctx, "portops::conv2d_grad::workspace", depthwise_weight_grad_workspace(windows, x, out_grad));
  dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    DepthwiseKernels<B, T>::weight_grad(ctx, label, join_label, call, sums.data(), tensor4(weight_grad), bias);
  });
}

std::size_t depthwise_weight_grad_workspace(const Windows& windows, const TensorRef& x, const TensorRef& out_grad) {
  const DepthwiseCall call = weight_grad_call(windows, x, out_grad);
  MemoryLayout layout;
  layout.add(call.sums_in_tiles() ? DepthwiseWeightGradTiles(call, size_of(x.type())).sums()
                                  : DepthwiseWeightGradPlan(call).sums(),
             arithmetic_size(x.type()));
  return layout.bytes();
}

}  // namespace portops::impl
