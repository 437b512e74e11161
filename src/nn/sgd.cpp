// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/sgd.hpp"

#include "nn/optimizer.hpp"
#include "portops/ops/momentum.hpp"
#include "portops/ops/sgd.hpp"
#include "portops/ops/sparse_momentum.hpp"
#include "portops/ops/sparse_sgd.hpp"

namespace portops::nn {

Sgd::Sgd(const Context& ctx, const State& parameters, double learning_rate, const SgdParams& params)
    : Optimizer(ctx, parameters, learning_rate,
                {.moments = params.momentum != 0 ? std::vector<std::string>{"velocity"} : std::vector<std::string>{},
                 .powers = {},
                 .has_masters = params.has_masters,
                 .weight_decay = params.weight_decay,
                 .maximize = params.maximize}),
      params_(params) {}

Sgd::~Sgd() = default;

void Sgd::dense_step(const Context& ctx, const Step& step) const {
  if (params_.momentum == 0) {
    portops::sgd(ctx, step.param, step.grad, step.learning_rate, step.param, step.master,
                 {.master_param = step.master,
                  .grad_scale = step.grad_scale,
                  .skip = step.skip,
                  .weight_decay = params_.weight_decay,
                  .maximize = params_.maximize});
    return;
  }
  portops::momentum(ctx, step.param, step.grad, step.moments[0], step.learning_rate, step.param, step.moments[0],
                    step.master,
                    {.master_param = step.master,
                     .grad_scale = step.grad_scale,
                     .skip = step.skip,
                     .mu = params_.momentum,
                     .use_nesterov = params_.use_nesterov,
                     .weight_decay = params_.weight_decay,
                     .maximize = params_.maximize});
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
