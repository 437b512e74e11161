// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comm/engine.hpp"
#include "comm/mpi_memory.hpp"
#include "comm/mpi_transfer.hpp"

#include <cstdint>
#include <memory>

namespace portops::impl {

/// Transfers by MPI's collective calls that do not wait. The kinds of transfers have an MPI communicator each: within
/// one, MPI wants all processes to begin them in the same order.
class MpiEngine final : public Engine, public std::enable_shared_from_this<MpiEngine> {
 public:
  MpiEngine(MPI_Comm communicator, comm::MpiMemory memory);
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
  void end_job() override;

 private:
  std::unique_ptr<MpiTransfer> begin_transfer(const Context& wire);
  MPI_Datatype type_of(ElementType type) const;
  MPI_Op sum_of(ElementType type) const;

  MPI_Comm exchanges_ = MPI_COMM_NULL;
  MPI_Comm gathers_ = MPI_COMM_NULL;
  MPI_Comm others_ = MPI_COMM_NULL;
  MPI_Op f16_sum_ = MPI_OP_NULL;
  MPI_Op bf16_sum_ = MPI_OP_NULL;
  MpiMemories memories_;
  bool has_tried_gpu_ = false;
};

}  // namespace portops::impl
