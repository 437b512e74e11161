// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/deform_conv2d.hpp"

#include "core/types/fail.hpp"
#include "nn/uniform_bound.hpp"
#include "portops/autograd/operators.hpp"
#include "portops/ops/conv2d.hpp"
#include "portops/ops/deform_conv2d.hpp"
#include "portops/ops/sigmoid.hpp"
#include "portops/ops/split.hpp"

namespace portops::nn {

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
  return autograd::deform_conv2d(ctx, x, offset, weight,
                                 {.mask = mask,
                                  .bias = bias,
                                  .stride = params.stride,
                                  .padding = params.padding,
                                  .dilation = params.dilation,
                                  .groups = params.groups,
                                  .deformable_groups = params.deformable_groups});
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
