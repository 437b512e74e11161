// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "common/measures.hpp"
#include "device_images.hpp"
#include "images.hpp"
#include "network.hpp"
#include "step_program.hpp"
#include "timeline.hpp"

#include <portops/comm/communicator.hpp>
#include <portops/comm/gradient_sum.hpp>
#include <portops/core/context.hpp>
#include <portops/core/tensor.hpp>
#include <portops/nn/adam.hpp>
#include <portops/nn/generator.hpp>
#include <portops/nn/loss_scale.hpp>
#include <portops/nn/module.hpp>
#include <portops/nn/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace portops::apps {

struct TrainOptions {
  NetworkOptions network;
  Augmentation augmentation;
  std::int64_t batch = 128;  ///< the items of a step; the last one of an epoch may have fewer
  /// Of a step: each normalised by its own statistics, their gradients added. The processes share them; no fewer than
  /// processes, and no more than items of a batch.
  std::int64_t micro_batches = 1;
  /// Whether a batch is normalised as a whole instead, by the statistics of all its items: then each process has one
  /// micro-batch, the last one of an epoch perhaps without items.
  bool synchronise_batch_norm = false;
  std::int64_t bucket_bytes = comm::GradientSumParams().bucket_bytes;  ///< gradients are sent by so many, or more
  std::int64_t epochs = 10;                                            ///< by which the learning rate has fallen to 0
  double learning_rate = 0.002;                                        ///< the highest one
  std::int64_t seed = 1;
  /// Whether whole batches are computed by one program, on a GPU in one launch, where one process computes them as one
  /// micro-batch, without a timeline. On hosts the bits are the same.
  bool is_program = false;
};

/// Trains a network: Adam by the cross entropy, with a learning rate that rises over the first twentieth of the steps,
/// and then falls along a cosine. f16 has a scale of the loss.
///
/// Several processes train one network: each computes some of the micro-batches of a step, and some of the items to
/// test. All of them make the same calls, and have the same numbers. The order of an epoch follows from the seed, so
/// each knows which of the images to learn from it will need: these alone it reads, when the epoch begins. One process
/// needs all of them in every epoch, and reads them once.
///
/// Nothing in a step of one process waits for the device. The images lie there, a batch is gathered there, and its
/// logits stay there until somebody asks what has been learned.
class Trainer {
 public:
  /// `timeline`, where there is one, is told what is done when.
  Trainer(const Context& ctx, const TrainOptions& options, const StoredImages& train, const LabelledImages& test,
          const comm::Communicator& processes = {}, Timeline* timeline = nullptr);

  std::int64_t steps_per_epoch() const { return (items() + options_.batch - 1) / options_.batch; }
  /// Those taken, from the first epoch on, and those of all epochs.
  std::int64_t steps() const { return step_; }
  std::int64_t all_steps() const { return options_.epochs * steps_per_epoch(); }
  std::int64_t epochs_done() const { return step_ / steps_per_epoch(); }
  nn::Module& network() { return network_; }
  /// Of all images where the backend has its tensors.
  std::size_t image_bytes() const { return (train_images_ ? train_images_->bytes() : 0) + test_images_.bytes(); }
  /// The items to learn from that are there, in ascending order.
  const std::vector<std::int64_t>& held_items() const { return held_; }

  /// Puts the items of the next epoch into an order by chance, which follows from the seed and the epoch alone, and
  /// reads those that this process learns from, unless they are there. Throws Error where they cannot be read.
  void begin_epoch();
  /// Goes back to the first batch of the epoch, for timing.
  void rewind_epoch() { learned_ = measured_ = 0; }
  /// Learns from the next batch of the epoch.
  void step();
  /// What the steps of the epoch have come to since this was asked for last, each before it was learned from. Waits.
  /// Throws Error where a loss is NaN or Inf.
  Measures measure();

  /// A batch of the items to test, from `first` on.
  ImageBatch test_batch(std::int64_t first, std::int64_t items) const;
  /// The logits of a batch of the items to test, from `first` on, by the running statistics of batch_norm; no gradient.
  nn::Variable infer(std::int64_t first, std::int64_t items);
  /// Of all items to test. Waits. Throws Error where a loss is NaN or Inf.
  std::vector<Told> test();

  /// All that changes as it learns, between two epochs. It goes on being this one's.
  nn::State state();

 private:
  std::int64_t items() const { return train_.items(); }
  /// Of a step of so many items those of a micro-batch, and how many of them count.
  struct Part {
    comm::Range items;
    std::int64_t counted;
  };
  Part part_of(std::int64_t micro_batch, std::int64_t items) const;
  comm::Range own_micro_batches() const;

  bool has_program() const {
    return options_.is_program && processes_.size() == 1 && options_.micro_batches == 1 && timeline_ == nullptr;
  }
  void hold(const std::vector<std::size_t>& order);
  void begin_sum();
  void step_by_program();
  void learn_by_calls(std::int64_t items);
  void update();
  void learn(std::int64_t micro_batch, std::int64_t items);
  void complete(const TensorRef& logits) const;

  Context ctx_;
  TrainOptions options_;
  comm::Communicator processes_;
  nn::Generator random_;
  Network network_;
  nn::Adam optimizer_;
  std::optional<comm::GradientSum> sum_;
  std::optional<nn::LossScale> scale_;
  std::optional<StepProgram> program_;
  StoredImages train_;
  std::vector<std::int64_t> held_;
  std::optional<DeviceImages> train_images_;  ///< those that are held
  DeviceImages test_images_;
  std::vector<std::int64_t> test_labels_;
  nn::Schedule schedule_;
  std::int64_t step_ = 0;
  // Of the epoch: labels in its order, on the host and the device; rows of the images; the logits of its steps.
  std::vector<std::int64_t> labels_;
  Tensor device_labels_, rows_, test_rows_, logits_;
  std::int64_t learned_ = 0, measured_ = 0;  // items
  Timeline* timeline_;
};

}  // namespace portops::apps
