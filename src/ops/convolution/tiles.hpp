// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/convolution_kernels.hpp"
#include "ops/convolution/convolution_labels.hpp"
#include "ops/convolution/convolution_tensors.hpp"
#include "ops/convolution/image_step.hpp"
#include "ops/convolution/layouts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

// The path of hosts: columns are made tile by tile, in a core's cache, and multiplied there.

namespace portops::impl {

struct TilesMemory {
  MemoryLayout layout;
  TemporaryArray weight;
  TemporaryArray x;  ///< where it is not read where it lies
  std::int64_t step;

  /// `reads_x` says whether it is. There is no weight where a program keeps it.
  TilesMemory(const Windows& windows, const ConvolutionTensors& t, std::int64_t images, bool reads_x,
              std::size_t weight_bytes)
      : step(reads_x ? windows.images : images) {
    if (t.prepared() == nullptr) weight = TemporaryArray(layout, static_cast<std::int64_t>(weight_bytes), 1);
    if (!reads_x) x = TemporaryArray(layout, step * windows.channels * windows.area(), size_of(t.x.type()));
  }
};

template <class Operator>
std::size_t tiles_weight_bytes(const Context& ctx, const Windows& windows, const TensorRef& x) {
  std::size_t bytes = 0;
  dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    bytes = ConvolutionKernels<B, T>::packed_weight_bytes(windows, Operator::samples_strips(windows, x));
  });
  return bytes;
}

template <class Operator>
TilesMemory tiles_memory(const Context& ctx, const Windows& windows, const ConvolutionTensors& t, std::int64_t images) {
  return {windows, t, images, has_channels_last(t.x) || Operator::samples_strips(windows, t.x),
          tiles_weight_bytes<Operator>(ctx, windows, t.x)};
}

/// On hosts. Needs channels and an out that has elements. An x that is not read in strips and has its channels not last
/// is copied for `images` images at a time.
template <class Operator>
void convolve_by_tiles(const Context& ctx, const Windows& windows, const ConvolutionTensors& t, std::int64_t images) {
  const ConvolutionLabels& labels = Operator::labels();
  const TilesMemory plan = tiles_memory<Operator>(ctx, windows, t, images);
  const Temporary memory(ctx, labels.workspace.c_str(), plan.layout.bytes());
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    using Shared = ConvolutionKernels<B, T>;
    const bool samples_strips = Operator::samples_strips(windows, t.x);
    const void* const weight = prepared_weight(
        ctx, t, labels.packed_weight, tiles_weight_bytes<Operator>(ctx, windows, t.x), plan.weight.in(memory.data()),
        [&](void* to) {
          Shared::pack_weight(ctx, labels.packed_weight, windows, samples_strips, tensor4(t.weight), to);
        });
    for (std::int64_t first = 0; first < windows.images; first += plan.step) {
      const std::int64_t count = std::min(plan.step, windows.images - first);
      ImageStep step{.windows = windows,
                     .offset = tensor4(t.offset, first),
                     .mask = tensor4(t.mask, first),
                     .x = tensor4(t.x, first)};
      step.windows.images = count;
      step.samples_strips = samples_strips;
      if (plan.x) {
        const Rearrangement copy = to_channels_last(t.x, first, count, plan.x.in(memory.data()));
        Shared::rearrange(ctx, labels.x, copy);
        step.x = {copy.to.data, {copy.to.batch, 1, windows.width * windows.channels, windows.channels}};
      }
      Operator::template Kernels<B, T>::convolve_tiles(ctx, step, weight, convolution_out(t, first));
    }
  });
}

template <class Operator>
std::size_t tiles_workspace(const Context& ctx, const Windows& windows, const ConvolutionTensors& t,
                            std::int64_t images) {
  return tiles_memory<Operator>(ctx, windows, t, images).layout.bytes();
}

}  // namespace portops::impl
