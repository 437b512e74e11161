// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/tensor.hpp"

#include "core/exec/launch.hpp"
#include "core/exec/memory_counters.hpp"
#include "core/exec/region.hpp"
#include "core/types/fail.hpp"
#include "core/types/overlap.hpp"
#include "portops/core/config.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#if defined(PORTOPS_HAS_CUDA)
#include "core/exec/cuda/cuda_calls.hpp"
#endif

namespace portops {
namespace {

constexpr std::size_t alignment = 256;

[[noreturn]] void fail_to_allocate(std::size_t bytes, MemorySpace space) {
  impl::fail("portops::Tensor: cannot allocate ", bytes, " bytes of ", name_of(space), " memory");
}

std::shared_ptr<void> allocate_on_host(std::size_t bytes) {
  void* data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (data == nullptr) fail_to_allocate(bytes, MemorySpace::host);
  return {data, std::free};
}

#if defined(PORTOPS_HAS_CUDA)
template <class Space>
std::shared_ptr<void> allocate_in(std::size_t bytes, MemorySpace space) {
  try {
    return {Kokkos::kokkos_malloc<Space>("portops::Tensor", bytes),
            [](void* data) { Kokkos::kokkos_free<Space>(data); }};
  } catch (const std::exception&) {
    fail_to_allocate(bytes, space);
  }
}
#endif

std::shared_ptr<void> allocate(std::size_t bytes, MemorySpace space) {
  switch (space) {
    case MemorySpace::host: return allocate_on_host(bytes);
#if defined(PORTOPS_HAS_CUDA)
    case MemorySpace::cuda: return allocate_in<Kokkos::CudaSpace>(bytes, space);
    case MemorySpace::cuda_pinned: return allocate_in<Kokkos::CudaHostPinnedSpace>(bytes, space);
    case MemorySpace::cuda_managed: return allocate_in<Kokkos::CudaUVMSpace>(bytes, space);
#else
    default: break;
#endif
  }
  impl::fail("portops::Tensor: this build has no ", name_of(space), " memory");
}

/// Counts it for memory_use as long as it is there.
std::shared_ptr<void> counted(std::shared_ptr<void> memory, std::size_t bytes, MemorySpace space) {
  void* const data = memory.get();
  impl::count_taken(space, bytes);
  return {data, [memory = std::move(memory), bytes, space](void*) mutable {
            memory.reset();
            impl::count_returned(space, bytes);
          }};
}

std::size_t bytes_of(ElementType type, const Extents& extents) {
  std::ptrdiff_t bytes = 0;
  if (__builtin_mul_overflow(extents.product(), static_cast<std::ptrdiff_t>(size_of(type)), &bytes)) {
    impl::fail("portops::Tensor: extents ", extents.to_string(), " are more than memory can hold");
  }
  return static_cast<std::size_t>(bytes);
}

bool is_contiguous(const TensorRef& tensor) {
  const Extents expected = tensor.extents().row_major_strides();
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.extent(axis) > 1 && tensor.stride(axis) != expected[axis]) return false;
  }
  return true;
}

/// Copies a range of bytes in blocks, one a work item.
struct CopyBytes {
  static constexpr std::size_t block = 1 << 18;
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;

  void operator()(std::int64_t item) const {
    const std::size_t at = static_cast<std::size_t>(item) * block;
    std::memcpy(to + at, from + at, std::min(block, bytes - at));
  }
};

template <Backend B>
void copy_on_host(const Context& ctx, const CopyBytes& functor) {
  static const std::string label = "portops::copy[host]";
  const auto blocks = static_cast<std::int64_t>((functor.bytes + CopyBytes::block - 1) / CopyBytes::block);
  impl::launch_items<B, 0>(ctx, label, functor, blocks);
}

}  // namespace

Tensor::Tensor(ElementType type, const Extents& extents, MemorySpace space) {
  ref_ = TensorRef::without_data(type, extents);  // refuses negative extents
  const std::size_t bytes = std::max<std::size_t>(bytes_of(type, extents), 1);
  memory_ = counted(allocate(bytes, space), bytes, space);
  ref_ = TensorRef(memory_.get(), type, extents, extents.row_major_strides(), space);
}

void copy(const Context& ctx, const TensorRef& x, const TensorRef& out) {
  const impl::Region region("portops::copy");
  if (!x) impl::fail("portops::copy: x is empty, expected a tensor");
  if (!out) impl::fail("portops::copy: out is empty, expected a tensor");
  if (out.type() != x.type() || out.extents() != x.extents()) {
    impl::fail("portops::copy: out is ", name_of(out.type()), " ", out.extents().to_string(), ", expected ",
               name_of(x.type()), " ", x.extents().to_string(), " (as x)");
  }
  if (!is_contiguous(x) || !is_contiguous(out)) impl::fail("portops::copy: x and out must be contiguous");
  if (out.read_only()) impl::fail("portops::copy: out is an output, but its elements are const");
  if (impl::may_overlap(x, out)) impl::fail("portops::copy: out overlaps x in memory, expected disjoint tensors");
  const std::size_t bytes = static_cast<std::size_t>(x.size()) * size_of(x.type());
  if (bytes == 0) return;
  if (!x.has_data()) impl::fail("portops::copy: x has no data, but its elements are needed");
  if (!out.has_data()) impl::fail("portops::copy: out has no data, but its elements are needed");
  if (ctx.backend() != Backend::cuda && (x.space() == MemorySpace::cuda || out.space() == MemorySpace::cuda)) {
    impl::fail("portops::copy: the context's backend ", name_of(ctx.backend()), " cannot reach cuda memory");
  }
  const CopyBytes functor{static_cast<std::byte*>(out.data()), static_cast<const std::byte*>(x.data()), bytes};
  switch (ctx.backend()) {
#if defined(PORTOPS_HAS_CUDA)
    case Backend::cuda: {
      const cudaStream_t stream = impl::instance<Backend::cuda>(ctx).cuda_stream();
      impl::check_cuda(cudaMemcpyAsync(functor.to, functor.from, bytes, cudaMemcpyDefault, stream), "portops::copy",
                       "cudaMemcpyAsync");
      return;
    }
#endif
#if defined(PORTOPS_HAS_OPENMP)
    case Backend::openmp: return copy_on_host<Backend::openmp>(ctx, functor);
#endif
#if defined(PORTOPS_HAS_SERIAL)
    case Backend::serial: return copy_on_host<Backend::serial>(ctx, functor);
#endif
    default: return;
  }
}

}  // namespace portops
