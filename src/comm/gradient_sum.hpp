// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/autograd/backward.hpp"
#include "portops/comm/communicator.hpp"
#include "portops/comm/share.hpp"
#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/module.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace portops::comm {

/// A bucket of gradients, or of running statistics, which come behind them, begins to be sent, or has been.
struct BucketEvent {
  std::int64_t number = 0;  ///< in the order in which they are sent
  std::int64_t bytes = 0;
  /// Whether this process has found that all of it is there: MPI goes on, and is asked, in every call of `backward`'s
  /// hooks and in `finish`. Of NCCL that its sending is enqueued.
  bool is_sent = false;
};

struct GradientSumParams {
  /// The backward passes of a step, of all processes together: as many as there are processes, or more. 0: one each.
  std::int64_t micro_batches = 0;
  /// Whether gradients are means over the micro-batches; else they are sums.
  bool mean = true;
  /// Gradients are sent in buckets of so many bytes, or a little more: larger ones waste less time on each, smaller
  /// ones go sooner.
  std::int64_t bucket_bytes = 25 << 20;
  /// Whether a parameter may get no gradient in some backward passes, which then counts as zeros; of all, and it has
  /// none. Processes have to agree on this in every step, for which they wait.
  bool may_be_unused = false;
  /// Running statistics, of batch_norm, which forward passes change: every micro-batch begins with what they were at
  /// the start of the step, and then they are the mean of what all micro-batches have made of them, summed by the tree
  /// in any mode. Without this each process has its own.
  nn::State statistics = {};
  /// Is called within `backward` and `finish`, for each bucket of a step twice: for whoever wants to see when.
  std::function<void(const BucketEvent& event)> on_bucket = {};
};

/// Gradients of a step whose micro-batches are computed by several processes: after `finish`, every process has, for
/// every parameter, the mean (or sum) over all micro-batches, and optimizers take the same step everywhere.
///
///     comm::GradientSum sum(ctx, communicator, network.parameters(), {.micro_batches = 8});
///     for (...) {
///       const comm::Range mine = sum.micro_batches();
///       for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) sum.backward(ctx, loss_of(i));
///       sum.finish(ctx);
///       optimizer.step(ctx);
///       optimizer.clear_grads();
///     }
///
/// Gradients are collected in buckets, the last parameter's first; a bucket is sent in the last backward pass of the
/// process as soon as it is full, while the rest of the pass runs. Sparse gradients follow in `finish`: rows and values
/// of all micro-batches are gathered, sorted, and added up as merge_sparse does.
///
/// In deterministic mode (of the context that this is made with) sums of dense gradients are those of a fixed tree over
/// the micro-batches, (g0 + g1) + (g2 + g3) for four of them, each sum rounded to the element type, whoever computes
/// which: the same bits for any number of processes, any size of bucket, and on every run. Otherwise they are those of
/// MPI or NCCL. Sums of sparse gradients are always the same.
///
/// One process with one micro-batch: nothing is done, gradients are those of autograd::backward.
///
/// What batch_norm normalises by are the statistics of a micro-batch, wherever it is computed; those of all processes'
/// items together where synchronise_batch_norm (<portops/comm/batch_norm.hpp>) says so.
class GradientSum {
 public:
  /// Finds out whether all processes have the same parameters (names, element types, extents, kinds of gradients), the
  /// same options and the same mode, and throws Error on every one where they do not: it names the first that differs.
  /// Those of which no gradient is wanted are left out. Takes their hooks (Variable::on_gradient) until it is
  /// destroyed, before the runtime is. Made after a checkpoint has been read, because it keeps the statistics. Throws
  /// Error too where a parameter is no leaf, or an option is out of range.
  PORTOPS_EXPORT GradientSum(const Context& ctx, const Communicator& communicator, const nn::State& parameters,
                             const GradientSumParams& params = {});
  PORTOPS_EXPORT ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  /// Those of each step that this process computes.
  PORTOPS_EXPORT Range micro_batches() const;

  /// autograd::backward of the next micro-batch. Throws Error as that does, where the process has computed all of its
  /// micro-batches, and where a parameter has got no gradient though may_be_unused is not set; the job has then to be
  /// ended, because the other processes wait.
  PORTOPS_EXPORT void backward(const Context& ctx, const autograd::Variable& loss,
                               const autograd::BackwardParams& params = {});

  /// After the last micro-batch: waits (the context's instance, and with MPI the host) until the parameters have their
  /// gradients. Throws Error where micro-batches are missing, and, on every process, where the gradient of one
  /// parameter is sparse on some and dense on others. On cuda a row outside of its table, of any micro-batch, is left
  /// out, and merged_count throws for the sum's count on every process.
  PORTOPS_EXPORT void finish(const Context& ctx);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The tensors of all processes become those of `root`: parameters at the start; what a checkpoint had that one process
/// has read. They may lie in the host's memory, too. Throws Error, on every process, where names, element types or
/// extents differ, and as broadcast does.
PORTOPS_EXPORT void broadcast(const Context& ctx, const Communicator& communicator, const nn::State& state,
                              int root = 0);

}  // namespace portops::comm
