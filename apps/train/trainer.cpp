// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trainer.hpp"

#include "common/order.hpp"
#include "common/slice.hpp"
#include "common/transfer.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/autograd/scopes.hpp>
#include <portops/comm/batch_norm.hpp>
#include <portops/comm/share.hpp>
#include <portops/core/runtime.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/reshape.hpp>

#include <algorithm>
#include <span>
#include <string>

namespace portops::apps {

namespace ag = autograd;

namespace {

/// The items that are read at once where none are learned from.
std::int64_t items_at_once(const TrainOptions& options) { return std::max<std::int64_t>(options.batch, 256); }

nn::Schedule schedule_of(const TrainOptions& options, std::int64_t steps_per_epoch) {
  const std::int64_t steps = options.epochs * steps_per_epoch, rising = steps / 20;
  return nn::warm_up(rising, nn::cosine_schedule(options.learning_rate, std::max<std::int64_t>(steps - rising, 1)));
}

}  // namespace

Trainer::Trainer(const Context& ctx, const TrainOptions& options, const StoredImages& train, const LabelledImages& test,
                 const comm::Communicator& processes, Timeline* timeline)
    : ctx_(ctx),
      options_(options),
      processes_(processes),
      random_(options.seed),
      network_(ctx, random_, options.network),
      optimizer_(ctx, network_.parameters(), options.learning_rate),
      train_(train),
      test_images_(ctx, test, options.network.type, {}),
      test_labels_(test.labels),
      schedule_(schedule_of(options, steps_per_epoch())),
      timeline_(timeline) {
  if (options.synchronise_batch_norm) comm::synchronise_batch_norm(processes_, network_);
  if (options.network.type == ElementType::f16) scale_.emplace(ctx);
  logits_ = Tensor(options.network.type, {train.items(), options.network.classes}, default_memory_space(ctx.backend()));
  std::mt19937_64 none;
  test_rows_ = indices_on_backend(ctx, test_images_.rows_of(numbers_to(test_labels_.size()), none));
}

void Trainer::begin_epoch() {
  std::seed_seq seed{options_.seed, options_.seed >> 32, epochs_done()};
  std::mt19937_64 random(seed);
  std::vector<std::size_t> order = numbers_to(static_cast<std::size_t>(items()));
  shuffle(order, random);
  labels_.clear();
  for (const std::size_t item : order) labels_.push_back(train_.labels()[item]);
  device_labels_ = indices_on_backend(ctx_, labels_);
  hold(order);
  // Chance is of all items, whoever learns from them; the places of those that are not here are never looked up.
  for (std::size_t& item : order) {
    const auto found = std::lower_bound(held_.begin(), held_.end(), static_cast<std::int64_t>(item));
    const bool is_here = found != held_.end() && *found == static_cast<std::int64_t>(item);
    item = is_here ? static_cast<std::size_t>(found - held_.begin()) : 0;
  }
  rows_ = indices_on_backend(ctx_, train_images_->rows_of(order, random));
  // What the other processes learn from stays 0 here, until all of it is added up.
  if (processes_.size() > 1) logits_ = zeros(ctx_, logits_.ref().type(), logits_.ref().extents());
  learned_ = measured_ = 0;
}

comm::Range Trainer::own_micro_batches() const {
  return comm::share_of(options_.micro_batches, processes_.rank(), processes_.size());
}

Trainer::Part Trainer::part_of(std::int64_t micro_batch, std::int64_t items) const {
  comm::Range part = comm::share_of(items, static_cast<int>(micro_batch), static_cast<int>(options_.micro_batches));
  const std::int64_t counted = part.count;
  // The last batch of an epoch may have too few items for all micro-batches: then one is computed that does not count.
  // Where a batch is normalised as a whole it would count for the statistics: then nothing is computed.
  if (counted == 0 && !options_.synchronise_batch_norm) part = {std::min(part.first, items - 1), 1};
  return {part, counted};
}

/// Reads what this process learns from in an epoch of this order.
void Trainer::hold(const std::vector<std::size_t>& order) {
  const comm::Range mine = own_micro_batches();
  std::vector<std::int64_t> needed;
  for (std::int64_t learned = 0; learned < items(); learned += options_.batch) {
    for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
      const comm::Range part = part_of(i, std::min(options_.batch, items() - learned)).items;
      for (std::int64_t item = learned + part.first; item < learned + part.first + part.count; ++item) {
        needed.push_back(static_cast<std::int64_t>(order[static_cast<std::size_t>(item)]));
      }
    }
  }
  if (needed.empty()) needed.push_back(0);  // a table has a row
  std::sort(needed.begin(), needed.end());
  if (needed == held_) return;
  // Only then is there memory for the next ones.
  ctx_.fence();
  train_images_.reset();
  train_images_.emplace(ctx_, train_.read(needed), options_.network.type, options_.augmentation);
  held_ = std::move(needed);
}

/// Once all that the network begins with is there.
void Trainer::begin_sum() {
  comm::GradientSumParams params{.micro_batches = options_.micro_batches,
                                 .mean = false,  // learn() makes means
                                 .bucket_bytes = options_.bucket_bytes};
  for (const nn::NamedVariable& each : network_.state()) {
    // Those of a whole batch are equal everywhere.
    if (!each.variable.wants_gradient() && !options_.synchronise_batch_norm) params.statistics.push_back(each);
  }
  if (timeline_ != nullptr) {
    params.on_bucket = [this](const comm::BucketEvent& event) { timeline_->bucket(event, step_ + 1); };
  }
  sum_.emplace(ctx_, processes_, network_.parameters(), params);
}

void Trainer::step() {
  const std::int64_t items = std::min(options_.batch, this->items() - learned_);
  if (!network_.is_training()) network_.train(true);
  optimizer_.set_learning_rate(ctx_, schedule_(step_));
  if (items == options_.batch && has_program()) {
    step_by_program();
  } else {
    learn_by_calls(items);
    update();
  }
  learned_ += items;
  ++step_;
}

/// Of the next whole batch.
void Trainer::step_by_program() {
  const ImageBatch batch = train_images_->gather(ctx_, slice(rows_, learned_, {options_.batch}));
  if (!program_) {
    program_.emplace(ctx_, network_, options_.network, batch.images.tensor().extents(), optimizer_,
                     scale_ ? &*scale_ : nullptr);
  }
  reshape(ctx_, batch.images.tensor(), program_->images(), {.shape = {0, 0, 0, 0}});  // without the borders
  copy(ctx_, slice(device_labels_, learned_, {options_.batch}), program_->labels());
  program_->run(ctx_);
  const TensorRef logits = program_->logits();
  copy(ctx_, logits, slice(logits_, learned_ * options_.network.classes, logits.extents()));
}

/// The gradients of the next items.
void Trainer::learn_by_calls(std::int64_t items) {
  if (!sum_) begin_sum();
  const comm::Range mine = own_micro_batches();
  for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) learn(i, items);
  const Timeline::Span span(timeline_, TimelineEvent::sum, step_ + 1);
  sum_->finish(ctx_);
}

/// The step by the gradients.
void Trainer::update() {
  const Timeline::Span span(timeline_, TimelineEvent::update, step_ + 1);
  if (scale_) {
    optimizer_.step(ctx_, *scale_);
  } else {
    optimizer_.step(ctx_);
  }
  optimizer_.clear_grads();
}

/// The gradients of a micro-batch of the next items.
void Trainer::learn(std::int64_t micro_batch, std::int64_t items) {
  const auto [part, counted] = part_of(micro_batch, items);
  // The sum over micro-batches is the mean over items where each counts by its share of them: at most 1, so that the
  // scale of an f16 loss, which may be as large as f16 has room for, does not become Inf.
  const double weight = static_cast<double>(counted) / static_cast<double>(items);
  const std::int64_t first = learned_ + part.first;
  std::optional<Timeline::Span> span(std::in_place, timeline_, TimelineEvent::forward, step_ + 1);
  const ImageBatch batch = train_images_->gather(ctx_, slice(rows_, first, {part.count}));
  const nn::Variable logits = network_(ctx_, batch.images);
  nn::Variable loss = ag::cross_entropy_with_softmax(ctx_, logits, slice(device_labels_, first, {part.count}));
  if (weight > 0) {
    copy(ctx_, logits.tensor(), slice(logits_, first * options_.network.classes, logits.tensor().extents()));
  }
  if (weight != 1) loss = ag::multiply(ctx_, loss, weight);
  ag::BackwardParams params;
  if (scale_) params.loss_grads = {scale_->loss_grad(ctx_, loss)};
  span.emplace(timeline_, TimelineEvent::backward, step_ + 1);
  sum_->backward(ctx_, loss, params);
}

/// Of the logits each process has its own, and zeros.
void Trainer::complete(const TensorRef& logits) const {
  if (processes_.size() > 1) comm::all_reduce(ctx_, processes_, logits);
}

Measures Trainer::measure() {
  const std::int64_t classes = options_.network.classes, items = learned_ - measured_;
  const TensorRef computed = slice(logits_, measured_ * classes, {items, classes});
  complete(computed);
  const std::vector<double> logits = values_of(ctx_, computed);
  const auto labels = std::span<const std::int64_t>(labels_).subspan(static_cast<std::size_t>(measured_),
                                                                     static_cast<std::size_t>(items));
  Measures measures;
  measures.add(told_by(logits, labels), labels);
  check_losses(measures, "by step " + std::to_string(step_));
  measured_ = learned_;
  return measures;
}

ImageBatch Trainer::test_batch(std::int64_t first, std::int64_t items) const {
  return test_images_.gather(ctx_, slice(test_rows_, first, {items}));
}

nn::Variable Trainer::infer(std::int64_t first, std::int64_t items) {
  const ag::NoGradients scope;
  if (network_.is_training()) network_.train(false);
  const ImageBatch batch = test_batch(first, items);
  return network_(ctx_, batch.images);
}

std::vector<Told> Trainer::test() {
  const auto all = static_cast<std::int64_t>(test_labels_.size());
  const std::int64_t classes = options_.network.classes;
  const Tensor logits = zeros(ctx_, options_.network.type, {all, classes});
  const std::int64_t size = processes_.size();
  for (std::int64_t first = 0; first < all; first += items_at_once(options_)) {
    if (first / items_at_once(options_) % size != processes_.rank()) continue;
    const nn::Variable found = infer(first, std::min(items_at_once(options_), all - first));
    copy(ctx_, found.tensor(), slice(logits, first * classes, found.tensor().extents()));
  }
  complete(logits);
  std::vector<Told> told = told_by(values_of(ctx_, logits), test_labels_);
  Measures measures;
  measures.add(told, test_labels_);
  check_losses(measures, "of the items to test");
  return told;
}

nn::State Trainer::state() {
  nn::State all{{"step", TensorRef(&step_, {})}};
  nn::append(all, "model.", network_.state());
  nn::append(all, "optimizer.", optimizer_.state());
  if (scale_) nn::append(all, "loss_scale.", scale_->state());
  nn::append(all, "random.", random_.state());
  return all;
}

}  // namespace portops::apps
