// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/direct/direct.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/convolve.hpp"
#include "ops/convolution/layouts.hpp"

namespace portops::impl {
namespace {

DirectCall direct_call(const Windows& windows, const ConvolutionTensors& t) {
  return DirectCall{windows, tensor4(t.x), tensor4(t.out)}.reduced();
}

}  // namespace

bool suits_direct(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  if (ctx.backend() == Backend::cuda) return false;
  // Fewer output channels leave the registers of the tile product empty.
  constexpr std::int64_t least_out_channels = 4;
  const bool strips =
      windows.group_out_channels() < least_out_channels && suits_strips<Conv2dConvolution>(ctx, windows, t.x);
  const Windows reduced = direct_call(windows, t).windows;
  bool suits = false;
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    using Kernels = Conv2dKernels<B, T>;
    suits = strips ? Kernels::suits_depthwise(reduced) : Kernels::suits_direct(reduced);
  });
  return suits;
}

void convolve_directly(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  const DirectCall call = direct_call(windows, t);
  const std::size_t bytes = direct_workspace(ctx, windows, t);
  const Temporary memory(ctx, Conv2dConvolution::labels().workspace.c_str(), t.prepared() != nullptr ? 0 : bytes);
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    using Kernels = Conv2dKernels<B, T>;
    const Tensor4 weight = tensor4(t.weight);
    const auto pack = [&](void* to) { Kernels::pack_direct(ctx, call.windows, weight, to); };
    const void* const packed = prepared_weight(ctx, t, "portops::conv2d::weight[direct]", bytes, memory.data(), pack);
    Kernels::convolve_direct(ctx, call, weight, packed, convolution_out(t));
  });
}

std::size_t direct_workspace(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  const DirectCall call = direct_call(windows, t);
  std::size_t bytes = 0;
  dispatch(ctx.backend(), t.x.type(),
           [&]<Backend B, class T>() { bytes = Conv2dKernels<B, T>::direct_bytes(call.windows); });
  return bytes;
}

}  // namespace portops::impl
