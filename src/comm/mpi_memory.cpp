// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/mpi_memory.hpp"

#include "core/exec/spaces.hpp"

#include <algorithm>
#include <utility>

namespace portops::impl {

MpiMemories::MpiMemories(comm::MpiMemory policy) : policy_(policy) {
  // Kokkos frees page-locked memory. It may be finalised while this is kept, or after this has gone.
  Kokkos::push_finalize_hook([free = std::weak_ptr(free_)] {
    if (const auto memories = free.lock()) memories->clear();
  });
}

MpiMemories::Place MpiMemories::place(const Context& ctx, const TensorRef& tensor, bool computes) {
  const bool is_on_gpu = ctx.backend() == Backend::cuda && tensor.space() != MemorySpace::host;
  const bool moves = is_on_gpu && (computes || policy_ == comm::MpiMemory::automatic);
  if (!moves && policy_ != comm::MpiMemory::copied) return {tensor, {}};
  const std::int64_t bytes = tensor.size() * static_cast<std::int64_t>(size_of(tensor.type()));
  const std::int64_t words = (bytes + 7) / 8;
  const auto fits = [&](const Tensor& each) { return each.ref().size() >= words; };
  const auto found = std::find_if(free_->begin(), free_->end(), fits);
  Tensor memory;
  if (found != free_->end()) {
    memory = *found;
    free_->erase(found);
  } else {
    free_->clear();  // too small, as the next ones would be
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
  if (place.owner.ref()) free_->push_back(std::move(place.owner));
}

}  // namespace portops::impl
