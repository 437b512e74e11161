// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "network.hpp"

#include <portops/core/context.hpp>
#include <portops/core/tensor_ref.hpp>
#include <portops/graph/execution.hpp>
#include <portops/nn/loss_scale.hpp>
#include <portops/nn/optimizer.hpp>

namespace portops::apps {

/// A step of training as one program: the forward and the backward pass of a batch, and the optimizer's step, with the
/// bits of the calls of tape and optimizer but for the last layer's products on a GPU, which may be rounded otherwise.
/// On a GPU it is one launch, from its second run on.
class StepProgram {
 public:
  /// Of a network made with `options`, whose parameters and running statistics runs read and change where they lie, as
  /// they do the numbers of the optimizer and of the scale, if there is one; `images` are the extents of a batch,
  /// [items, 1, H, W]. All of them outlive this.
  StepProgram(const Context& ctx, Network& network, const NetworkOptions& options, const Extents& images,
              nn::Optimizer& optimizer, const nn::LossScale* scale);

  /// Where a run reads the batch from: of the network's type, and its classes, i64 [items].
  TensorRef images() { return execution_.input("images"); }
  TensorRef labels() { return execution_.input("labels"); }
  /// What a run leaves, computed before the step: [items, classes].
  TensorRef logits() { return execution_.output("logits"); }

  void run(const Context& ctx);

 private:
  bool is_on_gpu_;
  bool has_run_ = false;
  graph::Execution execution_;
  nn::Optimizer& optimizer_;
};

}  // namespace portops::apps
