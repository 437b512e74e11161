// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model.hpp"

#include "common/element_cast.hpp"
#include "common/slice.hpp"
#include "common/transfer.hpp"

#include <portops/core/runtime.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/embedding.hpp>
#include <portops/ops/pool2d.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/sparse_momentum.hpp>
#include <portops/ops/sparse_sgd.hpp>

#include <cmath>
#include <cstddef>
#include <type_traits>

namespace portops::apps {

namespace {

/// The number 1, where the context's backend has its tensors.
Tensor one(const Context& ctx, ElementType type) {
  const Tensor host(type, {});
  with_type(type, [&]<class T>(std::type_identity<T>) { *host.data<T>() = element_cast<T>(1.0f); });
  return to_backend(ctx, host);
}

/// The numbers in an i64 tensor. Returns when everything enqueued on the context is done.
std::vector<std::int64_t> numbers_of(const Context& ctx, const Tensor& tensor) {
  const Tensor host = to_host(ctx, tensor);
  return {host.data<std::int64_t>(), host.data<std::int64_t>() + host.ref().size()};
}

}  // namespace

Model::Model(const Context& ctx, const ModelOptions& options, std::int64_t rows, std::int64_t classes,
             std::int64_t batch_lines, std::int64_t batch_words)
    : ctx_(ctx), optimizer_(options.optimizer), classes_(classes) {
  const ElementType type = options.type;
  const MemorySpace space = default_memory_space(ctx.backend());
  table_ = zeros(ctx, type, {rows, classes});
  if (optimizer_ != Optimizer::sgd) moment1_ = zeros(ctx, type, {rows, classes});
  if (optimizer_ == Optimizer::adam) moment2_ = zeros(ctx, type, {rows, classes});
  gathered_ = Tensor(type, {batch_words, classes}, space);
  log_sum_exp_ = Tensor(ElementType::f64, {batch_lines}, space);
  count_ = Tensor(ElementType::i64, {}, space);
  loss_grad_ = one(ctx, type);
  scores_grad_ = Tensor(type, {batch_lines, classes}, space);
}

TensorRef Model::gathered(const Batch& batch) const { return slice(gathered_, 0, {batch.words.extent(0), classes_}); }
TensorRef Model::scores(const Batch& batch) const {
  return slice(scores_, batch.first * classes_, {batch.lines(), classes_});
}
TensorRef Model::loss(const Batch& batch) const { return slice(losses_, batch.number, {}); }
TensorRef Model::log_sum_exp(const Batch& batch) const { return slice(log_sum_exp_, 0, {batch.lines()}); }
TensorRef Model::scores_grad(const Batch& batch) const { return slice(scores_grad_, 0, {batch.lines(), classes_}); }

void Model::make_room(const Batches& batches) {
  const TensorRef table = table_;
  const Extents scores{batches.lines(), classes_}, losses{batches.size()};
  if (!scores_.ref() || scores_.ref().extent(0) < scores[0]) scores_ = Tensor(table.type(), scores, table.space());
  if (!losses_.ref() || losses_.ref().extent(0) < losses[0]) losses_ = Tensor(table.type(), losses, table.space());
}

void Model::forward(const Batch& batch) {
  const TensorRef gathered = this->gathered(batch);
  embedding(ctx_, table_, batch.words, gathered);
  sequence_pool(ctx_, {gathered, batch.levels}, scores(batch), {}, {.pooltype = "average"});
  cross_entropy_with_softmax(ctx_, scores(batch), batch.labels, loss(batch), log_sum_exp(batch), count_);
}

void Model::backward(const Batch& batch) {
  cross_entropy_with_softmax_grad(ctx_, scores(batch), batch.labels, log_sum_exp(batch), count_, loss_grad_,
                                  scores_grad(batch));
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
  make_room(batches);
  for (const Batch& batch : batches) {
    const double done = static_cast<double>(batch.first) / static_cast<double>(batches.lines());
    forward(batch);
    backward(batch);
    update(batch, first_rate + done * (last_rate - first_rate));
  }
  return measures(batches);
}

Measures Model::measure(const Batches& batches) {
  make_room(batches);
  for (const Batch& batch : batches) forward(batch);
  return measures(batches);
}

Measures Model::measures(const Batches& batches) const {
  const std::vector<std::int64_t> labels = numbers_of(ctx_, batches.labels());
  const std::vector<std::int64_t> first = largest(batches.lines(), false), last = largest(batches.lines(), true);
  std::int64_t right = 0;
  for (std::size_t line = 0; line < labels.size(); ++line) {
    right += first[line] == labels[line] && last[line] == classes_ - 1 - labels[line] ? 1 : 0;
  }
  const std::vector<double> losses = values_of(ctx_, losses_);
  double loss = 0.0;
  for (const Batch& batch : batches) {
    loss += static_cast<double>(batch.lines()) * losses[static_cast<std::size_t>(batch.number)];
  }
  const auto lines = static_cast<double>(batches.lines());
  return {loss / lines, static_cast<double>(right) / lines};
}

std::vector<std::int64_t> Model::largest(std::int64_t lines, bool backwards) const {
  const TensorRef scores = scores_;
  const auto bytes = static_cast<std::int64_t>(size_of(scores.type()));
  std::byte* const data = scores_.data<std::byte>() + (backwards ? (classes_ - 1) * bytes : 0);
  // A line is an image of one row, and its classes are the pixels.
  const TensorRef images(data, scores.type(), {lines, 1, 1, classes_}, {classes_, 0, 0, backwards ? -1 : 1},
                         scores.space());
  const Tensor out(scores.type(), {lines, 1, 1, 1}, scores.space());
  const Tensor index(ElementType::i64, {lines, 1, 1, 1}, scores.space());
  pool2d(ctx_, images, out, index, {.global_pooling = true});
  return numbers_of(ctx_, index);
}

std::vector<double> Model::table() const { return values_of(ctx_, table_); }

}  // namespace portops::apps
