// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/adam.hpp"

#include "nn/optimizer.hpp"
#include "portops/ops/sparse_adam.hpp"

#include <cmath>

namespace portops::nn {

Adam::Adam(const Context& ctx, const State& parameters, double learning_rate, const AdamParams& params)
    : Optimizer(ctx, parameters, learning_rate,
                {.op = "adam",
                 .attributes = {{"beta1", params.beta1},
                                {"beta2", params.beta2},
                                {"epsilon", params.epsilon},
                                {"decoupled_weight_decay", params.decoupled_weight_decay}},
                 .moments = {"moment1", "moment2"},
                 .powers = {{"beta1_pow", params.beta1}, {"beta2_pow", params.beta2}},
                 .has_masters = params.has_masters,
                 .weight_decay = params.weight_decay,
                 .maximize = params.maximize}),
      params_(params) {}

Adam::~Adam() = default;

void Adam::sparse_step(const Context& ctx, const SparseStep& step) const {
  const auto number = static_cast<double>(step.number);
  portops::sparse_adam(ctx, step.param, step.rows, step.values, step.moments[0], step.moments[1], step.param,
                       step.moments[0], step.moments[1],
                       {.count = step.count,
                        .learning_rate = learning_rate(),
                        .beta1_pow = std::pow(params_.beta1, number),
                        .beta2_pow = std::pow(params_.beta2, number),
                        .beta1 = params_.beta1,
                        .beta2 = params_.beta2,
                        .epsilon = params_.epsilon});
}

}  // namespace portops::nn
