// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/deform_conv2d.hpp"

#include "core/lanes/tile_shape.hpp"
#include "core/types/fail.hpp"
#include "nn/uniform_bound.hpp"
#include "portops/autograd/operators.hpp"
#include "portops/ops/conv2d.hpp"
#include "portops/ops/deform_conv2d.hpp"
#include "portops/ops/sigmoid.hpp"
#include "portops/ops/split.hpp"

#include <algorithm>

namespace portops::nn {

namespace {

/// Few images at once leave a GPU idle between the kernels of one step and the next; many take memory. All steps get
/// about as many.
std::int64_t images_at_once(const Variable& x, const Variable& offset, const Variable& weight) {
  constexpr std::int64_t least = 64;
  constexpr double most_bytes = 128.0 * (1 << 20);
  // What the operator refuses has no windows.
  const auto has_images = [](const Variable& variable) { return variable && variable.tensor().rank() == 4; };
  if (!has_images(x) || !has_images(offset) || !has_images(weight)) return least;
  const std::int64_t images = x.tensor().extent(0);
  if (images <= least) return least;
  auto bytes = static_cast<double>(size_of(x.tensor().type()));
  for (const std::int64_t extent : {offset.tensor().extent(2), offset.tensor().extent(3), x.tensor().extent(1),
                                    weight.tensor().extent(2), weight.tensor().extent(3)}) {
    bytes *= static_cast<double>(extent);
  }
  const double fitting = std::min(most_bytes / std::max(bytes, 1.0), static_cast<double>(images));
  const std::int64_t most = std::max(static_cast<std::int64_t>(fitting), least);
  return impl::ceil_div(images, impl::ceil_div(images, most));
}

}  // namespace

DeformConv2d::DeformConv2d(const Context& ctx, Generator& random, std::int64_t in_channels, std::int64_t out_channels,
                           std::array<std::int64_t, 2> kernel_size, const DeformConv2dParams& its_params)
    : params(its_params) {
  if (params.groups < 1 || in_channels % params.groups != 0) {
    impl::fail("portops::nn::DeformConv2d: groups is ", params.groups, ", expected a divisor of in_channels, ",
               in_channels);
  }
  const std::int64_t channels = in_channels / params.groups;
  const double bound = impl::uniform_bound("DeformConv2d", "in_channels", channels, kernel_size[0] * kernel_size[1]);
  weight = uniform(ctx, random, params.type, {out_channels, channels, kernel_size[0], kernel_size[1]}, bound);
  if (params.bias) bias = uniform(ctx, random, params.type, {out_channels}, bound);
}

Variable DeformConv2d::operator()(const Context& ctx, const Variable& x, const Variable& offset,
                                  const Variable& mask) const {
  const std::int64_t step = params.im2col_step;
  return autograd::deform_conv2d(ctx, x, offset, weight,
                                 {.mask = mask,
                                  .bias = bias,
                                  .stride = params.stride,
                                  .padding = params.padding,
                                  .dilation = params.dilation,
                                  .groups = params.groups,
                                  .deformable_groups = params.deformable_groups,
                                  .im2col_step = step != 0 ? step : images_at_once(x, offset, weight)});
}

DeformConv2dPack::DeformConv2dPack(const Context& ctx, Generator& random, std::int64_t in_channels,
                                   std::int64_t out_channels, std::array<std::int64_t, 2> kernel_size,
                                   const DeformConv2dParams& its_params)
    : DeformConv2d(ctx, random, in_channels, out_channels, kernel_size, its_params),
      conv_offset(
          ctx, random, in_channels, 3 * params.deformable_groups * kernel_size[0] * kernel_size[1], kernel_size,
          {.stride = params.stride, .padding = params.padding, .dilation = params.dilation, .type = params.type}) {
  conv_offset.weight = constant(ctx, params.type, conv_offset.weight.tensor().extents(), 0);
  conv_offset.bias = constant(ctx, params.type, conv_offset.bias.tensor().extents(), 0);
}

Variable DeformConv2dPack::operator()(const Context& ctx, const Variable& x) const {
  const std::int64_t taps = conv_offset.weight.tensor().extent(0) / 3;
  auto parts = autograd::split(ctx, conv_offset(ctx, x), {.sections = {2 * taps, taps}, .axis = 1});
  autograd::in_place::sigmoid(ctx, parts[1]);
  return DeformConv2d::operator()(ctx, x, parts[0], parts[1]);
}

}  // namespace portops::nn
