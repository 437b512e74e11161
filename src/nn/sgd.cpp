// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/sgd.hpp"

#include "nn/optimizer.hpp"
#include "portops/ops/sparse_momentum.hpp"
#include "portops/ops/sparse_sgd.hpp"

namespace portops::nn {

Sgd::Sgd(const Context& ctx, const State& parameters, double learning_rate, const SgdParams& params)
    : Optimizer(ctx, parameters, learning_rate, rules_of(params)), params_(params) {}

Sgd::~Sgd() = default;

Optimizer::Rules Sgd::rules_of(const SgdParams& params) {
  Rules rules{.op = "sgd",
              .attributes = {},
              .moments = {},
              .powers = {},
              .has_masters = params.has_masters,
              .weight_decay = params.weight_decay,
              .maximize = params.maximize};
  if (params.momentum != 0) {
    rules.op = "momentum";
    rules.attributes = {{"mu", params.momentum}, {"use_nesterov", params.use_nesterov}};
    rules.moments = {"velocity"};
  }
  return rules;
}

void Sgd::sparse_step(const Context& ctx, const SparseStep& step) const {
  if (params_.momentum == 0) {
    portops::sparse_sgd(ctx, step.param, step.rows, step.values, step.param,
                        {.count = step.count, .learning_rate = learning_rate()});
    return;
  }
  portops::sparse_momentum(ctx, step.param, step.rows, step.values, step.moments[0], step.param, step.moments[0],
                           {.count = step.count,
                            .learning_rate = learning_rate(),
                            .mu = params_.momentum,
                            .use_nesterov = params_.use_nesterov});
}

}  // namespace portops::nn
