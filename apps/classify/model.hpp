// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "batches.hpp"

#include <portops/core/context.hpp>
#include <portops/core/element_type.hpp>
#include <portops/core/tensor.hpp>

#include <cstdint>
#include <string>
#include <vector>

// A bag-of-words classifier: a table with a row for each word and a column for each class. The scores of a line are the
// average of the rows of its words, and the softmax of the scores the probabilities of the classes: logistic
// regression on how often each word is among those of a line. It is fastText's classifier (A. Joulin, E. Grave,
// P. Bojanowski, T. Mikolov, Bag of Tricks for Efficient Text Classification, EACL 2017) without the layer between
// words and classes, and an embedding bag as wide as there are classes. A step of learning is a few calls, one enqueued
// behind the other:
//
//   embedding(table, words) -> gathered                 [words of the batch, classes], ragged
//   sequence_pool(gathered) -> scores                   [lines of the batch, classes]
//   cross_entropy_with_softmax(scores, labels) -> loss
//   cross_entropy_with_softmax_grad(scores, labels) -> scores_grad
//   sequence_pool_grad(scores_grad) -> gathered_grad
//   sparse_adam(table, rows = words, values = gathered_grad)
//
// The gradient of the gathered rows is a sparse gradient of the table as it lies: what the words of the batch do not
// touch stays as it was, and a word that occurs more than once is added up by the optimizer's step.

namespace portops::apps {

enum class Optimizer : std::uint8_t { adam, momentum, sgd };

struct ModelOptions {
  ElementType type = ElementType::f32;
  Optimizer optimizer = Optimizer::adam;
};

/// The means over lines.
struct Measures {
  double loss = 0.0;
  double accuracy = 0.0;
};

class Model {
 public:
  /// All scores are 0 in the beginning. Batches have at most so many lines and words.
  Model(const Context& ctx, const ModelOptions& options, std::int64_t rows, std::int64_t classes,
        std::int64_t batch_lines, std::int64_t batch_words);

  /// Learns from the batches, one after the other, each with a learning rate of its own: the rate falls evenly from
  /// the first to the last. Returns what was measured of each batch before it was learned from; this alone waits for
  /// the device.
  Measures learn(const Batches& batches, double first_rate, double last_rate);
  Measures measure(const Batches& batches);

  /// The table, in host memory.
  std::vector<double> table() const;

 private:
  /// Room for what is measured of the batches.
  void make_room(const Batches& batches);
  void forward(const Batch& batch);
  void backward(const Batch& batch);
  void update(const Batch& batch, double learning_rate);
  /// Of the batches that have gone forward. A line is right where no other class scores as much as its own: it is the
  /// first of the largest scores, and the first one backwards.
  Measures measures(const Batches& batches) const;
  /// Where each line has the first of its largest scores, or, counted from the last class, the last one.
  std::vector<std::int64_t> largest(std::int64_t lines, bool backwards) const;

  TensorRef gathered(const Batch& batch) const;
  TensorRef scores(const Batch& batch) const;
  TensorRef loss(const Batch& batch) const;
  TensorRef log_sum_exp(const Batch& batch) const;
  TensorRef scores_grad(const Batch& batch) const;

  Context ctx_;
  Optimizer optimizer_;
  std::int64_t classes_;
  std::int64_t steps_ = 0;
  Tensor table_;
  Tensor moment1_;  // the velocity, of momentum
  Tensor moment2_;
  Tensor gathered_;
  Tensor scores_;  // of all batches
  Tensor losses_;  // a mean for each batch
  Tensor log_sum_exp_;
  Tensor count_;
  Tensor loss_grad_;  // 1
  Tensor scores_grad_;
};

}  // namespace portops::apps
