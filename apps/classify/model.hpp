// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "batches.hpp"
#include "common/measures.hpp"
#include "common/transfer.hpp"

#include <portops/core/context.hpp>
#include <portops/core/element_type.hpp>
#include <portops/core/tensor.hpp>
#include <portops/nn/embedding.hpp>
#include <portops/nn/optimizer.hpp>

#include <cstdint>
#include <memory>
#include <vector>

// A bag-of-words classifier: a table with a row for each word and a column for each class. The scores of a line are the
// average of the rows of its words, and the softmax of the scores the probabilities of the classes: logistic
// regression on how often each word is among those of a line. It is fastText's classifier (A. Joulin, E. Grave,
// P. Bojanowski, T. Mikolov, Bag of Tricks for Efficient Text Classification, EACL 2017) without the layer between
// words and classes, and an embedding bag as wide as there are classes:
//
//   scores = sequence_pool(embedding(table, words))      [lines of the batch, classes]
//   loss   = cross_entropy_with_softmax(scores, labels)
//
// The gradient of the table is sparse: the rows of the words of a batch. What these do not touch stays as it was.

namespace portops::apps {

enum class Optimizer : std::uint8_t { adam, momentum, sgd };

struct ModelOptions {
  ElementType type = ElementType::f32;
  Optimizer optimizer = Optimizer::adam;
};

class Model {
 public:
  /// All scores are 0 in the beginning.
  Model(const Context& ctx, const ModelOptions& options, std::int64_t rows, std::int64_t classes);

  /// Learns from the batches, one after the other, each with a learning rate of its own: the rate falls evenly from
  /// the first to the last. Returns what was measured of each batch before it was learned from; this alone waits for
  /// the device.
  Measures learn(const Batches& batches, double first_rate, double last_rate);
  Measures measure(const Batches& batches);

  /// The table, in host memory.
  std::vector<double> table() const { return values_of(ctx_, table_.weight.tensor()); }

 private:
  /// The scores of a batch, which are kept until all of them are measured.
  nn::Variable scores(const Batch& batch);
  /// Room for the scores of the batches.
  void make_room(const Batches& batches);
  /// Of the batches that have gone forward. A line is right where no other class scores as much as its own.
  Measures measures(const Batches& batches) const;

  Context ctx_;
  nn::Embedding table_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  Tensor scores_;  // of all batches
};

}  // namespace portops::apps
