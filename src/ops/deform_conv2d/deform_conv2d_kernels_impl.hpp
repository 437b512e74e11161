// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/rearrange.hpp"
#include "ops/deform_conv2d/channel_packs.hpp"
#include "ops/deform_conv2d/columns.hpp"
#include "ops/deform_conv2d/convolve_pixels.hpp"
#include "ops/deform_conv2d/convolve_strips.hpp"
#include "ops/deform_conv2d/convolve_tiles.hpp"
#include "ops/deform_conv2d/deform_conv2d_kernels.hpp"

#include <string>

namespace portops::impl {

/// Writes the bias of a channel to all of its pixels, an item an element.
template <class T>
struct FillWithBias {
  std::int64_t extent[4];
  Tensor4 tensor;
  const T* bias;
  std::int64_t bias_stride;
  static constexpr int blocks = 0;

  std::int64_t items() const { return extent[0] * extent[1] * extent[2] * extent[3]; }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t row = quotient(index, extent[3]);
    const std::int64_t plane = quotient(row, extent[2]);
    const std::int64_t image = quotient(plane, extent[1]);
    const std::int64_t channel = plane - image * extent[1];
    T* const to =
        static_cast<T*>(tensor.data) + tensor.offset(image, channel, row - plane * extent[2], index - row * extent[3]);
    *to = bias != nullptr ? bias[channel * bias_stride] : T(0.0f);
  }
};

template <Backend B, class T>
void DeformConv2dKernels<B, T>::rearrange(const Context& ctx, const char* label, const Rearrangement& what) {
  impl::rearrange<B, T, T>(ctx, label, what);
}

template <Backend B, class T>
void DeformConv2dKernels<B, T>::fill(const Context& ctx, const Extents& extents, const Tensor4& tensor,
                                     const void* bias, std::int64_t bias_stride) {
  static const std::string label = "portops::deform_conv2d::fill";
  launch_by_items<B>(
      ctx, label,
      FillWithBias<T>{
          {extents[0], extents[1], extents[2], extents[3]}, tensor, static_cast<const T*>(bias), bias_stride});
}

template <Backend B, class T>
void DeformConv2dKernels<B, T>::columns(const Context& ctx, const ImageStep& step) {
  static const std::string label = "portops::deform_conv2d::columns[im2col]";
  with_channel_packs<B, T, T>(step, [&]<int N>() {
    launch_by_teams<B>(
        ctx, label,
        Columns<B, T, N>(step.windows, SamplerOf<T>(step.windows, step.offset, step.mask),
                         static_cast<const T*>(step.x.data), pixel_strides(step.x), static_cast<T*>(step.columns)));
  });
}

template <Backend B, class T>
std::size_t DeformConv2dKernels<B, T>::packed_weight_bytes(const Windows& windows) {
  using A = Arithmetic<T>;
  return static_cast<std::size_t>(PackedWeight<A>{windows}.size()) * sizeof(A);
}

template <Backend B, class T>
void DeformConv2dKernels<B, T>::pack_weight(const Context& ctx, const Windows& windows, const Tensor4& weight,
                                            void* packed_weight) {
  if constexpr (B != Backend::cuda) {
    static const std::string label = "portops::deform_conv2d::weight[tiles]";
    launch_by_items<B>(ctx, label, PackWeight<B, T>(windows, weight, static_cast<Arithmetic<T>*>(packed_weight)));
  }
}

template <Backend B, class T>
void DeformConv2dKernels<B, T>::convolve(const Context& ctx, const ImageStep& step, const void* packed_weight,
                                         const Tensor4& out, const void* bias, std::int64_t bias_stride) {
  if constexpr (B != Backend::cuda) {
    static const std::string label = "portops::deform_conv2d[tiles]";
    using Kernel = ConvolveTiles<B, T>;
    const SpaceOf<B>& space = instance<B>(ctx);
    const Kernel kernel(step, static_cast<const Arithmetic<T>*>(packed_weight), out, static_cast<const T*>(bias),
                        bias_stride, space.concurrency());
    typename Kernel::Policy policy(space, static_cast<int>(std::min(kernel.tiles(), most_teams)), 1, 1);
    policy.set_scratch_size(1, Kokkos::PerTeam(kernel.scratch_bytes() + Kernel::alignment));
    Kokkos::parallel_for(label, policy, kernel);
  }
}

template <Backend B, class T>
void DeformConv2dKernels<B, T>::convolve_strips(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                                                const Tensor4& out, const void* bias, std::int64_t bias_stride) {
  if constexpr (B != Backend::cuda) {
    static const std::string label = "portops::deform_conv2d[strips]";
    launch_by_items<B>(ctx, label, ConvolveStrips<T>(step, weight, out, static_cast<const T*>(bias), bias_stride));
  }
}

template <Backend B, class T>
void DeformConv2dKernels<B, T>::convolve_pixels(const Context& ctx, const ImageStep& step, const Tensor4& weight,
                                                const Tensor4& out, const void* bias, std::int64_t bias_stride) {
  if constexpr (B == Backend::cuda) {
    static const std::string label = "portops::deform_conv2d[pixels]";
    const auto launch = [&]<int N, bool depthwise>() {
      launch_by_items<B>(ctx, label,
                         ConvolvePixels<T, N, depthwise>(step, weight, out, static_cast<const T*>(bias), bias_stride));
    };
    const std::int64_t outs = step.windows.group_out_channels();
    if (outs == 1) return launch.template operator()<4, true>();
    if (outs <= 4) return launch.template operator()<4, false>();
    launch.template operator()<8, false>();
  }
}

}  // namespace portops::impl
