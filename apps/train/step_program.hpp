// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "network.hpp"

#include <portops/autograd/variable.hpp>
#include <portops/core/context.hpp>
#include <portops/core/tensor_ref.hpp>
#include <portops/graph/execution.hpp>

#include <string>
#include <vector>

namespace portops::apps {

/// The forward and the backward pass of a batch as one program, with the bits of the tape's calls but for the last
/// layer's products on a GPU, which may be rounded otherwise. On a GPU it is one launch, from its second run on.
class StepProgram {
 public:
  /// Of a network made with `options`, whose parameters and running statistics runs read and change where they lie;
  /// `images` are the extents of a batch, [items, 1, H, W]. `network` outlives this.
  StepProgram(const Context& ctx, Network& network, const NetworkOptions& options, const Extents& images);

  /// Where a run reads the batch from: of the network's type, and its classes, i64 [items].
  TensorRef images() { return execution_.input("images"); }
  TensorRef labels() { return execution_.input("labels"); }
  /// The gradient of the loss with respect to itself, [], where a run reads it.
  TensorRef loss_grad() { return execution_.input("loss_grad"); }
  /// What a run leaves: [items, classes], and the mean of the cross entropy, [].
  TensorRef logits() { return execution_.output("logits"); }
  TensorRef loss() { return execution_.output("loss"); }

  /// Afterwards the network's parameters have their gradients, until the next run.
  void run();

 private:
  StepProgram(const Context& ctx, const graph::Program& program, Network& network);

  struct Gradient {
    autograd::Variable parameter, gradient;
  };

  bool is_on_gpu_;
  bool has_run_ = false;
  graph::Execution execution_;
  std::vector<Gradient> gradients_;
};

}  // namespace portops::apps
