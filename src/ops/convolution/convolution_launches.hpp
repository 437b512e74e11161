// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/channel_packs.hpp"
#include "ops/convolution/columns.hpp"
#include "ops/convolution/convolve_pixels.hpp"
#include "ops/convolution/convolve_strips.hpp"
#include "ops/convolution/convolve_tiles.hpp"

#include <string>

// What the kernels of a convolution do that samples x as Sampler does (sampling.hpp); for strips and for pixels as
// Samples does (strip.hpp, pixel_sampling.hpp).

namespace portops::impl {

template <Backend B, class T, class Sampler>
void launch_columns(const Context& ctx, const std::string& label, const ImageStep& step) {
  with_channel_packs<B, T, T>(step, [&]<int N>() {
    launch_by_teams<B>(ctx, label,
                       Columns<B, T, N, Sampler>(step.windows, Sampler(step), static_cast<const T*>(step.x.data),
                                                 pixel_strides(step.x), static_cast<T*>(step.columns)));
  });
}

template <Backend B, class T, class Sampler, class Samples>
void launch_tiles(const Context& ctx, const std::string& label, const ImageStep& step, const void* packed_weight,
                  const ConvolutionOut& to) {
  using Kernel = ConvolveTiles<B, T, Sampler, Samples>;
  const SpaceOf<B>& space = instance<B>(ctx);
  const Kernel kernel(step, static_cast<const Arithmetic<T>*>(packed_weight), to, space.concurrency());
  typename Kernel::Policy policy(space, static_cast<int>(std::min(kernel.tiles(), most_teams)), 1, 1);
  policy.set_scratch_size(1, Kokkos::PerTeam(kernel.scratch_bytes() + Kernel::alignment));
  Kokkos::parallel_for(label, policy, kernel);
}

template <Backend B, class T, class Samples>
void launch_strips(const Context& ctx, const std::string& label, const ImageStep& step, const Tensor4& weight,
                   const ConvolutionOut& to) {
  launch_by_items<B>(ctx, label,
                     ConvolveStrips<T, Samples>(step, weight, to.out, static_cast<const T*>(to.bias), to.bias_stride));
}

template <Backend B, class T, class Samples>
void launch_pixels(const Context& ctx, const std::string& label, const ImageStep& step, const Tensor4& weight,
                   const ConvolutionOut& to) {
  const auto launch = [&]<int N>() {
    launch_by_teams<B>(ctx, label, ConvolvePixels<B, T, N, Samples>(step, weight, to));
  };
  const Windows& w = step.windows;
  const std::int64_t outs = w.group_out_channels(), pixels = w.images * w.pixels();
  if (outs == 1) {
    constexpr int groups = Samples::groups_together;
    return launch_by_items<B>(ctx, label, ConvolveDepthwisePixels<T, groups, Samples>(step, weight, to));
  }
  if (outs <= 4) return launch.template operator()<4>();
  // A thread that has many sums finds a sample once for them, but few such threads leave a GPU idle.
  constexpr std::int64_t many_pixels = 1 << 16;
  if (outs <= 16 || pixels < many_pixels) return launch.template operator()<8>();
  launch.template operator()<32>();
}

}  // namespace portops::impl
