// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model.hpp"

#include "common/slice.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/autograd/scopes.hpp>
#include <portops/core/runtime.hpp>
#include <portops/nn/adam.hpp>
#include <portops/nn/generator.hpp>
#include <portops/nn/sgd.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/sparse_momentum.hpp>
#include <portops/ops/sparse_sgd.hpp>

namespace portops::apps {

namespace ag = autograd;

namespace {

nn::Embedding zero_table(const Context& ctx, ElementType type, std::int64_t rows, std::int64_t classes) {
  nn::Generator none(0);
  nn::Embedding table(ctx, none, 0, classes, {.sparse = true, .type = type});
  table.weight = nn::constant(ctx, type, {rows, classes}, 0.0, ag::Gradient::sparse);
  return table;
}

/// The rates are set with every step. The table itself takes the steps, whatever its type.
std::unique_ptr<nn::Optimizer> make_optimizer(const Context& ctx, Optimizer optimizer, const nn::State& parameters) {
  switch (optimizer) {
    case Optimizer::adam: return std::make_unique<nn::Adam>(ctx, parameters, 0.0, nn::AdamParams{.has_masters = false});
    case Optimizer::momentum:
      return std::make_unique<nn::Sgd>(ctx, parameters, 0.0, nn::SgdParams{.momentum = 0.9, .has_masters = false});
    case Optimizer::sgd: break;
  }
  return std::make_unique<nn::Sgd>(ctx, parameters, 0.0, nn::SgdParams{.has_masters = false});
}

}  // namespace

Model::Model(const Context& ctx, const ModelOptions& options, std::int64_t rows, std::int64_t classes)
    : ctx_(ctx),
      table_(zero_table(ctx, options.type, rows, classes)),
      optimizer_(make_optimizer(ctx, options.optimizer, table_.parameters())) {}

void Model::make_room(const Batches& batches) {
  const TensorRef table = table_.weight.tensor();
  if (scores_.ref() && scores_.ref().extent(0) >= batches.lines()) return;
  scores_ = Tensor(table.type(), {batches.lines(), table.extent(1)}, table.space());
}

nn::Variable Model::scores(const Batch& batch) {
  const nn::Variable words(batch.words, batch.levels);
  nn::Variable scores = ag::sequence_pool(ctx_, table_(ctx_, words), {.pooltype = "average"});
  copy(ctx_, scores.tensor(), slice(scores_, batch.first * scores.tensor().extent(1), scores.tensor().extents()));
  return scores;
}

Measures Model::learn(const Batches& batches, double first_rate, double last_rate) {
  make_room(batches);
  for (const Batch& batch : batches) {
    const double done = static_cast<double>(batch.first) / static_cast<double>(batches.lines());
    ag::backward(ctx_, ag::cross_entropy_with_softmax(ctx_, scores(batch), batch.labels));
    optimizer_->set_learning_rate(ctx_, first_rate + done * (last_rate - first_rate));
    optimizer_->step(ctx_);
    optimizer_->clear_grads();
  }
  return measures(batches);
}

Measures Model::measure(const Batches& batches) {
  const ag::NoGradients scope;
  make_room(batches);
  for (const Batch& batch : batches) scores(batch);
  return measures(batches);
}

Measures Model::measures(const Batches& batches) const {
  std::vector<Told> told =
      told_by(values_of(ctx_, slice(scores_, 0, {batches.lines(), scores_.ref().extent(1)})), batches.labels());
  constexpr std::int64_t none = -1;
  for (Told& each : told) each.label = each.is_alone ? each.label : none;
  Measures measures;
  measures.add(told, batches.labels());
  return measures;
}

}  // namespace portops::apps
