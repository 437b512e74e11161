// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <memory>
#include <string_view>

namespace portops {

namespace impl {
class Engine;
}  // namespace impl

namespace comm {

/// The processes of a job that work together, each with a rank, 0 to size − 1. What goes between them is carried by
/// MPI (<portops/comm/mpi.hpp>) or, between GPUs, by NCCL (<portops/comm/nccl.hpp>); <portops/comm/world.hpp> makes the
/// one of a program that was started by mpirun or srun. Copies are cheap and are the same communicator.
///
/// All processes make the same calls on it, in the same order, from one thread at a time.
class Communicator {
 public:
  /// This process alone: no call does anything.
  PORTOPS_EXPORT Communicator();

  PORTOPS_EXPORT int rank() const;
  PORTOPS_EXPORT int size() const;
  /// What carries the tensors of such a context: "MPI", "NCCL", or "none" where there is but one process.
  PORTOPS_EXPORT std::string_view engine_name(const Context& ctx) const;

  /// Whether the calls below find out, before they begin, that the processes do not agree: on by default, for a message
  /// between all of them each time.
  Communicator& checks_calls(bool on) { return checks_calls_ = on, *this; }
  bool checks_calls() const { return checks_calls_; }

  /// Waits for all processes.
  PORTOPS_EXPORT void barrier() const;
  /// Writes "portops: process RANK of SIZE (HOST): MESSAGE" to the standard error stream, and ends all processes of the
  /// job.
  [[noreturn]] PORTOPS_EXPORT void end_job(std::string_view message) const;

  /// For the library's own use.
  Communicator(std::shared_ptr<impl::Engine> host, std::shared_ptr<impl::Engine> cuda)
      : host_(std::move(host)), cuda_(std::move(cuda)) {}
  impl::Engine& engine() const { return *host_; }
  /// The same processes, whose transfers have an order of their own: made by all of them.
  PORTOPS_EXPORT Communicator twin() const;
  impl::Engine& engine(const Context& ctx) const { return ctx.backend() == Backend::cuda ? *cuda_ : *host_; }

 private:
  std::shared_ptr<impl::Engine> host_;  ///< also for the numbers by which processes agree
  std::shared_ptr<impl::Engine> cuda_;  ///< for the tensors of GPUs
  bool checks_calls_ = true;
};

// Calls on tensors of all processes, which are contiguous (last axis fastest), of any element type, with the same
// extents on every process, and lie where the context's backend reaches them. Each is enqueued on the context's
// instance like every other call; with MPI the host waits for what has been enqueued before it, and for the processes.
//
// Throws Error, on every process and before anything is sent, where the processes' tensors or roots differ, unless the
// communicator checks nothing: it names the process that differs from process 0, and what both have. Throws Error on
// its own where a tensor is empty, not contiguous, or read-only; the job is then to be ended, because others wait.

/// x becomes the sum of the processes' x, the same bits on every process.
///
/// In deterministic mode the sum is that of a fixed tree, neighbours first, whose bits depend on the elements and on
/// the number of processes alone: x = (x0 + x1) + (x2 + x3) for four of them. Each sum is rounded to the element type.
/// Otherwise it is that of MPI or NCCL, whose order may be any.
PORTOPS_EXPORT void all_reduce(const Context& ctx, const Communicator& communicator, const TensorRef& x);

/// out, [size · n, …], has the processes' x, [n, …], one behind the other in the order of their ranks. A tensor without
/// axes counts as one of extents [1].
PORTOPS_EXPORT void all_gather(const Context& ctx, const Communicator& communicator, const TensorRef& x,
                               const TensorRef& out);

/// x becomes that of process `root`.
PORTOPS_EXPORT void broadcast(const Context& ctx, const Communicator& communicator, const TensorRef& x, int root = 0);

}  // namespace comm
}  // namespace portops
