// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/deform_conv2d/strips.hpp"

#include "core/exec/dispatch.hpp"
#include "ops/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/deform_conv2d/layouts.hpp"

#include <cstdint>

namespace portops::impl {

bool fits_strips(const Windows& w, const TensorRef& x) {
  constexpr std::int64_t most = INT32_MAX;
  // How far the last of `extent` elements lies from the first one; too far, where the stride alone is too large.
  const auto reach = [](std::int64_t extent, std::int64_t stride) {
    if (extent <= 1) return std::int64_t{0};
    if (extent > most || stride > most || stride < -most) return most + 1;
    return (extent - 1) * (stride < 0 ? -stride : stride);
  };
  return w.area() > 0 && w.height <= most && w.width <= most && w.top <= most && w.left <= most &&
         (w.out_height - 1) * w.stride_y + (w.kernel_height - 1) * w.dilation_y <= most &&
         (w.out_width - 1) * w.stride_x + (w.kernel_width - 1) * w.dilation_x <= most &&
         reach(w.height, x.stride(2)) + reach(w.width, x.stride(3)) <= most;
}

bool suits_strips(const Context& ctx, const Windows& windows, const TensorRef& x) {
  constexpr std::int64_t chain = 64;  // longer sums, which are one chain here, would drift
  constexpr std::int64_t few_out_channels = 16;
  return ctx.backend() != Backend::cuda && windows.group_column() <= chain &&
         windows.group_out_channels() <= few_out_channels && fits_strips(windows, x);
}

void deform_conv2d_by_strips(const Context& ctx, const Windows& windows, const DeformConv2dTensors& t) {
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    const ImageStep step{.windows = windows, .offset = tensor4(t.offset), .mask = tensor4(t.mask), .x = tensor4(t.x)};
    DeformConv2dKernels<B, T>::convolve_strips(ctx, step, tensor4(t.weight), tensor4(t.out),
                                               t.bias ? t.bias.data() : nullptr, t.bias ? t.bias.stride(0) : 0);
  });
}

}  // namespace portops::impl
