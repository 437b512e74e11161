// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comm/engine.hpp"
#include "comm/mpi_memory.hpp"

#include <list>
#include <memory>
#include <vector>

namespace portops::impl {

/// MPI calls that were begun, with all that MPI reads and writes until they are done.
class MpiTransfer final : public Transfer {
 public:
  /// `memories` live as long as `owner` does.
  MpiTransfer(std::shared_ptr<void> owner, MpiMemories& memories, const Context& ctx);
  ~MpiTransfer() override;

  /// Where MPI reads a tensor's elements, which have arrived there after `start()`.
  TensorRef sends(const TensorRef& x);
  /// Where it writes them; they are brought back in the end.
  TensorRef receives(const TensorRef& x);
  /// Both: of `own`, a part of x, the elements are sent.
  TensorRef sends_and_receives(const TensorRef& x, const TensorRef& own);
  /// Where MPI adds elements up, its own function or ours: in the host's memory, because an MPI that sends what lies on
  /// a GPU need not be able to compute with it.
  TensorRef adds_up(const TensorRef& x);

  /// Waits until all that is sent has been computed. MPI knows nothing of the context, so it is told nothing before.
  void start();
  /// For the next MPI call.
  MPI_Request* request() { return &its_->requests.emplace_back(MPI_REQUEST_NULL); }
  /// MPI reads such lists until it is done.
  std::vector<int>& list() { return its_->lists.emplace_back(); }

  bool is_done() override;
  void wait() override;

 private:
  /// A tensor that MPI finds elsewhere.
  struct Moved {
    TensorRef tensor;
    MpiMemories::Place place;
    bool is_received;
  };
  struct State {
    std::shared_ptr<void> owner;
    std::list<std::vector<int>> lists;
    std::list<MPI_Request> requests;
    std::vector<Moved> moved;
    bool is_done = false;
  };
  void finish();

  std::unique_ptr<State> its_;
  MpiMemories& memories_;
  Context ctx_;
};

}  // namespace portops::impl
