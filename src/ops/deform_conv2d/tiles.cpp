// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/deform_conv2d/tiles.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "ops/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/deform_conv2d/layouts.hpp"
#include "ops/deform_conv2d/strips.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

/// Whether samples are found in strips, channel by channel: few channels are faster so than one sample after the other.
bool samples_strips(const Windows& windows, const TensorRef& x) {
  constexpr std::int64_t few_channels = 16;
  return windows.channel_run() <= few_channels && fits_strips(windows, x);
}

/// Whether the path reads x where it lies.
bool reads_x(const Windows& windows, const TensorRef& x) { return has_channels_last(x) || samples_strips(windows, x); }

struct TilesMemory {
  MemoryLayout layout;
  TemporaryArray weight;
  TemporaryArray x;  ///< where it is not read where it lies
  std::int64_t step;

  TilesMemory(const Context& ctx, const Windows& windows, const DeformConv2dTensors& t, std::int64_t images)
      : step(reads_x(windows, t.x) ? windows.images : images) {
    dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
      weight =
          TemporaryArray(layout, static_cast<std::int64_t>(DeformConv2dKernels<B, T>::packed_weight_bytes(windows)), 1);
    });
    if (!reads_x(windows, t.x)) {
      x = TemporaryArray(layout, step * windows.channels * windows.area(), size_of(t.x.type()));
    }
  }
};

}  // namespace

void deform_conv2d_by_tiles(const Context& ctx, const Windows& windows, const DeformConv2dTensors& t,
                            std::int64_t images) {
  const TilesMemory plan(ctx, windows, t, images);
  const Temporary memory(ctx, "portops::deform_conv2d::workspace", plan.layout.bytes());
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    using Kernels = DeformConv2dKernels<B, T>;
    void* const weight = plan.weight.in(memory.data());
    Kernels::pack_weight(ctx, windows, tensor4(t.weight), weight);
    for (std::int64_t first = 0; first < windows.images; first += plan.step) {
      const std::int64_t count = std::min(plan.step, windows.images - first);
      ImageStep step{.windows = windows,
                     .offset = tensor4(t.offset, first),
                     .mask = tensor4(t.mask, first),
                     .x = tensor4(t.x, first)};
      step.windows.images = count;
      step.samples_strips = samples_strips(windows, t.x);
      if (plan.x) {
        const Rearrangement copy = to_channels_last(t.x, first, count, plan.x.in(memory.data()));
        Kernels::rearrange(ctx, "portops::deform_conv2d::x[channels_last]", copy);
        step.x = {copy.to.data, {copy.to.batch, 1, windows.width * windows.channels, windows.channels}};
      }
      Kernels::convolve(ctx, step, weight, tensor4(t.out, first), t.bias ? t.bias.data() : nullptr,
                        t.bias ? t.bias.stride(0) : 0);
    }
  });
}

std::size_t tiles_workspace(const Context& ctx, const Windows& windows, const DeformConv2dTensors& t,
                            std::int64_t images) {
  return TilesMemory(ctx, windows, t, images).layout.bytes();
}

}  // namespace portops::impl
