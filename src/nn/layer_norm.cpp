// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/layer_norm.hpp"

#include "nn/generator.hpp"
#include "portops/autograd/operators.hpp"
#include "portops/ops/layer_norm.hpp"

namespace portops::nn {

LayerNorm::LayerNorm(const Context& ctx, const Extents& normalized_shape, const LayerNormParams& its_params)
    : params(its_params) {
  weight = constant(ctx, params.type, normalized_shape, 1);
  if (params.bias) bias = constant(ctx, params.type, normalized_shape, 0);
}

Variable LayerNorm::operator()(const Context& ctx, const Variable& x) const {
  return autograd::layer_norm(ctx, x,
                              {.scale = weight,
                               .bias = bias,
                               .epsilon = params.epsilon,
                               .begin_norm_axis = -std::int64_t{weight.tensor().rank()}})
      .out;
}

}  // namespace portops::nn
