// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace portops::impl {

/// Something between processes that was begun.
class Transfer {
 public:
  /// Does not wait: what is not done by then goes on in memory that is never given back, because processes that wait
  /// for one that has failed would wait for ever.
  virtual ~Transfer() = default;

  /// Whether it is done; never waits. MPI goes on where it is asked.
  virtual bool is_done() = 0;
  virtual void wait() = 0;
};

/// Null: whatever is enqueued on the context from now on comes after it. An engine gives null always or never.
using TransferPtr = std::unique_ptr<Transfer>;

/// A step in which every process sends something to every other one.
struct Exchange {
  TensorRef send;               ///< [count]: process q is sent the elements share_of(count, q, size)
  TensorRef receive;            ///< [size · own]: what processes send, each `own` elements, in the order of ranks
  std::vector<bool> is_sender;  ///< by ranks: others send nothing, and what lies there is left as it is or not
};

/// What carries data between processes: MPI or NCCL. Transfers of a kind are begun in the same order by all processes;
/// the kinds do not wait for each other. Where transfers are null they do: then all processes begin all transfers in
/// one order. Tensors are contiguous, and lie where the context's backend reaches them.
class Engine {
 public:
  Engine(int its_rank, int its_size) : rank(its_rank), size(its_size) {}
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const int rank;
  const int size;

  /// "MPI", "NCCL".
  virtual std::string_view name() const = 0;

  /// The context that transfers are enqueued on: they see what was enqueued on `ctx` until now.
  virtual Context begin(const Context& ctx) = 0;
  /// What is enqueued on `ctx` from now on sees what was enqueued on begin(ctx).
  virtual void end(const Context& ctx) = 0;

  /// In place; the sum is the engine's own.
  virtual TransferPtr all_reduce(const Context& wire, const TensorRef& x) = 0;
  virtual TransferPtr exchange(const Context& wire, const Exchange& its) = 0;
  /// counts[p] rows of `all`, [Σ counts, …], come from process p, one behind the other; its own lie there already.
  virtual TransferPtr all_gather(const Context& wire, const TensorRef& all, std::span<const std::int64_t> counts) = 0;
  virtual TransferPtr broadcast(const Context& wire, const TensorRef& x, int root) = 0;

  // For a few numbers that processes agree by, in the host's memory. All of these wait.

  /// all[p · n + i] is number i of process p's n numbers.
  virtual void gather_numbers(std::span<const std::int64_t> own, std::span<std::int64_t> all) = 0;
  virtual void broadcast_bytes(std::span<char> bytes, int root) = 0;

  /// One between the same processes, whose transfers need not be begun in one order with this one's: made by all of
  /// them. An engine that has one order of all transfers gives itself.
  virtual std::shared_ptr<Engine> twin() = 0;

  /// Ends all processes of the job.
  virtual void end_job() = 0;
};

/// One that carries nothing: this process is the only one.
std::shared_ptr<Engine> make_lone_engine();

}  // namespace portops::impl
