// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "network.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/deform_conv2d.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/mean.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/sigmoid.hpp>
#include <portops/ops/split.hpp>

#include <algorithm>
#include <cmath>

namespace portops::apps {

namespace ag = autograd;

namespace {

std::int64_t channels(const NetworkOptions& options, double at_full_width) {
  return std::max<std::int64_t>(4 * std::llround(options.width * at_full_width / 4), 4);
}

nn::Conv2d convolution(const Context& ctx, nn::Generator& random, const NetworkOptions& options, std::int64_t from,
                       double to) {
  return {ctx, random, from, channels(options, to), {3, 3}, {.padding = {1, 1}, .bias = false, .type = options.type}};
}

nn::DeformConv2dPack deformable(const Context& ctx, nn::Generator& random, const NetworkOptions& options, double from,
                                double to) {
  return {ctx,
          random,
          channels(options, from),
          channels(options, to),
          {3, 3},
          {.padding = {1, 1}, .bias = false, .type = options.type}};
}

nn::BatchNorm2d norm(const Context& ctx, const NetworkOptions& options, double width) {
  return {
      ctx, channels(options, width), {.type = options.type == ElementType::f64 ? ElementType::f64 : ElementType::f32}};
}

nn::Variable pool(const Context& ctx, const nn::Variable& x) { return ag::pool2d(ctx, x, {.kernel_size = {2, 2}}); }

/// relu where x lies: neither batch_norm nor the maxima keep it.
nn::Variable rectified(const Context& ctx, nn::Variable x) {
  ag::in_place::relu(ctx, x);
  return x;
}

}  // namespace

Network::Network(const Context& ctx, nn::Generator& random, const NetworkOptions& options)
    : conv1(convolution(ctx, random, options, 1, 32)),
      conv2(convolution(ctx, random, options, channels(options, 32), 64)),
      deform1(deformable(ctx, random, options, 64, 128)),
      deform2(deformable(ctx, random, options, 128, 128)),
      deform3(deformable(ctx, random, options, 128, 256)),
      norm1(norm(ctx, options, 32)),
      norm2(norm(ctx, options, 64)),
      norm3(norm(ctx, options, 128)),
      norm4(norm(ctx, options, 128)),
      norm5(norm(ctx, options, 256)),
      head(ctx, random, channels(options, 256), options.classes, {.type = options.type}) {}

nn::Variable Network::operator()(const Context& ctx, const nn::Variable& x) const {
  // Maxima come before relu, which they commute with: values and gradients are the same. relu's gradient then keeps a
  // quarter of the elements, and that of the maxima no more than their places.
  nn::Variable y = rectified(ctx, norm1(ctx, conv1(ctx, x)));
  y = rectified(ctx, pool(ctx, norm2(ctx, conv2(ctx, y))));
  y = rectified(ctx, norm3(ctx, deform1(ctx, y)));
  y = rectified(ctx, pool(ctx, norm4(ctx, deform2(ctx, y))));
  y = rectified(ctx, norm5(ctx, deform3(ctx, y)));
  return head(ctx, ag::mean(ctx, y, {.axis = {2, 3}}));
}

void Network::describe(nn::Members& members) {
  members.module("conv1", conv1).module("norm1", norm1).module("conv2", conv2).module("norm2", norm2);
  members.module("deform1", deform1).module("norm3", norm3).module("deform2", deform2).module("norm4", norm4);
  members.module("deform3", deform3).module("norm5", norm5).module("head", head);
}

}  // namespace portops::apps
