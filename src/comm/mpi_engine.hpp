// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comm/engine.hpp"
#include "comm/mpi_memory.hpp"
#include "comm/mpi_transfer.hpp"
#include "comm/process_sum.hpp"

#include <cstdint>
#include <memory>
#include <set>

namespace portops::impl {

/// Transfers by MPI's collective calls that do not wait. The kinds of transfers have an MPI communicator each: within
/// one, MPI wants all processes to begin them in the same order.
class MpiEngine final : public Engine, public std::enable_shared_from_this<MpiEngine> {
 public:
  /// MPI, which counts by int, is given so many elements or rows at once, or fewer.
  MpiEngine(MPI_Comm communicator, comm::MpiMemory memory, std::int64_t most = most_elements);
  ~MpiEngine() override;

  std::string_view name() const override { return "MPI"; }
  Context begin(const Context& ctx) override;
  void end(const Context&) override {}
  TransferPtr all_reduce(const Context& wire, const TensorRef& x) override;
  TransferPtr exchange(const Context& wire, const Exchange& its) override;
  TransferPtr all_gather(const Context& wire, const TensorRef& all, std::span<const std::int64_t> counts) override;
  TransferPtr broadcast(const Context& wire, const TensorRef& x, int root) override;
  void gather_numbers(std::span<const std::int64_t> own, std::span<std::int64_t> all) override;
  void broadcast_bytes(std::span<char> bytes, int root) override;
  std::shared_ptr<Engine> twin() override;
  void end_job() override;

 private:
  std::unique_ptr<MpiTransfer> begin_transfer(const Context& wire);
  void begin_broadcast(MpiTransfer& transfer, const TensorRef& elements, int root, MPI_Comm communicator) const;
  MPI_Datatype type_of(ElementType type) const;
  MPI_Op sum_of(ElementType type) const;

  MPI_Comm exchanges_ = MPI_COMM_NULL;
  MPI_Comm gathers_ = MPI_COMM_NULL;
  MPI_Comm others_ = MPI_COMM_NULL;
  comm::MpiMemory memory_;
  std::int64_t most_;
  MPI_Op f16_sum_ = MPI_OP_NULL;
  MPI_Op bf16_sum_ = MPI_OP_NULL;
  MpiMemories memories_;
  std::set<Backend> tried_;  ///< backends whose memory MPI was found to reach
};

}  // namespace portops::impl
