// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/batch_norm2d.hpp"

#include "nn/generator.hpp"
#include "nn/shared_batch_norm.hpp"
#include "portops/autograd/operators.hpp"
#include "portops/ops/batch_norm.hpp"

namespace portops::nn {

BatchNorm2d::BatchNorm2d(const Context& ctx, std::int64_t channels, const BatchNorm2dParams& its_params)
    : params(its_params) {
  const ElementType sums = params.type == ElementType::f64 ? ElementType::f64 : ElementType::f32;
  weight = constant(ctx, params.type, {channels}, 1);
  bias = constant(ctx, params.type, {channels}, 0);
  running_mean = constant(ctx, sums, {channels}, 0, autograd::Gradient::none);
  running_var = constant(ctx, sums, {channels}, 1, autograd::Gradient::none);
}

Variable BatchNorm2d::operator()(const Context& ctx, const Variable& x) const {
  autograd::BatchNormParams options{
      .scale = weight, .bias = bias, .momentum = params.momentum, .epsilon = params.epsilon};
  if (is_training()) {
    options.mean_out = running_mean;
    options.variance_out = running_var;
    if (shared_batch()) return impl::shared_batch_norm(ctx, shared_batch(), x, running_mean, running_var, options);
  } else {
    options.is_test = true;
  }
  return autograd::batch_norm(ctx, x, running_mean, running_var, options).out;
}

}  // namespace portops::nn
