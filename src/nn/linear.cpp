// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/linear.hpp"

#include "nn/uniform_bound.hpp"
#include "portops/autograd/operators.hpp"
#include "portops/ops/linear.hpp"

namespace portops::nn {

Linear::Linear(const Context& ctx, Generator& random, std::int64_t in_features, std::int64_t out_features,
               const LinearParams& params) {
  const double bound = impl::uniform_bound("Linear", "in_features", in_features, 1);
  weight = uniform(ctx, random, params.type, {out_features, in_features}, bound);
  if (params.bias) bias = uniform(ctx, random, params.type, {out_features}, bound);
}

Variable Linear::operator()(const Context& ctx, const Variable& x) const {
  return autograd::linear(ctx, x, weight, {.bias = bias, .transpose_weight = true});
}

}  // namespace portops::nn
