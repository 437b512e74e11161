// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model.hpp"

#include "common/slice.hpp"
#include "common/transfer.hpp"
#include "kernels.hpp"

#include <portops/core/runtime.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/sparse_momentum.hpp>
#include <portops/ops/sparse_sgd.hpp>

#include <cmath>
#include <cstddef>

namespace portops::apps {

Model::Model(const Context& ctx, const ModelOptions& options, std::int64_t rows, std::int64_t classes,
             std::int64_t batch_lines, std::int64_t batch_words)
    : ctx_(ctx), optimizer_(options.optimizer), classes_(classes) {
  const ElementType type = options.type;
  const MemorySpace space = default_memory_space(ctx.backend());
  table_ = zeros(ctx, type, {rows, classes});
  if (optimizer_ != Optimizer::sgd) moment1_ = zeros(ctx, type, {rows, classes});
  if (optimizer_ == Optimizer::adam) moment2_ = zeros(ctx, type, {rows, classes});
  gathered_ = Tensor(type, {batch_words, classes}, space);
  scores_ = Tensor(type, {batch_lines, classes}, space);
  scores_grad_ = Tensor(type, {batch_lines, classes}, space);
}

TensorRef Model::gathered(const Batch& batch) const { return slice(gathered_, 0, {batch.words.extent(0), classes_}); }
TensorRef Model::scores(const Batch& batch) const { return slice(scores_, 0, {batch.lines(), classes_}); }
TensorRef Model::scores_grad(const Batch& batch) const { return slice(scores_grad_, 0, {batch.lines(), classes_}); }

TensorRef Model::measures_of(std::int64_t lines) {
  const ElementType type = table_.ref().type() == ElementType::f64 ? ElementType::f64 : ElementType::f32;
  const Extents extents{lines, 2};
  if (!measures_.ref() || measures_.ref().extent(0) < lines) measures_ = Tensor(type, extents, table_.ref().space());
  return slice(measures_, 0, extents);
}

void Model::forward(const Batch& batch, const TensorRef& measures, bool with_gradient) {
  const TensorRef gathered = this->gathered(batch);
  const TensorRef gradient = with_gradient ? scores_grad(batch) : TensorRef();
  embedding(ctx_, table_, batch.words, gathered);
  sequence_pool(ctx_, {gathered, batch.levels}, scores(batch), {}, {.pooltype = "average"});
  softmax_loss(ctx_, scores(batch), batch.labels, measures, gradient, 1.0 / static_cast<double>(batch.lines()));
}

void Model::update(const Batch& batch, double learning_rate) {
  // The gathered rows are not needed any more: their gradient takes their place.
  const TensorRef gradient = gathered(batch);
  const TensorRef shape = TensorRef::without_data(gradient.type(), gradient.extents());
  sequence_pool_grad(ctx_, {shape, batch.levels}, scores_grad(batch), gradient, {.pooltype = "average"});
  ++steps_;
  switch (optimizer_) {
    case Optimizer::adam: {
      SparseAdamParams params{.learning_rate = learning_rate};
      params.beta1_pow = std::pow(params.beta1, static_cast<double>(steps_));
      params.beta2_pow = std::pow(params.beta2, static_cast<double>(steps_));
      return sparse_adam(ctx_, table_, batch.words, gradient, moment1_, moment2_, table_, moment1_, moment2_, params);
    }
    case Optimizer::momentum:
      return sparse_momentum(ctx_, table_, batch.words, gradient, moment1_, table_, moment1_,
                             {.learning_rate = learning_rate});
    case Optimizer::sgd:
      return sparse_sgd(ctx_, table_, batch.words, gradient, table_, {.learning_rate = learning_rate});
  }
}

Measures Model::learn(const Batches& batches, double first_rate, double last_rate) {
  const TensorRef measures = measures_of(batches.lines());
  for (const Batch& batch : batches) {
    const double done = static_cast<double>(batch.first) / static_cast<double>(batches.lines());
    forward(batch, slice(measures_, 2 * batch.first, {batch.lines(), 2}), true);
    update(batch, first_rate + done * (last_rate - first_rate));
  }
  return mean(measures);
}

Measures Model::measure(const Batches& batches) {
  const TensorRef measures = measures_of(batches.lines());
  for (const Batch& batch : batches) forward(batch, slice(measures_, 2 * batch.first, {batch.lines(), 2}), false);
  return mean(measures);
}

Measures Model::mean(const TensorRef& measures) {
  const Tensor out(measures.type(), {1, 2}, measures.space());
  sequence_pool(ctx_, {measures, Levels::from_lengths({measures.extent(0)})}, out, {}, {.pooltype = "average"});
  const std::vector<double> values = values_of(ctx_, out);
  return {values[0], values[1]};
}

std::vector<double> Model::table() const { return values_of(ctx_, table_); }

}  // namespace portops::apps
