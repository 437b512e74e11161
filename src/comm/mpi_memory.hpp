// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comm/mpi.hpp"
#include "portops/core/context.hpp"
#include "portops/core/tensor.hpp"
#include "portops/core/tensor_ref.hpp"

#include <memory>
#include <vector>

namespace portops::impl {

/// Where MPI finds the elements of tensors: where they lie, or in memory of the host's that they are copied to and
/// from. Such memory is kept for further transfers: a GPU's takes long to be page-locked.
class MpiMemories {
 public:
  explicit MpiMemories(comm::MpiMemory policy);

  /// A tensor's elements for MPI. Without `owner` they are the tensor's own.
  struct Place {
    TensorRef elements;
    Tensor owner;
  };

  /// For elements that other processes send. Those that MPI computes with lie in the host's memory in any case.
  Place place(const Context& ctx, const TensorRef& tensor, bool computes);
  /// Enqueues what brings elements there, or back, where they are not the tensor's own.
  static void bring(const Context& ctx, const TensorRef& tensor, const Place& place);
  static void bring_back(const Context& ctx, const Place& place, const TensorRef& tensor);
  /// Nobody reads or writes it any more.
  void give_back(Place&& place);

  bool is_gpu_aware() const { return policy_ == comm::MpiMemory::gpu_aware; }

 private:
  comm::MpiMemory policy_;
  std::shared_ptr<std::vector<Tensor>> free_ = std::make_shared<std::vector<Tensor>>();
};

}  // namespace portops::impl
