// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/mpi_memory.hpp"

#include "comm/mpi_calls.hpp"
#include "core/types/fail.hpp"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <algorithm>

namespace portops::impl {
namespace {

/// What MPI says of itself; that it may reach a GPU's memory where it says nothing.
bool may_reach_gpus() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
  int can = 0;
  return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &can) == MPI_SUCCESS && can != 0;
#else
  return true;
#endif
}

}  // namespace

MpiMemories::Place MpiMemories::place(const Context& ctx, const TensorRef& tensor) {
  const bool is_on_gpu = ctx.backend() == Backend::cuda && tensor.space() != MemorySpace::host;
  const bool copies = policy_ == comm::MpiMemory::copied || (is_on_gpu && policy_ == comm::MpiMemory::automatic);
  if (!copies) return {tensor, {}};
  const std::int64_t bytes = tensor.size() * static_cast<std::int64_t>(size_of(tensor.type()));
  const std::int64_t words = (bytes + 7) / 8;
  const auto fits = [&](const Tensor& each) { return each.ref().size() >= words; };
  const auto found = std::find_if(free_.begin(), free_.end(), fits);
  Tensor memory;
  if (found != free_.end()) {
    memory = *found;
    free_.erase(found);
  } else {
    free_.clear();  // too small, as the next ones would be
    memory = Tensor(ElementType::i64, {words}, is_on_gpu ? MemorySpace::cuda_pinned : MemorySpace::host);
  }
  return {TensorRef(memory.ref().data(), tensor.type(), tensor.extents(), tensor.strides(), memory.ref().space()),
          memory};
}

void MpiMemories::bring(const Context& ctx, const TensorRef& tensor, const Place& place) {
  if (place.owner.ref() && tensor.size() > 0) copy(ctx, tensor, place.elements);
}

void MpiMemories::bring_back(const Context& ctx, const Place& place, const TensorRef& tensor) {
  if (place.owner.ref() && tensor.size() > 0) copy(ctx, place.elements, tensor);
}

void MpiMemories::give_back(Place&& place) {
  if (place.owner.ref()) free_.push_back(std::move(place.owner));
}

void MpiMemories::try_gpu(const Context& ctx, MPI_Comm communicator) const {
  constexpr const char* advice = "expected one that does: choose MpiMemory::automatic for this one";
  if (!may_reach_gpus()) fail("portops::comm: MPI says that it does not reach the memory of GPUs, ", advice);
  const Tensor number(ElementType::f32, {1}, MemorySpace::cuda);
  const float one = 1.0F;
  float sum = 0.0F;
  int size = 0;
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  copy(ctx, TensorRef(&one, {1}), number);
  ctx.fence();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, number.ref().data(), 1, MPI_FLOAT, MPI_SUM, communicator), "MPI_Allreduce");
  copy(ctx, number, TensorRef(&sum, {1}));
  ctx.fence();
  if (sum != static_cast<float>(size)) {
    fail("portops::comm: MPI added up ", size, " ones in the memory of GPUs to ", sum, ", ", advice);
  }
}

}  // namespace portops::impl
