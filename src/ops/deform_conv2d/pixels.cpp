// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/deform_conv2d/pixels.hpp"

#include "core/exec/dispatch.hpp"
#include "ops/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/deform_conv2d/layouts.hpp"

#include <cstdint>

namespace portops::impl {

bool suits_pixels(const Context& ctx, const Windows& windows) {
  constexpr std::int64_t chain = 64;             // longer sums, which are one chain here, would drift
  constexpr std::int64_t few_out_channels = 16;  // more would sample once more for each 16
  return ctx.backend() == Backend::cuda && windows.group_column() <= chain &&
         windows.group_out_channels() <= few_out_channels;
}

void deform_conv2d_by_pixels(const Context& ctx, const Windows& windows, const DeformConv2dTensors& t) {
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    const ImageStep step{.windows = windows, .offset = tensor4(t.offset), .mask = tensor4(t.mask), .x = tensor4(t.x)};
    DeformConv2dKernels<B, T>::convolve_pixels(ctx, step, tensor4(t.weight), tensor4(t.out),
                                               t.bias ? t.bias.data() : nullptr, t.bias ? t.bias.stride(0) : 0);
  });
}

}  // namespace portops::impl
