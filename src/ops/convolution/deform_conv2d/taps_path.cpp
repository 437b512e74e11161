// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/deform_conv2d/taps_path.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/channels_last.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_convolution.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/convolution/deform_conv2d/taps_pack.hpp"
#include "ops/convolution/pixel_sampling.hpp"
#include "ops/convolution/pixels.hpp"

#include <cstdint>

namespace portops::impl {
namespace {

struct TapsMemory {
  MemoryLayout layout;
  ChannelsLast x;

  TapsMemory(const Windows& windows, const TensorRef& x) : x(layout, x, !has_packs(windows, x)) {}

 private:
  static bool has_packs(const Windows& w, const TensorRef& x) {
    return dispatch_type(x.type(),
                         [&]<class T>() { return has_channel_packs<T>(tensor4(x), taps_pack(w, sizeof(T))); });
  }
};

}  // namespace

bool suits_taps(const Context& ctx, const Windows& w, const ConvolutionTensors& t) {
  if (ctx.backend() != Backend::cuda || ctx.products() == Products::kokkos_kernels) return false;
  // Fewer channels or output channels are faster pixel by pixel, without a copy; for more a thread has no registers, or
  // a team no scratch.
  constexpr std::int64_t very_few_channels = 4, few_channels = 16, very_few_outs = 4, few_outs = 16, most_taps = 32;
  const std::int64_t channels = w.group_channels(), outs = w.group_out_channels();
  return t.x.type() != ElementType::f64 && w.channel_run() % 4 == 0 && channels > very_few_channels &&
         channels <= few_channels && outs > very_few_outs && outs <= few_outs && w.taps() <= most_taps &&
         t.x.size() <= INT32_MAX && fits_pixels(w, t);
}

void deform_conv2d_by_taps(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  const ConvolutionLabels& labels = DeformConv2dConvolution::labels();
  const TapsMemory memory_plan(windows, t.x);
  const Temporary temporary(ctx, labels.workspace.c_str(), memory_plan.layout.bytes());
  const TensorRef x = memory_plan.x.copied_to(ctx, labels.x, temporary.data());
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    const ImageStep step{.windows = windows, .offset = tensor4(t.offset), .mask = tensor4(t.mask), .x = tensor4(x)};
    DeformConv2dKernels<B, T>::convolve_taps(ctx, step, tensor4(t.weight), convolution_out(t));
  });
}

std::size_t taps_workspace(const Windows& windows, const ConvolutionTensors& t) {
  return TapsMemory(windows, t.x).layout.bytes();
}

}  // namespace portops::impl
