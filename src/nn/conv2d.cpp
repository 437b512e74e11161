// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/conv2d.hpp"

#include "core/types/fail.hpp"
#include "nn/uniform_bound.hpp"
#include "portops/autograd/operators.hpp"
#include "portops/ops/conv2d.hpp"

namespace portops::nn {

Conv2d::Conv2d(const Context& ctx, Generator& random, std::int64_t in_channels, std::int64_t out_channels,
               std::array<std::int64_t, 2> kernel_size, const Conv2dParams& its_params)
    : params(its_params) {
  if (params.groups < 1 || in_channels % params.groups != 0) {
    impl::fail("portops::nn::Conv2d: groups is ", params.groups, ", expected a divisor of in_channels, ", in_channels);
  }
  const std::int64_t channels = in_channels / params.groups;
  const double bound = impl::uniform_bound("Conv2d", "in_channels", channels, kernel_size[0] * kernel_size[1]);
  weight = uniform(ctx, random, params.type, {out_channels, channels, kernel_size[0], kernel_size[1]}, bound);
  if (params.bias) bias = uniform(ctx, random, params.type, {out_channels}, bound);
}

Variable Conv2d::operator()(const Context& ctx, const Variable& x) const {
  return autograd::conv2d(ctx, x, weight,
                          {.bias = bias,
                           .stride = params.stride,
                           .padding = params.padding,
                           .dilation = params.dilation,
                           .groups = params.groups});
}

}  // namespace portops::nn
